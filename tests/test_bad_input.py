"""Bad input: an exception that names the argument and the remedy, or a defined result; never NaN or a wrong answer."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import LeaveOneOut

from garrote import Moments, VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.solve import solve

RNG = np.random.default_rng(0)
X = RNG.standard_normal((40, 6))
Y = X[:, 0] * 2 - X[:, 3] + 0.3 * RNG.standard_normal(40)

FITS = {
    "path": lambda X, y, weights=None: garrote_path(X, y, gammas=5, sample_weight=weights),
    "solve": lambda X, y, weights=None: solve(X, y, gamma=-5.0),
    "moments": lambda X, y, weights=None: Moments.from_data(X, y, weights),
    "one gamma": lambda X, y, weights=None: VariationalGarrote().fit(X, y, weights),
    "CV": lambda X, y, weights=None: VariationalGarroteCV(5).fit(X, y, weights),
}
FUNCTIONS = ["path", "solve", "moments"]  # the estimators leave the wording to scikit-learn
WEIGHTED = ["path", "moments", "one gamma", "CV"]


def with_one(values, bad):
    """A copy whose second entry is bad."""
    values = np.array(values, dtype=np.result_type(values, type(bad)))
    values.flat[1] = bad
    return values


def refused(match, call, *args, **kwargs):
    """Whether the call raises an exception whose message matches, and does nothing worse."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises((ValueError, TypeError), match=match):
            call(*args, **kwargs)


# X and y

BAD_X = {
    "NaN": (with_one(X, np.nan), "NaN"),
    "infinity": (with_one(X, np.inf), "infinity"),
    "NaN in sparse": (sparse.csr_array(with_one(X, np.nan)), "NaN"),
    "one dimension": (X[:, 0], "2D|two"),
    "three dimensions": (X[:, :, None], "dim"),
    "no features": (X[:, :0], r"0 feature\(s\)"),
    "strings": (np.full((40, 6), "high"), "high|number|numeric"),
    "complex": (X + 1j, "[Cc]omplex"),
    "objects": (np.full((40, 6), None, dtype=object), "NaN|float|number"),
}

BAD_Y = {
    "NaN": (with_one(Y, np.nan), "NaN"),
    "infinity": (with_one(Y, -np.inf), "infinity"),
    "too short": (Y[:-1], "39"),
    "two columns": (np.column_stack([Y, Y]), r"1d|\(40, 2\)"),
    "strings": (np.full(40, "high"), "high|number|numeric"),
    "complex": (Y + 1j, "[Cc]omplex"),
    "missing": (None, "y"),
}


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("problem", BAD_X)
def test_bad_X_is_refused(problem, fit):
    bad, match = BAD_X[problem]
    refused(match, FITS[fit], bad, Y)


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("problem", BAD_Y)
def test_bad_y_is_refused(problem, fit):
    bad, match = BAD_Y[problem]
    refused(match, FITS[fit], X, bad)


@pytest.mark.parametrize("fit", FUNCTIONS)
@pytest.mark.parametrize("problem", BAD_X)
def test_message_names_X(problem, fit):
    refused(r"\bX\b", FITS[fit], BAD_X[problem][0], Y)


@pytest.mark.parametrize("fit", FUNCTIONS)
@pytest.mark.parametrize("problem", BAD_Y)
def test_message_names_y(problem, fit):
    refused(r"\by\b", FITS[fit], X, BAD_Y[problem][0])


@pytest.mark.parametrize("fit", FITS)
@pytest.mark.parametrize("n_samples", [0, 1])
def test_fewer_than_two_samples_are_refused(n_samples, fit):
    refused("sample", FITS[fit], X[:n_samples], Y[:n_samples])


@pytest.mark.parametrize("fit", ["path", "one gamma"])
def test_two_samples_give_a_finite_answer(fit):
    model = FITS[fit](X[:2], Y[:2])
    coef = model[-1].v if fit == "path" else model.coef_
    assert np.isfinite(coef).all()


@pytest.mark.parametrize("fit", ["path", "one gamma"])
def test_values_whose_squares_overflow_are_refused(fit):
    refused(r"\bX\b", FITS[fit], X * [1e200, 1, 1, 1, 1, 1], Y)
    refused(r"\by\b", FITS[fit], X, Y * 1e200)


@pytest.mark.parametrize("fit", ["path", "one gamma", "CV"])
def test_column_vector_y_is_taken_with_a_warning(fit):
    with pytest.warns(UserWarning, match="column-vector"):
        FITS[fit](X, Y[:, None])


# Nothing to explain, or nothing to explain it with


@pytest.mark.parametrize("y", [np.zeros(40), np.full(40, 0.1), np.full(40, -1e10)], ids=["0", "0.1", "-1e10"])
@pytest.mark.parametrize("model", [VariationalGarrote(), VariationalGarroteCV()], ids=["one gamma", "CV"])
def test_constant_y_gives_zero_coefficients_and_its_value(model, y):
    mean, std = model.fit(X, y).predict(X, return_std=True)
    assert_array_equal(model.coef_, np.zeros(6))
    assert_allclose(mean, y)
    assert_allclose(std, 0.0, atol=1e-100)
    assert np.isfinite([model.beta_, model.free_energy_]).all()


@pytest.mark.parametrize("value", [0.0, 0.1, 1e10])
@pytest.mark.parametrize("model", [VariationalGarrote(), VariationalGarroteCV()], ids=["one gamma", "CV"])
def test_constant_X_gives_zero_coefficients_and_the_mean(model, value):
    constant = np.full((40, 3), value)
    mean, std = model.fit(constant, Y).predict(constant, return_std=True)
    assert_array_equal(model.coef_, np.zeros(3))
    assert_allclose(mean, Y.mean())
    assert_allclose(std, Y.std())


def test_constant_y_in_one_fold_gives_a_finite_answer():
    model = VariationalGarroteCV(5, cv=4).fit(X, np.append(np.zeros(39), 1.0))
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.mse_path_).all()


def test_y_that_is_one_column_exactly_is_reproduced():
    model = VariationalGarrote().fit(X, 3.0 * X[:, 2])
    assert_allclose(model.coef_, [0, 0, 3, 0, 0, 0], atol=1e-8)


# Weights


@pytest.mark.parametrize("fit", WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "match"),
    [
        (with_one(np.ones(40), np.nan), "NaN"),
        (with_one(np.ones(40), np.inf), "infinity"),
        (with_one(np.ones(40), -1.0), "negative value -1.*zero or positive"),
        (np.zeros(40), "zero"),
        (np.ones(39), "39"),
        (np.ones((40, 2)), "1D"),
        (np.full(40, "heavy"), "heavy|number"),
    ],
    ids=["NaN", "infinity", "negative", "all zero", "too short", "two columns", "strings"],
)
def test_bad_weights_are_refused(weights, match, fit):
    refused(match, FITS[fit], X, Y, weights)


@pytest.mark.parametrize(
    "weights",
    [with_one(np.ones(40), np.nan), with_one(np.ones(40), -1.0), np.zeros(40), np.ones(39), np.full(40, "heavy")],
    ids=["NaN", "negative", "all zero", "too short", "strings"],
)
def test_message_names_the_weights(weights):
    refused("sample_weight|[Ss]ample weights", FITS["path"], X, Y, weights)


def test_a_single_weighted_sample_gives_its_output():
    model = VariationalGarrote().fit(X, Y, np.eye(40)[3])
    assert_array_equal(model.coef_, np.zeros(6))
    assert_allclose(model.predict(X), Y[3])


# Parameters

NOT_A_NUMBER = [np.nan, np.inf, -np.inf, "sparse", None, 1j, [1.0], True]


@pytest.mark.parametrize("gamma", NOT_A_NUMBER)
def test_gamma_that_is_no_finite_number_is_refused(gamma):
    refused("gamma is .*; give a finite number", VariationalGarrote(gamma).fit, X, Y)
    refused("gamma is .*; give a finite number", solve, X, Y, gamma=gamma)


@pytest.mark.parametrize("ridge", NOT_A_NUMBER)
def test_ridge_that_is_no_finite_number_is_refused(ridge):
    refused("ridge is .*; give a finite number", VariationalGarrote(ridge=ridge).fit, X, Y)
    refused("ridge is .*; give a finite number", garrote_path, X, Y, ridge=ridge)


def test_negative_ridge_is_refused():
    refused("ridge is -0.1; it must be at least 0", VariationalGarrote(ridge=-0.1).fit, X, Y)


@pytest.mark.parametrize("gamma", [-1e300, -1e4, 1e4, 1e300])
def test_extreme_gamma_gives_a_finite_answer(gamma):
    model = VariationalGarrote(gamma).fit(X, Y)
    assert np.isfinite(model.coef_).all()
    assert_allclose(model.inclusion_, float(gamma > 0), atol=1e-6)


BAD_GRIDS = {
    "empty": ([], "at least one"),
    "NaN": ([-5.0, np.nan], "NaN"),
    "infinite": ([-np.inf, -5.0], "infinity"),
    "unsorted": ([-1.0, -5.0], "ascending; sort"),
    "repeated": ([-5.0, -5.0], "ascending"),
    "two dimensions": ([[-5.0, -1.0]], "shape"),
    "strings": (["low", "high"], "number"),
    "complex": ([1j, 2j], "number"),
    "no points": (0, "at least 1"),
    "negative number": (-3, "at least 1"),
    "truth value": (True, "number of grid points"),
    "fraction": (2.5, "number of grid points"),
    "string": ("many", "number of grid points"),
}


@pytest.mark.parametrize("problem", BAD_GRIDS)
def test_bad_grid_is_refused(problem):
    gammas, match = BAD_GRIDS[problem]
    refused(f"gammas.*{match}", garrote_path, X, Y, gammas=gammas)
    refused(f"gammas.*{match}", VariationalGarroteCV(gammas).fit, X, Y)


@pytest.mark.parametrize("ridges", [[], [-1.0], [0.0, np.nan], [np.inf], "wide", ["wide"], None])
def test_bad_ridges_are_refused(ridges):
    refused("ridges", VariationalGarroteCV(ridges=ridges).fit, X, Y)


@pytest.mark.parametrize(
    "odds",
    [
        np.zeros(5),
        1.0,
        np.zeros((6, 1)),
        with_one(np.zeros(6), np.nan),
        with_one(np.zeros(6), np.inf),
        ["a"] * 6,
        X[0] * 1j,
    ],
    ids=["too short", "one number", "two dimensions", "NaN", "infinite", "strings", "complex"],
)
def test_bad_prior_log_odds_are_refused(odds):
    refused("prior_log_odds", garrote_path, X, Y, prior_log_odds=odds)
    refused("prior_log_odds", VariationalGarrote(prior_log_odds=odds).fit, X, Y)
    refused("prior_log_odds", VariationalGarroteCV(prior_log_odds=odds).fit, X, Y)


@pytest.mark.parametrize(
    "start",
    [np.full(6, 1.1), np.full(6, -0.1), with_one(np.full(6, 0.5), np.nan), np.full(5, 0.5), 0.5, ["a"] * 6],
    ids=["above 1", "below 0", "NaN", "too short", "one number", "strings"],
)
def test_bad_start_is_refused(start):
    refused("start", solve, X, Y, gamma=-5.0, start=start)


@pytest.mark.parametrize("start", [np.zeros(6), np.ones(6)], ids=["all out", "all in"])
def test_start_may_be_zero_or_one(start):
    assert np.isfinite(solve(X, Y, gamma=-5.0, start=start).v).all()


@pytest.mark.parametrize("beta", [0.0, -1.0, np.nan, "loud"])
def test_bad_beta_is_refused(beta):
    refused("beta", solve, X, Y, gamma=-5.0, beta=beta)


@pytest.mark.parametrize("tol", [np.nan, -1.0, "small"])
def test_bad_tol_is_refused(tol):
    refused("tol", garrote_path, X, Y, tol=tol)


@pytest.mark.parametrize("max_iter", [0, -1, 2.5, np.nan, "many"])
def test_bad_max_iter_is_refused(max_iter):
    refused("max_iter", garrote_path, X, Y, max_iter=max_iter)


# Moments

B, CHI = X.T @ Y / 40, X.T @ X / 40
SIGMA2_Y = float(Y @ Y / 40)
INDEFINITE = np.eye(6)
INDEFINITE[0, 1] = INDEFINITE[1, 0] = 3.0


@pytest.mark.parametrize(
    ("moments", "match"),
    [
        ((B[:5], CHI, SIGMA2_Y, 40), "chi has shape"),
        ((B, CHI[:5], SIGMA2_Y, 40), "chi has shape"),
        ((CHI, CHI, SIGMA2_Y, 40), "b has shape"),
        ((B[0], CHI, SIGMA2_Y, 40), "b has shape"),
        (([], np.empty((0, 0)), SIGMA2_Y, 40), "b has shape"),
        ((B, np.triu(CHI), SIGMA2_Y, 40), "chi is not symmetric"),
        ((B, -CHI, SIGMA2_Y, 40), "diagonal of chi is negative"),
        ((B, CHI, -1.0, 40), "sigma2_y.*negative"),
        ((B, CHI, SIGMA2_Y, 1), "n_samples is 1; at least two"),
        ((B, CHI, SIGMA2_Y, np.nan), "n_samples.*NaN"),
        ((with_one(B, np.nan), CHI, SIGMA2_Y, 40), "b contains NaN"),
        ((B, with_one(CHI, np.inf), SIGMA2_Y, 40), "chi contains"),
        ((B, CHI, np.nan, 40), "sigma2_y contains NaN"),
        ((["a"] * 6, CHI, SIGMA2_Y, 40), r"\bb\b"),
        ((B * 1j, CHI, SIGMA2_Y, 40), r"\bb\b"),
        ((B, CHI, "a", 40), "sigma2_y"),
        ((B, INDEFINITE, SIGMA2_Y, 40), "chi"),
        ((100 * B, CHI, SIGMA2_Y, 40), r"\bb\b"),
    ],
    ids=[
        "b too short",
        "chi not square",
        "b a matrix",
        "b a number",
        "no features",
        "asymmetric",
        "negative variances",
        "negative variance of y",
        "one sample",
        "NaN samples",
        "NaN in b",
        "infinity in chi",
        "NaN variance of y",
        "strings",
        "complex",
        "variance a string",
        "chi indefinite",
        "correlations above one",
    ],
)
def test_bad_moments_are_refused(moments, match):
    refused(match, Moments, *moments)


def test_moments_with_a_wrong_number_of_means_are_refused():
    refused("x_mean has shape", Moments, B, CHI, SIGMA2_Y, 40, x_mean=np.zeros(5))


def test_moments_together_with_y_or_weights_are_refused():
    moments = Moments.from_data(X, Y)
    refused("Moments already contains y", garrote_path, moments, Y)
    refused("Moments already contains y", VariationalGarrote().fit, moments, Y)
    refused("Moments already contains y", VariationalGarrote().fit, moments, None, np.ones(40))


def test_moments_cannot_lose_their_intercept_later():
    moments = Moments.from_data(X, Y)
    refused("fit_intercept", garrote_path, moments, fit_intercept=False)
    refused("fit_intercept", VariationalGarrote(fit_intercept=False).fit, moments)


@pytest.mark.parametrize("y", [None, Y], ids=["without y", "with y"])
def test_moments_cannot_be_cross_validated(y):
    refused("Moments", VariationalGarroteCV().fit, Moments.from_data(X, Y), y)


def test_moments_of_other_features_cannot_be_added():
    moments = Moments.from_data(X, Y)
    refused("6 and 5 features", lambda: moments + Moments.from_data(X[:, :5], Y))
    refused("unsupported operand", lambda: moments + 1)


# Splits


def test_no_refit_with_several_splits_is_refused():
    refused("refit=False needs a single split, but cv makes 5", VariationalGarroteCV(refit=False).fit, X, Y)


@pytest.mark.parametrize("cv", [[], 1, 41, "five", [([], [1, 2])], [([1, 2, 3], [])]])
def test_bad_cv_is_refused(cv):
    refused("cv|split|fold", VariationalGarroteCV(cv=cv).fit, X, Y)


def test_validation_samples_without_any_weight_are_refused():
    weights = np.repeat([0.0, 1.0], 20)
    refused("cv|split|fold", VariationalGarroteCV(5).fit, X, Y, weights)


@pytest.mark.parametrize("cv", [[(np.arange(39), [39])], [([0], np.arange(1, 40))]], ids=["validation", "training"])
def test_fold_of_one_sample_gives_a_finite_answer(cv):
    model = VariationalGarroteCV(5, cv=cv).fit(X, Y)
    assert np.isfinite(model.mse_path_).all()
    assert np.isfinite(model.coef_).all()


def test_leaving_one_out_gives_a_finite_answer():
    model = VariationalGarroteCV(5, cv=LeaveOneOut()).fit(X[:10], Y[:10])
    assert model.mse_path_.shape[2] == 10
    assert np.isfinite(model.coef_).all()


# Predictions


@pytest.mark.parametrize("model", [VariationalGarrote(), VariationalGarroteCV(5)], ids=["one gamma", "CV"])
def test_bad_inputs_to_predict_are_refused(model):
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, Y)
    refused("X has 5 features", model.predict, X[:, :5])
    refused("NaN", model.predict, with_one(X, np.nan))
    refused("2D", model.predict, X[0])
