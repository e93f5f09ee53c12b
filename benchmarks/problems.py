"""The data sets: sparse linear regression with Gaussian inputs, named features × samples.

Columns and outputs are centred, so that methods which fit an intercept and methods which do not solve the same problem.
X is float64 in Fortran order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from garrote.arrays import Array
from garrote.datasets import outputs, random_support

#: Variance of the noise; each of the non-zero weights is 1.
NOISE = 0.5


class Data(NamedTuple):
    """One instance of a problem."""

    X: Array
    y: Array
    coef: Array  #: the weights that generated y


@dataclass(frozen=True)
class Problem:
    """A data set to be generated, and how far down its Lasso paths go."""

    n_features: int
    n_samples: int
    n_nonzero: int
    zeta: float = 0.0  #: covariance of the inputs: χ_ij = ζ^|i−j|
    min_ratio: float = 0.01  #: smallest λ of a Lasso path, relative to λ_max
    group: str = "wide"

    @property
    def name(self) -> str:
        """Features × samples, and ζ where it is not zero."""
        return f"{self.n_features}x{self.n_samples}" + (f"-zeta{self.zeta:g}" if self.zeta else "")

    @property
    def max_support(self) -> int:
        """The most features a best-subset path may use."""
        return 20 if self.group != "small" else min(self.n_features, self.n_samples // 2)

    def at_least(self, other: Problem) -> bool:
        """Whether this problem is of the same kind and not smaller in any direction."""
        mine, theirs = ((p.n_features, p.n_samples, p.n_nonzero) for p in (self, other))
        return self.zeta == other.zeta and all(a >= b for a, b in zip(mine, theirs, strict=True))

    def generate(self, seed: int = 0) -> Data:
        """The instance of a seed, made in place: no second array of the size of X."""
        rng = np.random.default_rng([seed, self.n_features, self.n_samples, self.n_nonzero])
        X = rng.standard_normal((self.n_features, self.n_samples)).T
        for j in range(1, self.n_features if self.zeta else 0):
            X[:, j] = self.zeta * X[:, j - 1] + np.sqrt(1.0 - self.zeta**2) * X[:, j]
        coef = random_support(self.n_features, self.n_nonzero, rng)
        y = outputs(X, coef, np.sqrt(NOISE), rng)
        X -= X.mean(axis=0)
        return Data(X, y - y.mean(), coef)

    def prediction_error(self, difference: Array, features: Array) -> float:
        """δᵀχδ for weights that differ by δ from the truth: the error on endless new samples, less the noise."""
        if not self.zeta:
            return float(difference @ difference)
        chi = self.zeta ** np.abs(features[:, None] - features)
        return float(difference @ chi @ difference)


def small(n_features: int, n_samples: int, n_nonzero: int, zeta: float = 0.0) -> Problem:
    """A problem whose cost is overhead rather than passes over X."""
    return Problem(n_features, n_samples, n_nonzero, zeta, min_ratio=0.001, group="small")


def named(problems: Iterable[Problem]) -> dict[str, Problem]:
    """Problems by their names."""
    return {problem.name: problem for problem in problems}


WIDE = named([Problem(100_000, 100, 5), Problem(200_000, 500, 20), Problem(1_000_000, 100, 5)])
SMALL = named(
    [
        small(50, 100, 5),
        small(100, 50, 5),
        small(100, 100, 20),
        small(100, 100, 20, zeta=0.95),
        small(500, 175, 50),
        small(2000, 100, 5),
    ]
)
#: Many more samples than features.
TALL = named(
    Problem(n_features, n_samples, 10, min_ratio=0.001, group="tall")
    for n_features, n_samples in ((200, 20_000), (100, 200_000))
)
#: The scaling grids: one size grows, the other stays.
BY_FEATURES = named(
    Problem(n, 100, 5, group="features") for n in (1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
)
BY_SAMPLES = named(Problem(10_000, n, 5, group="samples") for n in (50, 100, 200, 400, 800, 1600, 3200))

#: A few small sizes, for a run of less than two minutes.
QUICK = {"100x100", "1000x100", "10000x50", "10000x100"}

#: All problems once, cheapest first; those of two groups are solved once and used in both.
PROBLEMS = dict(
    sorted(
        {**BY_SAMPLES, **BY_FEATURES, **WIDE, **SMALL, **TALL}.items(),
        key=lambda item: item[1].n_features * item[1].n_samples,
    )
)
