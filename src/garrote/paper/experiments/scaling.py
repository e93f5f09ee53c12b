"""Scaling with the number of features: Example 2's weights on independent inputs, β = 2."""

from __future__ import annotations

import numpy as np

from garrote.datasets import correlated_inputs, outputs
from garrote.paper.experiments.measures import assess, fit, generator, split
from garrote.paper.item import Record

SUPPORT = [0, 1, 4, 9, 49]
N_TRAIN = N_VALIDATION = 100
N_TEST = 200
NOISE_VARIANCE = 0.5


def one_fit(n_features: int, method: str, seed: int, run: int) -> Record:
    """One method on one instance, with the processor time of its fit."""
    rng = generator(seed, run)
    X = correlated_inputs(N_TRAIN + N_VALIDATION + N_TEST, n_features, 0.0, rng)
    coef = np.zeros(n_features)
    coef[SUPPORT] = 1.0
    data = split(X, outputs(X, coef, NOISE_VARIANCE**0.5, rng), coef, N_TRAIN, N_VALIDATION)
    model, seconds = fit(method, data)
    return assess(model, data) | {"seconds": seconds}
