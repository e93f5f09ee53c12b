"""Choosing γ and λ: the error of each path on samples that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

from garrote.arrays import Array, Index, Split
from garrote.design import Design
from garrote.interrupts import kept_from_workers
from garrote.path import Path, trace
from garrote.problem import Samples
from garrote.restarts import NONE, Restarts
from garrote.slabs import column_slabs
from garrote.threads import one_blas_thread
from garrote.watch import current_watch, identity_of
from garrote.workingset import Model

#: Differences of the mean error below this fraction of its standard error count as ties.
TIE = 0.25

#: And so do relative differences below this: they are rounding, and would let the machine choose γ.
EQUAL = 1e-9


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
    restarts: Restarts = NONE,
) -> tuple[Array, list[list[Path]]]:
    """Mean squared validation error, n_ridges × n_gammas × n_splits, and the paths of each split.

    NaN marks a γ at which a path had already stopped. A split that the current watch already knows has no paths.
    """
    watch = current_watch()
    odds = np.empty(0) if prior_log_odds is None else prior_log_odds
    parts = (part for split in splits for part in split)
    data = (samples.b, samples.chi, samples.y, samples.weights, samples.n_samples)
    identity = identity_of(*data, gammas, ridges, odds, restarts, *parts)
    known = watch.begin(len(splits), identity, (len(ridges), len(gammas)))
    paths: list[list[Path]] = [[] for _ in splits]
    unknown = [k for k, errors in enumerate(known) if errors is None]
    parallel = Parallel(n_jobs=n_jobs, return_as="generator" if watch.live else "list")
    with kept_from_workers() if watch.live else nullcontext():
        results = parallel(
            delayed(_one_split)(samples, splits[k], gammas, ridges, prior_log_odds, whole_grid, restarts)
            for k in unknown
        )
    for k, (errors, paths[k]) in zip(unknown, results, strict=True):
        known[k] = errors
        watch.done(k, errors)
    return np.stack([errors for errors in known if errors is not None], axis=2), paths


@one_blas_thread()
def _one_split(
    samples: Samples,
    split: Split,
    gammas: Array,
    ridges: Array,
    prior_log_odds: Array | None,
    whole_grid: bool,
    restarts: Restarts,
) -> tuple[Array, list[Path]]:
    train, test = split
    part, unseen = samples.take(train), Unseen.of(samples, test)
    errors = np.full((len(ridges), len(gammas)), np.nan)
    paths = []
    for row, ridge in enumerate(ridges):
        path = trace(part, gammas, Model(prior_log_odds, float(ridge)), whole_grid=whole_grid, restarts=restarts)
        errors[row, : len(path)] = path_errors(path, part, unseen)
        paths.append(path)
        current_watch().step(1.0 / len(ridges))
    return errors, paths


class Unseen(NamedTuple):
    """Samples that a path was not fitted to."""

    design: Design
    y: Array
    weights: Array  #: their sum is one

    @classmethod
    def of(cls, samples: Samples, rows: Index | None = None) -> Unseen:
        """Some of the samples of a problem, or all."""
        y, weights = samples.y + samples.y_mean, samples.weights
        if rows is None:
            return cls(samples.design, y, weights)
        return cls(samples.design.take(rows), y[rows], weights[rows] / weights[rows].sum())


def path_errors(path: Path, train: Samples, unseen: Unseen) -> Array:
    """Mean squared error, on unseen samples, of every solution of a path fitted to others."""
    used, v = path.solutions.listed_coefs()
    errors = unseen.y[:, None] - (train.y_mean - train.x_mean[used] @ v)
    for part in column_slabs((len(unseen.y), len(used))):
        errors -= unseen.design.columns(used[part]) @ v[part]
    return unseen.weights @ errors**2


def choose(errors: Array, *, one_standard_error: bool) -> Choice:
    """The sparsest γ whose mean error is that of the best grid point, up to what is noise between folds, or rounding.

    The best grid point fixes λ. Noise is a quarter of its standard error over the folds (TIE): where the rules were
    compared, ties broken towards sparsity did not predict worse than the bare minimum. With ``one_standard_error`` it
    is a whole one. Only γ that every split has reached are candidates.
    """
    mean = errors.mean(axis=2)  # NaN where any split is
    ridge, gamma = np.unravel_index(np.nanargmin(mean), mean.shape)
    n_splits = errors.shape[2]
    bound = mean[ridge, gamma] * (1.0 + EQUAL)
    if n_splits > 1:
        noise = errors[ridge, gamma].std(ddof=1) / np.sqrt(n_splits)
        bound += (1.0 if one_standard_error else TIE) * noise
    return Choice(int(ridge), int(np.flatnonzero(mean[ridge] <= bound)[0]))
