"""Covariates that are always in the model: the answers of data from which they were regressed out."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.model_selection import GridSearchCV, KFold

from garrote import Moments, VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.covariates import Beside
from garrote.design import as_design
from garrote.problem import Samples

RNG = np.random.default_rng(3)
N, COEF = 90, np.array([0.02, -1.5, 3.0])


def data(n_features):
    """X that depends on the covariates, which have very different scales; y depends on both."""
    C = np.column_stack([RNG.normal(500, 100, N), RNG.integers(0, 2, N), RNG.standard_normal(N)])
    X = RNG.poisson(1.0, (N, n_features)) + 0.5 * C[:, [1]]
    return X, 4.0 + X[:, 2] - X[:, 5] + C @ COEF + 0.5 * RNG.standard_normal(N), C


SMALL = data(12)
WIDE = data(Samples.ONE_BLOCK + 300)  # solved by a working set
WEIGHTS = RNG.uniform(0.5, 2.0, N)


def regressed_out(values, C, weights, fit_intercept=True):
    """Residuals of weighted least squares on the covariates."""
    Z = np.column_stack([np.ones(N), C]) if fit_intercept else C
    root = np.sqrt(weights)
    coef = np.linalg.lstsq(root[:, None] * Z, (root * values.T).T, rcond=None)[0]
    return values - Z @ coef


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("size", ["small", "wide"])
def test_path_is_that_of_residuals(size, fit_intercept, weights):
    X, y, C = SMALL if size == "small" else WIDE
    w = np.ones(N) if weights is None else weights
    options = {"gammas": 10, "sample_weight": weights, "ridge": 0.1}
    path = garrote_path(X, y, unpenalized=C, fit_intercept=fit_intercept, **options)
    rest = [regressed_out(values, C, w, fit_intercept) for values in (X, y)]
    expected = garrote_path(*rest, fit_intercept=False, **options)
    assert_allclose(path.gammas, expected.gammas, rtol=1e-8)
    assert_allclose(path.free_energies, expected.free_energies, rtol=1e-8)
    assert_allclose(path.coefs.toarray()[:-3], expected.coefs.toarray(), atol=1e-8)
    assert_allclose(path.inclusions.toarray()[:-3], expected.inclusions.toarray(), atol=1e-8)


def test_coefficients_are_those_of_least_squares_given_the_others():
    X, y, C = SMALL
    for solution in garrote_path(X, y, unpenalized=C, gammas=6):
        Z = np.column_stack([np.ones(N), C])
        expected = np.linalg.lstsq(Z, y - X @ solution.v[:-3], rcond=None)[0]
        assert_allclose(solution.v[-3:], expected[1:], rtol=1e-8)


FORMS = {
    "matrix": lambda X, C: (X, C),
    "data frame": lambda X, C: (X, pd.DataFrame(C, columns=["age", "sex", "pc"])),
    "beside a sparse matrix": lambda X, C: (sparse.csc_array(X), C),
    "numbers": lambda X, C: (np.column_stack([X, C]), [12, 13, 14]),
    "negative numbers": lambda X, C: (np.column_stack([X, C]), [-3, -2, -1]),
    "names": lambda X, C: (pd.DataFrame(np.column_stack([X, C])).add_prefix("x"), ["x12", "x13", "x14"]),
    "first columns": lambda X, C: (np.column_stack([C, X]), [0, 1, 2]),
    "a design that knows": lambda X, C: (Beside(as_design(X), as_design(C)), None),
    "moments": lambda X, C: (np.column_stack([X, C]), [12, 13, 14]),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_way_to_give_covariates_has_the_same_answer(form):
    X, y, C = SMALL
    inputs, unpenalized = FORMS[form](X, C)
    reference = VariationalGarrote(-6.0).fit(X, y, unpenalized=C)
    if form == "moments":
        model = VariationalGarrote(-6.0).fit(Moments.from_data(inputs, y), unpenalized=unpenalized)
        path = garrote_path(Moments.from_data(inputs, y), gammas=5, unpenalized=unpenalized)
    else:
        model = VariationalGarrote(-6.0).fit(inputs, y, unpenalized=unpenalized)
        path = garrote_path(inputs, y, gammas=5, unpenalized=unpenalized)
    assert_allclose(model.unpenalized_coef_, reference.unpenalized_coef_, rtol=1e-7)
    assert_allclose(model.intercept_, reference.intercept_, rtol=1e-7)
    assert_allclose(path.free_energies, garrote_path(X, y, gammas=5, unpenalized=C).free_energies, rtol=1e-8)
    beside = form in ("matrix", "data frame", "beside a sparse matrix")
    first = 3 if form == "first columns" else 0
    assert len(model.coef_) == (12 if beside else 15)
    assert_allclose(model.coef_[first : first + 12], reference.coef_, atol=1e-8)
    assert_allclose(model.inclusion_[first : first + 12], reference.inclusion_, atol=1e-8)
    if not beside:
        assert_array_equal(np.delete(model.inclusion_, np.arange(first, first + 12)), 1.0)
    for return_std in (False, True):
        mine = model.predict(inputs, return_std, unpenalized=C if beside else None)
        assert_allclose(mine, reference.predict(X, return_std, unpenalized=C), rtol=1e-7)


def test_folds_regress_on_their_own_training_part():
    X, y, C = SMALL
    gammas, cv = [-12.0, -6.0, -3.0], KFold(4)
    model = VariationalGarroteCV(gammas, ridges=[0.0], cv=cv).fit(X, y, unpenalized=C)
    for k, (train, test) in enumerate(cv.split(X)):
        path = garrote_path(X[train], y[train], gammas=gammas, unpenalized=C[train])
        for j, solution in enumerate(path):
            Z = np.column_stack([np.ones(N), C])
            coef = np.linalg.lstsq(Z[train], y[train] - X[train] @ solution.v[:-3], rcond=None)[0]
            error = np.mean((y[test] - X[test] @ solution.v[:-3] - Z[test] @ coef) ** 2)
            assert_allclose(model.mse_path_[0, j, k], error, rtol=1e-7)
    assert_allclose(model.unpenalized_coef_, COEF, rtol=0.2)
    assert_array_equal(np.flatnonzero(model.inclusion_ > 0.5), [2, 5])


def test_columns_by_name_work_in_a_grid_search():
    X, y, C = SMALL
    frame = pd.DataFrame(np.column_stack([C, X])).add_prefix("x")
    search = GridSearchCV(VariationalGarrote(), {"gamma": [-8.0, -4.0]}, cv=3).fit(frame, y, unpenalized=["x0", "x1"])
    assert_array_equal(search.best_estimator_.inclusion_[:2], 1.0)


def test_collinear_and_constant_covariates_change_nothing():
    X, y, C = SMALL
    more = np.column_stack([C, C @ [0.0, 2.0, 1.0], np.full(N, 7.0)])
    path, expected = (garrote_path(X, y, gammas=5, unpenalized=c) for c in (more, C))
    assert_allclose(path.coefs.toarray()[:12], expected.coefs.toarray()[:12], atol=1e-8)
    assert_allclose(path.free_energies, expected.free_energies, rtol=1e-8)
    assert_allclose(more @ path[-1].v[12:] - 7.0 * path[-1].v[-1], C @ expected[-1].v[12:], rtol=1e-6)


def test_features_that_covariates_explain_are_left_out():
    X, y, C = SMALL
    twin = np.column_stack([X, C @ [0.01, 1.0, -1.0] + 3.0])
    expected = VariationalGarrote(-3.0).fit(X, y, unpenalized=C).coef_
    moments = Moments.from_data(np.column_stack([twin, C]), y)
    for model in (
        VariationalGarrote(-3.0).fit(twin, y, unpenalized=C),
        VariationalGarrote(-3.0).fit(moments, unpenalized=[13, 14, 15]),
    ):
        assert model.coef_[12] == 0.0
        assert_allclose(model.coef_[:12], expected, atol=1e-8)


def test_covariates_that_explain_everything_leave_an_empty_model():
    X, _, C = SMALL
    y = C @ COEF + 2.0
    model = VariationalGarrote(-6.0).fit(X, y, unpenalized=C)
    assert_array_equal(model.coef_, 0.0)
    assert_allclose(model.unpenalized_coef_, COEF, rtol=1e-9)
    assert_allclose(model.predict(X, unpenalized=C), y, rtol=1e-9)


def test_without_features_that_vary_covariates_are_fitted_all_the_same():
    _, y, C = SMALL
    model = VariationalGarrote(-6.0).fit(np.ones((N, 2)), y, unpenalized=C)
    expected = np.linalg.lstsq(np.column_stack([np.ones(N), C]), y, rcond=None)[0]
    assert_allclose(model.unpenalized_coef_, expected[1:], rtol=1e-8)


def test_prior_log_odds_may_leave_covariates_out():
    X, y, C = SMALL
    odds = np.linspace(-1.0, 1.0, 12)
    model = VariationalGarrote(-6.0, prior_log_odds=odds).fit(X, y, unpenalized=C)
    whole = VariationalGarrote(-6.0, prior_log_odds=np.append(odds, [5.0, 5.0, 5.0]))
    assert_allclose(whole.fit(np.column_stack([X, C]), y, unpenalized=[12, 13, 14]).coef_[:12], model.coef_, atol=1e-8)


def test_passes_are_counted():
    """In memory one pass tells the moments and b; with covariates, one more what they explain of X, and one b."""
    X, y, C = WIDE
    assert Samples(X, y).n_passes == 1
    assert Samples(Beside(as_design(X), as_design(C)), y, unpenalized=[900]).n_passes == 3


BAD = {
    "unknown name": (["nobody"], "'nobody', which is no column"),
    "number too large": ([12], "12, which is no column"),
    "twice": ([1, 1], "twice"),
    "text": ("age", "'age'; give a list"),
    "too few rows": (np.ones((4, 2)), "4 rows but X has 90"),
    "NaN": (np.full((N, 1), np.nan), "unpenalized contains NaN"),
    "words": (np.full((N, 1), "old"), "unpenalized is not made of real numbers"),
    "three dimensions": (np.ones((N, 1, 1)), "give a list of columns"),
    "one covariate as a vector": (SMALL[2][:, 2], "a matrix with a row for each sample"),
}


@pytest.mark.parametrize("problem", BAD)
def test_bad_covariates_are_refused(problem):
    X, y, _ = SMALL
    unpenalized, match = BAD[problem]
    for fit in (VariationalGarrote().fit, VariationalGarroteCV(5).fit, garrote_path):
        with pytest.raises(ValueError, match=match):
            fit(X, y, unpenalized=unpenalized)


def test_predict_needs_the_covariates_of_the_fit():
    X, y, C = SMALL
    model = VariationalGarrote().fit(X, y, unpenalized=C)
    with pytest.raises(ValueError, match="0 covariates, but VariationalGarrote was fitted with 3"):
        model.predict(X)
    with pytest.raises(ValueError, match="2 covariates"):
        model.predict(X, unpenalized=C[:, :2])
    with pytest.raises(ValueError, match=r"3 covariates.* with 0"):
        VariationalGarrote().fit(X, y).predict(X, unpenalized=C)
