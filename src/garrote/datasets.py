"""The data of the paper's experiments, generated from a NumPy Generator."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from garrote.arrays import Array


class Data(NamedTuple):
    """Inputs and outputs."""

    X: Array
    y: Array


class Example(NamedTuple):
    """Training, validation and test data of one instance, and the weights that generated them."""

    train: Data
    validation: Data
    test: Data
    coef: Array

    @property
    def merged(self) -> Data:
        """Training and validation data together."""
        return Data(np.vstack([self.train.X, self.validation.X]), np.concatenate([self.train.y, self.validation.y]))


def correlated_inputs(n_samples: int, n_features: int, zeta: float, rng: Generator) -> Array:
    """Standard normal inputs with covariance χ_ij = ζ^|i−j|."""
    if not -1.0 < zeta < 1.0:
        raise ValueError(f"zeta is {zeta!r}; the correlation of neighbours must lie between −1 and 1.")
    X = rng.standard_normal((n_samples, n_features))
    for j in range(1, n_features if zeta else 0):
        X[:, j] = zeta * X[:, j - 1] + np.sqrt(1.0 - zeta**2) * X[:, j]
    return X


def random_support(n_features: int, n_nonzero: int, rng: Generator) -> Array:
    """Weights that are 1 for randomly chosen features and 0 for the others."""
    if not 0 <= n_nonzero <= n_features:
        raise ValueError(f"n_nonzero is {n_nonzero!r}; choose between 0 and n_features = {n_features}.")
    coef = np.zeros(n_features)
    coef[rng.choice(n_features, n_nonzero, replace=False)] = 1.0
    return coef


def outputs(X: Array, coef: Array, sigma: float, rng: Generator) -> Array:
    """y = X·coef + noise of standard deviation σ."""
    return X @ coef + sigma * rng.standard_normal(len(X))


def sparse_regression(
    n_samples: int, n_features: int, n_nonzero: int, *, zeta: float = 0.0, sigma: float = 1.0, rng: Generator
) -> tuple[Array, Array, Array]:
    """X with χ_ij = ζ^|i−j|, y, and the weights, of which n_nonzero random ones are 1 (“Effect of the noise”)."""
    X = correlated_inputs(n_samples, n_features, zeta, rng)
    coef = random_support(n_features, n_nonzero, rng)
    return X, outputs(X, coef, sigma, rng), coef


def example1(rng: Generator) -> Example:
    """Small Example 1: 100 independent inputs, one of weight 1; 50 training, 50 validation, 400 test samples."""
    return _example([0], 0.0, rng)


def example2(rng: Generator) -> Example:
    """Small Example 2: as Example 1 with ζ = 0.5 and weights 1 on inputs 1, 2, 5, 10, 50."""
    return _example([0, 1, 4, 9, 49], 0.5, rng)


def consistency_a(rng: Generator, n_samples: int = 1000) -> tuple[Array, Array, Array]:
    """Zhao & Yu's example for which the Lasso is inconsistent: weights (2, 3, 0)."""
    return _consistency(np.array([2.0, 3.0, 0.0]), rng, n_samples)


def consistency_b(rng: Generator, n_samples: int = 1000) -> tuple[Array, Array, Array]:
    """Zhao & Yu's example for which the Lasso is consistent: weights (−2, 3, 0)."""
    return _consistency(np.array([-2.0, 3.0, 0.0]), rng, n_samples)


def _consistency(coef: Array, rng: Generator, n_samples: int) -> tuple[Array, Array, Array]:
    X = rng.standard_normal((n_samples, 3))
    # Zhao & Yu's x₃ has ⅓ξ. With the unit ξ that the paper prints, the Lasso would be consistent in both examples.
    X[:, 2] = (2 * X[:, 0] + 2 * X[:, 1] + X[:, 2]) / 3
    return X, outputs(X, coef, 1.0, rng), coef


def _example(support: list[int], zeta: float, rng: Generator) -> Example:
    coef = np.zeros(100)
    coef[np.asarray(support, dtype=np.intp)] = 1.0

    def part(n_samples: int, scaled: bool) -> Data:
        # As the authors ran it: the inputs are centred before y is made; those for training are scaled as well.
        X = correlated_inputs(n_samples, len(coef), zeta, rng)
        X -= X.mean(axis=0)
        if scaled:
            X /= X.std(axis=0)
        return Data(X, outputs(X, coef, 1.0, rng))

    return Example(part(50, True), part(50, False), part(400, False), coef)


def l1_error(coef: NDArray[np.float64], truth: NDArray[np.float64]) -> float:
    """‖δv‖₁ = Σ |v_i − ŵ_i|."""
    return float(np.abs(coef - truth).sum())
