"""Breiman's non-negative garrote.

First least squares (or ridge) gives weights w; then non-negative factors c shrink them:

    min_c  ‖y − Σ_i c_i w_i x_i‖²/(2 n_samples) + α Σ_i c_i   subject to   c_i ≥ 0,

the Lagrangian form of the constraint Σ c_i ≤ t. In c this is a non-negative Lasso on the columns w_i x_i.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge, lasso_path
from sklearn.model_selection import check_cv

from garrote.base import Array, LinearModel, all_at_once, check_weights
from garrote.comparators.spike_slab import Regression, centred, check_count

#: The smallest α of the automatic grid, relative to the one that switches every feature off.
SMALLEST_ALPHA = 1e-4


class NonNegativeGarrotePath(NamedTuple):
    """The constraint path: one row per α, from all features off to the first step's solution."""

    alphas: Array
    #: c, (n_alphas, n_features).
    shrinkage: Array
    #: w, the first step's estimate.
    first_step: Array
    #: Passes of coordinate descent over all α.
    n_iter: int

    @property
    def budgets(self) -> Array:
        """t = Σ_i c_i, the constraint that is active at each α."""
        return self.shrinkage.sum(axis=1)

    @property
    def coefs(self) -> Array:
        """c∘w, (n_alphas, n_features)."""
        return self.shrinkage * self.first_step


def first_step(data: Regression, ridge: float) -> Array:
    """argmin ‖y − Xw‖²/n_samples + ridge ‖w‖²; at ridge = 0 least squares, of minimum norm if not unique."""
    model = Ridge(ridge * data.n_samples, fit_intercept=False) if ridge else LinearRegression(fit_intercept=False)
    return np.asarray(model.fit(data.X, data.y).coef_, dtype=np.float64)


def alpha_grid(data: Regression, w: Array, n_alphas: int) -> Array:
    """n_alphas values down from the α that switches every feature off, even on a log scale."""
    largest = float((w * (data.X.T @ data.y)).max()) / data.n_samples
    if largest <= 0:  # y, or all of X, is constant: nothing to switch on at any α
        largest = 1.0
    return np.geomspace(largest, SMALLEST_ALPHA * largest, n_alphas)


def shrinkage_path(data: Regression, w: Array, alphas: Array, max_iter: int, tol: float) -> NonNegativeGarrotePath:
    """The path at the given α, in descending order."""
    # lasso_path divides by its number of rows, the problem above by n_samples.
    scale = np.sqrt(data.y.size / data.n_samples)
    alphas, c, _, n_iters = lasso_path(
        scale * data.X * w,
        scale * data.y,
        alphas=alphas,
        positive=True,
        max_iter=max_iter,
        tol=tol,
        return_n_iter=True,
    )
    return NonNegativeGarrotePath(alphas, c.T, w, int(np.sum(n_iters)))


class NonNegativeGarrote(LinearModel):
    """Breiman's non-negative garrote.

    Least squares needs more samples than features; otherwise give a ``ridge``.

    Parameters
    ----------
    alpha : float or None, default=None
        The penalty on Σ c_i. None chooses it by cross-validation from a grid.
    ridge : float, default=0.0
        Penalty of the first step, ‖y − Xw‖²/n_samples + ridge ‖w‖²; 0 is least squares.
    n_alphas : int, default=100
        Length of the grid.
    cv : int, cross-validation splitter or iterable, default=5
        The folds. Each repeats the first step on its own training samples.
    max_iter : int, default=10000
        Most iterations of the non-negative Lasso at one α.
    tol : float, default=1e-6
        Its tolerance.

    Attributes
    ----------
    shrinkage_ : ndarray of shape (n_features,)
        c. It may exceed 1.
    slab_coef_ : ndarray of shape (n_features,)
        w, the estimate of the first step.
    coef_ : ndarray of shape (n_features,)
        c∘w.
    inclusion_ : ndarray of shape (n_features,)
        1 where c > 0, else 0: the garrote selects without a probability.
    intercept_ : float
    alpha_ : float
        The penalty, given or chosen.
    path_ : NonNegativeGarrotePath
        The path on all samples, from the largest α of the grid to ``alpha_`` or the end of the grid.
    n_iter_ : int
        Passes of coordinate descent along that path.
    """

    def __init__(
        self,
        *,
        alpha: float | None = None,
        ridge: float = 0.0,
        n_alphas: int = 100,
        cv: Any = 5,
        max_iter: int = 10_000,
        tol: float = 1e-6,
    ) -> None:
        self.alpha = alpha
        self.ridge = ridge
        self.n_alphas = n_alphas
        self.cv = cv
        self.max_iter = max_iter
        self.tol = tol

    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NonNegativeGarrote:
        """Fit to X (n_samples, n_features) and y; a weight counts how often its sample was seen."""
        self._check_penalties()
        X, y = self._check_data(X, y)
        weights = check_weights(sample_weight, X)
        data = centred(X, y, weights)
        w = first_step(data, self.ridge)
        alphas = alpha_grid(data, w, self.n_alphas)
        if self.alpha is None:
            self.alpha_ = float(alphas[np.argmin(self._validation_errors(X, y, weights, alphas))])
        else:
            self.alpha_ = float(self.alpha)
            alphas = np.append(alphas[alphas > self.alpha_], self.alpha_)
        self.path_ = shrinkage_path(data, w, alphas, self.max_iter, self.tol)
        chosen = int(np.flatnonzero(self.path_.alphas == self.alpha_)[0])
        self.shrinkage_ = self.path_.shrinkage[chosen]
        self.n_iter_ = self.path_.n_iter
        self.slab_coef_ = w
        self.coef_ = self.path_.coefs[chosen]
        self.inclusion_ = (self.shrinkage_ > 0).astype(np.float64)
        self.intercept_ = float(data.y_mean - data.x_mean @ self.coef_)
        return self

    def _validation_errors(self, X: Any, y: Array, weights: Array, alphas: Array) -> Array:
        """The mean squared error at every α of the samples left out, each predicted by its fold's path."""
        total = np.zeros(alphas.size)
        for train, test in check_cv(self.cv).split(X, y):
            data = centred(X[train], y[train], weights[train])
            path = shrinkage_path(data, first_step(data, self.ridge), alphas, self.max_iter, self.tol)
            intercepts = data.y_mean - path.coefs @ data.x_mean
            errors = y[test][:, None] - X[test] @ path.coefs.T - intercepts
            total += weights[test] @ errors**2
        return total / weights.sum()

    def _check_penalties(self) -> None:
        if self.alpha is not None and not 0 <= self.alpha < np.inf:
            raise ValueError(
                f"alpha={self.alpha!r} must be zero or a finite positive number, or None to choose it by "
                "cross-validation."
            )
        if not 0 <= self.ridge < np.inf:
            raise ValueError(f"ridge={self.ridge!r} must be zero (least squares) or a finite positive number.")
        check_count("n_alphas", self.n_alphas)
