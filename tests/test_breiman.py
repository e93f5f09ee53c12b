"""Breiman's garrote against scikit-learn's non-negative Lasso, and the registry of methods."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.utils.estimator_checks import parametrize_with_checks
from spike_slab_oracle import regression

from garrote import NonNegativeGarrote, theory
from garrote.comparators.registry import METHODS, merged, selected
from garrote.datasets import example2


def best_on(validation, fits):
    """The fit with the smallest squared error on the validation set, the first of equals."""
    return min(fits, key=lambda fit: float(np.mean((validation.y - fit.predict(validation.X)) ** 2)))


@parametrize_with_checks([NonNegativeGarrote(), NonNegativeGarrote(alpha=0.1, ridge=0.1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 0.005])
@pytest.mark.parametrize("shape", [(60, 8), (25, 12)])
def test_is_a_positive_lasso_on_scaled_columns(shape, alpha, ridge):
    X, y = regression(*shape, 0.5)
    first = (Ridge(ridge * len(y)) if ridge else LinearRegression()).fit(X, y)
    lasso = Lasso(alpha, positive=True, tol=1e-12, max_iter=100_000).fit(X * first.coef_, y)
    fit = NonNegativeGarrote(alpha=alpha, ridge=ridge, tol=1e-12, max_iter=100_000).fit(X, y)
    assert_allclose(fit.slab_coef_, first.coef_, atol=1e-9)
    assert_allclose(fit.shrinkage_, lasso.coef_, atol=1e-6)
    assert_allclose(fit.coef_, lasso.coef_ * first.coef_, atol=1e-6)
    assert fit.intercept_ == pytest.approx(lasso.intercept_, abs=1e-6)
    assert_allclose(fit.inclusion_, lasso.coef_ > 0)


def test_optimality_conditions():
    X, y = regression(60, 8, 0.8)
    fit = NonNegativeGarrote(alpha=0.03, tol=1e-12).fit(X, y)
    slope = fit.slab_coef_ * ((X - X.mean(axis=0)).T @ (y - fit.predict(X))) / len(y)
    on = fit.shrinkage_ > 0
    assert 0 < on.sum() < 8
    assert_allclose(slope[on], 0.03, atol=1e-6)
    assert (slope[~on] <= 0.03 + 1e-6).all()


def test_orthogonal_inputs_give_the_shrinkage_curve():
    rng = np.random.default_rng(0)
    n = 50
    Z = rng.standard_normal((n, 4))
    Q = np.linalg.qr(Z - Z.mean(axis=0))[0] * np.sqrt(n)
    y = Q @ [2.0, -1.0, 0.4, 0.1] + 0.1 * rng.standard_normal(n)
    fit = NonNegativeGarrote(alpha=0.25, tol=1e-12).fit(Q, y)
    assert_allclose(fit.coef_, theory.garrote_shrinkage(fit.slab_coef_, 0.25), atol=1e-6)


def test_path_runs_from_nothing_to_least_squares():
    X, y = regression(80, 6)
    path = NonNegativeGarrote(n_alphas=60).fit(X, y).path_
    assert path.alphas.shape == (60,)
    assert_allclose(path.shrinkage[0], 0, atol=1e-12)
    assert_allclose(path.coefs[-1], LinearRegression().fit(X, y).coef_, atol=1e-2)
    assert (np.diff(path.budgets) > -1e-6).all()
    assert_allclose(path.budgets, path.shrinkage.sum(axis=1))


def test_cross_validation_is_the_loop_one_would_write():
    X, y = regression(50, 6, 0.5)
    cv = KFold(5, shuffle=True, random_state=0)
    fit = NonNegativeGarrote(cv=cv, n_alphas=20).fit(X, y)
    errors = []
    for alpha in fit.path_.alphas:
        fold_fits = ((NonNegativeGarrote(alpha=alpha).fit(X[a], y[a]), b) for a, b in cv.split(X))
        errors.append(sum(np.sum((y[b] - one.predict(X[b])) ** 2) for one, b in fold_fits))
    assert fit.alpha_ == fit.path_.alphas[np.argmin(errors)]
    assert_allclose(fit.coef_, NonNegativeGarrote(alpha=fit.alpha_).fit(X, y).coef_, atol=1e-4)


def test_constant_response():
    X, _ = regression()
    fit = NonNegativeGarrote().fit(X, np.full(40, 2.0))
    assert_allclose(fit.coef_, 0)
    assert fit.intercept_ == pytest.approx(2.0)


def test_bad_penalties():
    X, y = regression()
    with pytest.raises(ValueError, match="alpha=-1 must be zero or a finite"):
        NonNegativeGarrote(alpha=-1).fit(X, y)
    with pytest.raises(ValueError, match="ridge=inf must be zero"):
        NonNegativeGarrote(ridge=np.inf).fit(X, y)
    with pytest.raises(ValueError, match="n_alphas=0 must be a whole number"):
        NonNegativeGarrote(n_alphas=0).fit(X, y)


# ---- the registry -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", METHODS)
def test_every_method_fits_the_paper_example(name):
    train, validation, test, weights = example2(np.random.default_rng(1))
    fit = METHODS[name](train, validation)
    error = np.mean((test.y - fit.predict(test.X)) ** 2)
    assert np.isfinite(error)
    assert selected(fit).shape == weights.shape
    if name == "ridge":
        assert error < test.y.var()
    if name in {"lasso", "elastic-net", "garrote", "pmf"}:
        assert error < 2.5
        assert selected(fit)[[0, 1, 4, 9, 49]].all()


@pytest.mark.parametrize(("name", "model"), [("ridge", Ridge), ("lasso", partial(Lasso, tol=1e-7, max_iter=100_000))])
def test_penalty_is_the_best_on_validation_and_nothing_is_refitted(name, model):
    train, validation, _, _ = example2(np.random.default_rng(1))
    fit = METHODS[name](train, validation)
    assert_allclose(fit.coef_, model(fit.alpha).fit(*train).coef_)
    neighbours = [model(fit.alpha * factor).fit(*train) for factor in (0.7, 1.0, 1.4)]
    assert best_on(validation, neighbours).alpha == pytest.approx(fit.alpha)


def test_merged_keeps_every_sample():
    train, validation, _, _ = example2(np.random.default_rng(1))
    both = merged(train, validation)
    assert both.X.shape == (100, 100)
    assert_allclose(both.y[50:], validation.y)
