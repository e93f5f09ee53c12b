"""What cross-validation saves: five folds and the fit to all samples, against six separate paths over the same grid.

    python benchmarks/folds.py [--repeats 5]

Prints processor seconds of both, medians, and their ratio; one thread, λ = 0.
"""

from __future__ import annotations

import argparse
import os
from statistics import median
from time import process_time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):  # before NumPy is imported
    os.environ[name] = "1"

import numpy as np  # noqa: E402
from sklearn.model_selection import KFold  # noqa: E402

from garrote import VariationalGarroteCV  # noqa: E402
from garrote.arrays import Array  # noqa: E402
from garrote.datasets import sparse_regression  # noqa: E402
from garrote.path import trace  # noqa: E402
from garrote.problem import Samples  # noqa: E402
from garrote.workingset import Model  # noqa: E402

#: Samples, features, non-zero weights.
SHAPES = ((1_000_000, 50, 5), (200_000, 200, 10), (20_000, 200, 10), (1000, 100, 10), (200, 20_000, 5))

FOLDS = 5


def together(X: Array, y: Array) -> VariationalGarroteCV:
    return VariationalGarroteCV(cv=FOLDS, ridges=[0.0]).fit(X, y)


def apart(X: Array, y: Array, gammas: Array) -> None:
    """The same paths one by one, without the errors on the samples left out."""
    parts = [train for train, _ in KFold(FOLDS).split(X)]
    for rows in [*parts, slice(None)]:
        trace(Samples(X[rows], y[rows]), gammas, Model(), whole_grid=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats
    print(f"{'samples × features':>20} {'together':>10} {'apart':>10} {'ratio':>7}")
    for n_samples, n_features, n_nonzero in SHAPES:
        X, y, _ = sparse_regression(n_samples, n_features, n_nonzero, sigma=0.7, rng=np.random.default_rng(0))
        gammas = together(X, y).gammas_
        seconds: list[tuple[float, float]] = []
        for _ in range(repeats):
            start = process_time()
            together(X, y)
            between = process_time()
            apart(X, y, gammas)
            seconds.append((between - start, process_time() - between))
        ours, theirs = (median(column) for column in zip(*seconds, strict=True))
        shape = f"{n_samples:,} × {n_features:,}"
        print(f"{shape:>20} {ours:>8.3f} s {theirs:>8.3f} s {ours / theirs:>7.2f}", flush=True)


if __name__ == "__main__":
    main()
