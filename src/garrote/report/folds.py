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
from garrote.design import Design
from garrote.problem import Problem, Samples
from garrote.select import Split, Unseen, validation_errors

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
    """The error along the path on samples that it has not seen."""

    samples: Samples
    errors: Array  #: n_gammas × n_folds
    splits: list[Split] | None  #: None if they cannot be repeated


def validate(model: Any, problem: Problem, X: Any, y: Any) -> Validation | None:
    """The validation errors that chose the model; for a model with a given γ, those of five folds.

    None for moments, or where there are too few samples for two folds.
    """
    if not isinstance(problem, Samples):
        return None
    n_gammas = len(model.path_)
    if hasattr(model, "mse_path_"):
        row = int(np.flatnonzero(model.ridges_ == model.ridge_)[0])
        errors = model.mse_path_[row, :n_gammas]
        return Validation(problem, errors, _repeated(model.cv, X, y, errors.shape[1]))
    n_folds = min(N_FOLDS, len(problem.y) // 2)
    if n_folds < 2:
        return None
    splits = list(KFold(n_folds).split(problem.y))
    odds = check_prior_log_odds(model.prior_log_odds, problem.n_features)
    gammas, ridges = model.path_.gammas, np.array([float(model.ridge)])
    errors, _ = validation_errors(problem, splits, gammas, ridges, odds, whole_grid=True, n_jobs=None)
    return Validation(problem, errors[0], splits)


def _repeated(cv: Any, X: Any, y: Any, n_folds: int) -> list[Split] | None:
    """The same splits once more; None, if they were random and without a seed, or came from an iterator."""
    shuffles = hasattr(cv, "random_state") and getattr(cv, "shuffle", True)
    if shuffles and not isinstance(cv.random_state, int | np.integer):
        return None
    splits = list(check_cv(cv).split(y if isinstance(X, Design) else X, y))
    return splits if len(splits) == n_folds else None


def compare(model: Any, validation: Validation, chosen: int) -> list[Result]:
    """The model and, if the folds can be repeated, its rivals on the same folds."""
    own = Result("Variational Garrote", validation.errors[chosen], int((model.inclusion_ > 0.5).sum()))
    return [own, *_rivals(validation.samples, validation.splits)] if validation.splits is not None else [own]


def _rivals(samples: Samples, splits: list[Split]) -> list[Result]:
    """The Lasso and ridge regression on standardised columns, each with the penalty that is best on these folds."""
    largest = float((np.abs(samples.b[samples.varying]) / np.sqrt(samples.chi[samples.varying])).max(initial=0.0))
    return [
        _with_best_penalty("Lasso", _lasso, np.geomspace(1.0, 1e-3, 100) * (largest or 1.0), samples, splits),
        _with_best_penalty("Ridge regression", _ridge, np.geomspace(1e4, 1e-4, 50), samples, splits),
    ]


def _with_best_penalty(name: str, method: Method, penalties: Array, samples: Samples, splits: list[Split]) -> Result:
    errors = np.column_stack([_errors(method, penalties, samples, *split) for split in splits])
    best = int(np.argmin(errors.mean(axis=1)))
    features = screened(samples)
    coefs = _fit(method, samples, features, penalties[: best + 1])
    return Result(name, errors[best], int(np.count_nonzero(coefs[:, best])))


def _fit(method: Method, samples: Samples, features: Index, penalties: Array) -> Array:
    """Coefficients of standardised columns, n_features × n_penalties."""
    if not len(features):
        return np.zeros((0, len(penalties)))
    root = samples.roots(features) / np.sqrt(samples.chi[features])  # columns of unit norm
    return method(root, samples.root_target, penalties)


def _errors(method: Method, penalties: Array, samples: Samples, train: Index, test: Index) -> Array:
    part, unseen = samples.take(train), Unseen.of(samples, test)
    features = screened(part)
    coefs = _fit(method, part, features, penalties)
    columns = (unseen.design.columns(features) - part.x_mean[features]) / np.sqrt(part.chi[features])
    differences = (unseen.y - part.y_mean)[:, None] - columns @ coefs
    return np.asarray(unseen.weights @ differences**2)


def screened(samples: Samples) -> Index:
    """The features that the rivals see: all, or those with the largest correlation with y if there are very many."""
    use = samples.varying
    most = max(1, min(MOST_FEATURES, MOST_ELEMENTS // len(samples.y)))
    if len(use) <= most:
        return use
    strength = np.abs(samples.b[use]) / np.sqrt(samples.chi[use])
    return np.sort(use[np.argpartition(-strength, most)[:most]])


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
