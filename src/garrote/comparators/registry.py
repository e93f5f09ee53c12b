"""Each method by its name, as a function (train, validation) → fitted model: the protocol of the paper.

A method with a regularisation parameter is fitted on the training set for a grid of values, and the fit with
the smallest squared error on the validation set is returned as it is, without a refit. A method with nothing
to choose on the validation set is fitted on both sets together, so that all see the same data.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNet, Lasso, LinearRegression, Ridge, enet_path

from garrote.arrays import Array
from garrote.comparators.breiman import NonNegativeGarrote
from garrote.comparators.pmf import PairedMeanField
from garrote.datasets import Data
from garrote.estimators import VariationalGarrote, VariationalGarroteCV
from garrote.path import garrote_path
from garrote.problem import Samples
from garrote.select import Unseen, path_errors

#: Points of every grid, and the smallest Lasso penalty relative to the one that switches all features off.
N_GRID = 100
SMALLEST_PENALTY = 1e-3
#: Iterations that converge on every problem of the paper, where the defaults of 1000 do not.
MAX_ITER = 100_000
#: With scikit-learn's 1e-4 the coordinate descent of some versions ends long before the minimum where noise is low.
TOL = 1e-7
#: Share of L1 in the elastic net's penalty.
L1_RATIOS = (0.1, 0.5, 0.9)
#: The ridge grid, relative to the mean squared norm of the columns.
RIDGE_RANGE = (1e-4, 1e4)


#: (train, validation) → a fitted model with ``predict`` and ``coef_``.
Method = Callable[[Data, Data], Any]


def merged(train: Data, validation: Data) -> Data:
    """Both sets as one."""
    return Data(np.vstack([train.X, validation.X]), np.concatenate([train.y, validation.y]))


def one_split(train: Data, validation: Data) -> list[tuple[np.ndarray, np.ndarray]]:
    """The positions of both sets in ``merged``, as the single split of a cross-validation."""
    n_train, n_all = train.y.size, train.y.size + validation.y.size
    return [(np.arange(n_train), np.arange(n_train, n_all))]


def selected(fit: Any) -> np.ndarray:
    """Which features a fit uses: m > ½ where it has inclusion probabilities, non-zero weights elsewhere."""
    inclusion = getattr(fit, "inclusion_", None)
    return np.asarray(fit.coef_ != 0 if inclusion is None else inclusion > 0.5)


def fit_ols(train: Data, validation: Data) -> Any:
    """Least squares, of minimum norm where it is not unique."""
    return LinearRegression().fit(*merged(train, validation))


def fit_ridge(train: Data, validation: Data) -> Any:
    """Ridge regression, its penalty chosen on the validation set."""
    X, y, x_mean, y_mean = _centred(train)
    penalties = float((X**2).sum(axis=0).mean()) * np.geomspace(*RIDGE_RANGE, N_GRID)
    U, singular, Vt = np.linalg.svd(X, full_matrices=False)  # one decomposition serves all penalties
    shrunk = (singular * (U.T @ y))[:, None] / (singular[:, None] ** 2 + penalties)
    errors = _validation_errors(validation, x_mean, y_mean, Vt.T @ shrunk)
    return Ridge(penalties[int(np.argmin(errors))]).fit(*train)


def fit_lasso(train: Data, validation: Data) -> Any:
    """The Lasso, its penalty chosen on the validation set."""
    _, alpha = _best_on_path(train, validation, l1_ratio=1.0)
    return Lasso(alpha, max_iter=MAX_ITER, tol=TOL).fit(*train)


def fit_elastic_net(train: Data, validation: Data) -> Any:
    """The elastic net, penalty and share of L1 chosen on the validation set."""
    choices = [(*_best_on_path(train, validation, l1_ratio), l1_ratio) for l1_ratio in L1_RATIOS]
    _, alpha, l1_ratio = min(choices)
    return ElasticNet(alpha, l1_ratio=l1_ratio, max_iter=MAX_ITER, tol=TOL).fit(*train)


def fit_garrote(train: Data, validation: Data) -> Any:
    """Breiman's garrote after the best ridge regression, so that features may outnumber samples."""
    ridge = fit_ridge(train, validation).alpha / train.y.size
    search = NonNegativeGarrote(ridge=ridge, n_alphas=N_GRID, cv=one_split(train, validation))
    alpha = search.fit(*merged(train, validation)).alpha_
    return NonNegativeGarrote(alpha=alpha, ridge=ridge).fit(*train)


def fit_vg(train: Data, validation: Data) -> Any:
    """The Variational Garrote as in the paper: its grid, flat slab, γ chosen on the validation set, no refit."""
    samples = Samples(*train)
    path = garrote_path(samples)
    best = int(np.argmin(path_errors(path, samples, Unseen.of(Samples(*validation)))))
    model = VariationalGarrote(path[best].gamma)  # its own fit would trace the path again
    model.path_, model.n_features_in_ = path, samples.n_features
    model._take_solution(samples, best)
    return model


def fit_vg_default(train: Data, validation: Data) -> Any:
    """The Variational Garrote with the library's defaults: folds over all samples, and a refit."""
    return VariationalGarroteCV().fit(*merged(train, validation))


def fit_pmf(train: Data, validation: Data) -> Any:
    """Paired mean field, which learns its hyperparameters from all the data."""
    return PairedMeanField(max_iter=MAX_ITER, random_state=0).fit(*merged(train, validation))


def _best_on_path(train: Data, validation: Data, l1_ratio: float) -> tuple[float, float]:
    """(validation error, penalty) of the best fit on the warm-started path of the elastic net.

    The grid goes down from max_i |x_i·y|/(n_samples l1_ratio), at which every weight is zero.
    """
    X, y, x_mean, y_mean = _centred(train)
    largest = float(np.abs(X.T @ y).max()) / (y.size * l1_ratio)
    grid = np.geomspace(largest, SMALLEST_PENALTY * largest, N_GRID)
    alphas, coefs, _ = enet_path(X, y, l1_ratio=l1_ratio, alphas=grid, max_iter=MAX_ITER, tol=TOL)
    errors = _validation_errors(validation, x_mean, y_mean, coefs)
    best = int(np.argmin(errors))
    return float(errors[best]), float(alphas[best])


def _centred(data: Data) -> tuple[Array, Array, Array, float]:
    """X and y less their means, and the means."""
    x_mean, y_mean = data.X.mean(axis=0), float(data.y.mean())
    return np.asfortranarray(data.X - x_mean), data.y - y_mean, x_mean, y_mean


def _validation_errors(validation: Data, x_mean: Array, y_mean: float, coefs: Array) -> Array:
    """The mean squared error of each column of coefficients, fitted to data with these means."""
    residuals = (validation.y - y_mean)[:, None] - (validation.X - x_mean) @ coefs
    return np.asarray((residuals**2).mean(axis=0))


#: Every method that reproduction and benchmark compare. To add one, write its function and name it here.
METHODS: dict[str, Method] = {
    "ols": fit_ols,
    "ridge": fit_ridge,
    "lasso": fit_lasso,
    "elastic-net": fit_elastic_net,
    "garrote": fit_garrote,
    "pmf": fit_pmf,
    "vg": fit_vg,
    "vg-default": fit_vg_default,
}
