"""The error on unseen samples: of the path over γ, and of the Lasso and ridge regression on the same folds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import lasso_path
from sklearn.model_selection import KFold, check_cv

from garrote.arrays import Array, Index
from garrote.checks import check_prior_log_odds
from garrote.problem import Samples
from garrote.select import Split, validation_errors

#: Columns that the Lasso and ridge regression see at most, and elements of their copy of X.
MOST_FEATURES = 2000
MOST_ELEMENTS = 20_000_000

#: Folds for a model that was fitted without any.
N_FOLDS = 5

#: (root, target, penalties) → coefficients of standardised columns, n_features × n_penalties.
Method = Callable[[Array, Array, Array], Array]


class Result(NamedTuple):
    """A method with its best penalty: its error on each fold, and how many features the fit to all samples uses."""

    method: str
    errors: Array
    n_selected: int


class Validation(NamedTuple):
    """Errors along the path, n_gammas × n_folds, and the splits, if they can be repeated."""

    errors: Array
    splits: list[Split] | None


def validate(model: Any, samples: Samples, X: Any, y: Any) -> Validation:
    """The validation errors that chose the model; for a model with a given γ, those of five folds."""
    n_gammas = len(model.path_)
    if hasattr(model, "mse_path_"):
        row = int(np.flatnonzero(model.ridges_ == model.ridge_)[0])
        errors = model.mse_path_[row, :n_gammas]
        return Validation(errors, _repeated(model.cv, X, y, errors.shape[1]))
    splits = list(KFold(min(N_FOLDS, len(samples.y) // 2)).split(samples.y))
    odds = check_prior_log_odds(model.prior_log_odds, samples.n_features)
    gammas, ridges = model.path_.gammas, np.array([float(model.ridge)])
    errors, _ = validation_errors(samples, splits, gammas, ridges, odds, whole_grid=True, n_jobs=None)
    return Validation(errors[0], splits)


def _repeated(cv: Any, X: Any, y: Any, n_folds: int) -> list[Split] | None:
    """The same splits once more; None, if they were random and without a seed, or came from an iterator."""
    shuffles = hasattr(cv, "random_state") and getattr(cv, "shuffle", True)
    if shuffles and not isinstance(cv.random_state, int | np.integer):
        return None
    splits = list(check_cv(cv).split(X, y))
    return splits if len(splits) == n_folds else None


def rivals(samples: Samples, splits: list[Split]) -> list[Result]:
    """The Lasso and ridge regression on standardised columns, each with the penalty that is best on these folds."""
    largest = float((np.abs(samples.b[samples.varying]) / np.sqrt(samples.chi[samples.varying])).max(initial=0.0))
    return [
        _compare("Lasso", _lasso, np.geomspace(1.0, 1e-3, 100) * (largest or 1.0), samples, splits),
        _compare("Ridge regression", _ridge, np.geomspace(1e4, 1e-4, 50), samples, splits),
    ]


def _compare(name: str, method: Method, penalties: Array, samples: Samples, splits: list[Split]) -> Result:
    errors = np.column_stack([_errors(method, penalties, samples, *split) for split in splits])
    best = int(np.argmin(errors.mean(axis=1)))
    features = screened(samples)
    coefs = method(_standardised(samples, features), samples.root_target, penalties[: best + 1])
    return Result(name, errors[best], int(np.count_nonzero(coefs[:, best])))


def _errors(method: Method, penalties: Array, samples: Samples, train: Index, test: Index) -> Array:
    part, unseen = samples.take(train), samples.take(test)
    features = screened(part)
    coefs = method(_standardised(part, features), part.root_target, penalties)
    columns = (unseen.design.columns(features) - part.x_mean[features]) / np.sqrt(part.chi[features])
    differences = (unseen.y + unseen.y_mean - part.y_mean)[:, None] - columns @ coefs
    return np.asarray(unseen.weights @ differences**2)


def screened(samples: Samples) -> Index:
    """The features that the rivals see: all, or those with the largest correlation with y if there are very many."""
    use = samples.varying
    most = max(1, min(MOST_FEATURES, MOST_ELEMENTS // len(samples.y)))
    if len(use) <= most:
        return use
    strength = np.abs(samples.b[use]) / np.sqrt(samples.chi[use])
    return np.sort(use[np.argpartition(-strength, most)[:most]])


def _standardised(samples: Samples, features: Index) -> Array:
    """Columns in root coordinates with unit norm."""
    return samples.roots(features) / np.sqrt(samples.chi[features])


def _lasso(root: Array, target: Array, penalties: Array) -> Array:
    """Minimises ½‖target − root·v‖² + penalty·‖v‖₁."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # at the smallest penalties, which are rarely chosen
        coefs = lasso_path(root, target, alphas=penalties / len(target))[1]
    return np.asarray(coefs)


def _ridge(root: Array, target: Array, penalties: Array) -> Array:
    """Minimises ‖target − root·v‖² + penalty·‖v‖²."""
    u, s, vt = linalg.svd(root, full_matrices=False)
    return np.asarray(vt.T @ ((s * (u.T @ target))[:, None] / (s[:, None] ** 2 + penalties)))
