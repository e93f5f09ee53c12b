"""Effect of the noise: one method at one noise level."""

from __future__ import annotations

from typing import Any

from garrote.comparators.pmf import PairedMeanField
from garrote.comparators.registry import METHODS, merged
from garrote.datasets import Data, sparse_regression
from garrote.paper.experiments.measures import assess, fit, generator, split
from garrote.paper.item import Record

N_FEATURES, N_TRAIN, N_VALIDATION, N_TEST, N_NONZERO = 100, 100, 20, 200, 20
#: Restarts of PMF; the one with the highest bound counts.
RESTARTS = 10


def fit_pmf_restarted(train: Data, validation: Data) -> Any:
    """Paired mean field, the best of ten starts."""
    return PairedMeanField(n_init=RESTARTS, max_iter=10_000, random_state=0).fit(*merged(train, validation))


def one_fit(zeta: float, log10_noise: float, method: str, seed: int, run: int) -> Record:
    """A run has the same inputs, weights and (scaled) noise at every noise level."""
    X, y, coef = sparse_regression(
        N_TRAIN + N_VALIDATION + N_TEST,
        N_FEATURES,
        N_NONZERO,
        zeta=zeta,
        sigma=10 ** (log10_noise / 2),
        rng=generator(seed, run),
    )
    data = split(X, y, coef, N_TRAIN, N_VALIDATION)
    return assess(fit(method, data, METHODS | {"pmf": fit_pmf_restarted})[0], data)
