"""Choosing γ and λ: the error of each path on samples that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from garrote.arrays import Array, Split
from garrote.path import Path, trace
from garrote.problem import Samples
from garrote.threads import one_blas_thread
from garrote.workingset import Model

#: Differences of the mean error below this fraction of its standard error count as ties.
TIE = 0.25


class Choice(NamedTuple):
    """A grid point: ``ridges[ridge]``, ``gammas[gamma]``."""

    ridge: int
    gamma: int


def validation_errors(
    samples: Samples,
    splits: Sequence[Split],
    gammas: Array,
    ridges: Array,
    prior_log_odds: Array | None,
    *,
    whole_grid: bool,
    n_jobs: int | None,
) -> tuple[Array, list[list[Path]]]:
    """Mean squared validation error, n_ridges × n_gammas × n_splits, and the paths of each split.

    NaN marks a γ at which a path had already stopped.
    """
    results = Parallel(n_jobs=n_jobs)(
        delayed(_one_split)(samples, split, gammas, ridges, prior_log_odds, whole_grid) for split in splits
    )
    return np.stack([errors for errors, _ in results], axis=2), [paths for _, paths in results]


@one_blas_thread()
def _one_split(
    samples: Samples,
    split: Split,
    gammas: Array,
    ridges: Array,
    prior_log_odds: Array | None,
    whole_grid: bool,
) -> tuple[Array, list[Path]]:
    train, test = split
    part, unseen = samples.take(train), samples.take(test)
    errors = np.full((len(ridges), len(gammas)), np.nan)
    paths = []
    for row, ridge in enumerate(ridges):
        path = trace(part, gammas, Model(prior_log_odds, float(ridge)), whole_grid=whole_grid)
        errors[row, : len(path)] = path_errors(path, part, unseen)
        paths.append(path)
    return errors, paths


def path_errors(path: Path, train: Samples, unseen: Samples) -> Array:
    """Mean squared error, on unseen samples, of every solution of a path fitted to others."""
    coefs = path.coefs
    used = np.flatnonzero(np.diff(coefs.tocsr().indptr))
    v = coefs[used].toarray()
    intercepts = train.y_mean - train.x_mean[used] @ v
    errors = (unseen.y + unseen.y_mean)[:, None] - (unseen.design.columns(used) @ v + intercepts)
    return unseen.weights @ errors**2


def choose(errors: Array, *, one_standard_error: bool) -> Choice:
    """The sparsest γ whose mean error is that of the best grid point, up to what is noise between folds.

    The best grid point fixes λ. Noise is a quarter of its standard error over the folds (TIE): where the rules were
    compared, ties broken towards sparsity did not predict worse than the bare minimum. With ``one_standard_error`` it
    is a whole one. Only γ that every split has reached are candidates.
    """
    mean = errors.mean(axis=2)  # NaN where any split is
    ridge, gamma = np.unravel_index(np.nanargmin(mean), mean.shape)
    n_splits = errors.shape[2]
    if n_splits > 1:
        noise = errors[ridge, gamma].std(ddof=1) / np.sqrt(n_splits)
        bound = mean[ridge, gamma] + (1.0 if one_standard_error else TIE) * noise
        gamma = np.flatnonzero(mean[ridge] <= bound)[0]
    return Choice(int(ridge), int(gamma))
