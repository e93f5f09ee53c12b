"""Zhao & Yu's examples: x₃ = ⅔x₁ + ⅔x₂ + ⅓ξ is not used, but correlated with both inputs that are."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import lars_path

from garrote.arrays import Array
from garrote.comparators.registry import selected
from garrote.datasets import Example, consistency_a, consistency_b, l1_error
from garrote.paper.experiments.measures import fit, generator, split
from garrote.paper.item import Record
from garrote.path import gamma_min, garrote_path
from garrote.problem import Samples

EXAMPLES = {"a": consistency_a, "b": consistency_b}
N_TRAIN = N_VALIDATION = 1000
SUPPORT = [True, True, False]
#: Where the path starts, in units of γ_min: there F is lowest with nothing selected, which γ_min is not low enough for.
LOWEST = 3.0


def _data(example: str, seed: int, run: int) -> Example:
    return split(*EXAMPLES[example](generator(seed, run), N_TRAIN + N_VALIDATION), N_TRAIN, N_VALIDATION)


def one_fit(example: str, method: str, seed: int, run: int) -> Record:
    """One method on one instance; whether its support is right."""
    data = _data(example, seed, run)
    model, _ = fit(method, data)
    return {
        "l1_error": l1_error(model.coef_, data.coef),
        "v3": float(abs(model.coef_[2])),
        "right": bool(np.array_equal(selected(model), SUPPORT)),
    }


def least_squares(example: str, seed: int, run: int) -> Record:
    """‖δv‖₁ of least squares on the two true inputs alone: what knowing the support would give."""
    data = _data(example, seed, run)
    X, y = data.train.X[:, :2], data.train.y
    coef = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)[0]
    return {"method": "ols", "l1_error": l1_error(coef, data.coef[:2]), "v3": 0.0, "right": True}


def ridge_of_error(example: str, seed: int, run: int, error: float) -> Record:
    """The smallest λ at which ridge regression is as far off as ``error``, and what choosing it would cost.

    The cost is the validation error at that λ, relative to that of least squares.
    """
    data = _data(example, seed, run)
    X, y = data.train.X - data.train.X.mean(axis=0), data.train.y - data.train.y.mean()
    gram, b = X.T @ X / len(y), X.T @ y / len(y)

    def weights(penalty: float) -> Array:
        return np.linalg.solve(gram + penalty * np.eye(3), b)

    penalties = np.geomspace(1e-4, 1e2, 601)
    off = [l1_error(weights(penalty), data.coef) >= error for penalty in penalties]
    penalty = float(penalties[int(np.argmax(off))])

    def validation_error(v: Array) -> float:
        residuals = data.validation.y - data.train.y.mean() - (data.validation.X - data.train.X.mean(axis=0)) @ v
        return float(np.mean(residuals**2))

    cost = validation_error(weights(penalty)) / validation_error(weights(0.0))
    return {"method": "ridge of the paper", "lambda": penalty, "cost": cost}


def paths(example: str, seed: int, run: int, n_gammas: int) -> Record:
    """The Lasso's path at its knots, between which it is linear, and the garrote's along γ."""
    data = _data(example, seed, run)
    X, y = data.train
    alphas, _, coefs = lars_path(X - X.mean(axis=0), y - y.mean(), method="lasso")
    # Weights are linear between knots: inside, the support is that of either end. A weight that returns to zero may
    # be left with a rounding error.
    nonzero = np.abs(coefs) > 1e-10
    supports = nonzero[:, :-1] | nonzero[:, 1:]
    lowest = gamma_min(Samples(X, y))
    path = garrote_path(X, y, gammas=np.linspace(LOWEST * lowest, 0.02 * lowest, n_gammas))
    m = path.inclusions.toarray().T
    return {
        "lambda": alphas.tolist(),
        "lasso_v": coefs.T.tolist(),
        "lasso_right": any(np.array_equal(support, SUPPORT) for support in supports.T),
        "gamma_min": lowest,
        "gamma": path.gammas.tolist(),
        "v": path.coefs.toarray().T.tolist(),
        "m": m.tolist(),
        "w": np.array([solution.w for solution in path]).tolist(),
        "right": [bool(np.array_equal(row > 0.5, SUPPORT)) for row in m],
    }
