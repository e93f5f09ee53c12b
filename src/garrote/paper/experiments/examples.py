"""Small Examples 1 and 2: every method on one instance, and its whole path on another."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import lasso_path

from garrote.arrays import Array
from garrote.comparators.registry import fit_ridge
from garrote.datasets import Data, example1, example2
from garrote.estimators import VariationalGarroteCV
from garrote.paper.experiments.measures import MERGING, assess, fit, generator, mse
from garrote.paper.item import Record
from garrote.path import default_gammas, garrote_path
from garrote.problem import Samples
from garrote.select import Unseen, path_errors

EXAMPLES = {1: example1, 2: example2}


def one_fit(example: int, method: str, seed: int, run: int) -> Record:
    """One method on one instance of an example."""
    data = EXAMPLES[example](generator(seed, run))
    measures = assess(fit(method, data)[0], data) | {"best_test": None}
    if method in MERGING:
        measures |= {"train": None, "val": None}
    if method == "ridge":
        best = fit_ridge(data.train, data.test)  # λ chosen on the test set itself: no choice of λ could do better
        measures |= {"nonzero": None, "best_test": mse(best, data.test)}
    return measures


def vg_path(seed: int, n_gammas: int) -> Record:
    """The garrote along the paper's whole grid on one instance of Example 1, and our default beside it."""
    data = example1(generator(seed, 0))
    train, validation = Samples(*data.train), Samples(*data.validation)
    path = garrote_path(train, gammas=default_gammas(train, n_gammas))
    errors = path_errors(path, train, Unseen.of(validation))
    best = path[int(np.argmin(errors))]
    default = VariationalGarroteCV().fit(*data.merged)
    return {
        "gamma": path.gammas.tolist(),
        "n_before_stop": len(garrote_path(train, gammas=n_gammas)),
        "up": path.free_energy_up.tolist(),
        "down": path.free_energy_down.tolist(),
        "train": path_errors(path, train, Unseen.of(train)).tolist(),
        "val": errors.tolist(),
        "v": path.coefs.toarray().T.tolist(),
        "m": path.inclusions.toarray().T.tolist(),
        "best_gamma": best.gamma,
        "best_sigma": best.beta**-0.5,
        "best_v": best.v.tolist(),
        "default_v": default.coef_.tolist(),
    }


def rival_paths(seed: int, n_lambdas: int) -> Record:
    """Lasso and ridge along λ on the same instance of Example 1; λ multiplies Σ|w| and ½Σw², as in the introduction."""
    data = example1(generator(seed, 0))
    x_mean, y_mean = data.train.X.mean(axis=0), data.train.y.mean()
    X, y = data.train.X - x_mean, data.train.y - y_mean
    largest = float(np.abs(X.T @ y).max()) / len(y)
    alphas, coefs, _ = lasso_path(
        X, y, alphas=np.geomspace(largest, 1e-2 * largest, n_lambdas), max_iter=100_000, tol=1e-8
    )
    # In units of the samples, so that both λ mean the same as the paper's χ + λI.
    penalties = np.geomspace(1e-2, 1e2, n_lambdas)
    gram, b = X.T @ X / len(y), X.T @ y / len(y)
    ridge = np.column_stack([np.linalg.solve(gram + penalty * np.eye(len(b)), b) for penalty in penalties])

    def path(lambdas: Array, v: Array) -> Record:
        errors = [_errors(part, x_mean, float(y_mean), v) for part in (data.train, data.validation)]
        best = int(np.argmin(errors[1]))
        return {
            "lambda": lambdas.tolist(),
            "v": v.T.tolist(),
            "train": errors[0].tolist(),
            "val": errors[1].tolist(),
            "best": best,
        }

    return {"lasso": path(alphas, coefs), "ridge": path(penalties, ridge)}


def _errors(part: Data, x_mean: Array, y_mean: float, v: Array) -> Array:
    residuals = (part.y - y_mean)[:, None] - (part.X - x_mean) @ v
    return (residuals**2).mean(axis=0)
