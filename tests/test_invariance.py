"""What must not change the answer, and what must change it in a known way."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from garrote import VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.datasets import sparse_regression
from garrote.path import default_gammas
from garrote.problem import Samples

#: Sparse enough that rounding does not choose between minima.
GAMMAS = np.linspace(-30.0, -9.0, 8)

SIZES = {"one block": (100, 12), "working set": (100, Samples.ONE_BLOCK + 200)}


@pytest.fixture(params=SIZES)
def data(request):
    """Correlated inputs, five of them relevant, with means that are not zero."""
    n_samples, n_features = SIZES[request.param]
    rng = np.random.default_rng(11)
    X, y, _ = sparse_regression(n_samples, n_features, 5, zeta=0.5, sigma=0.5, rng=rng)
    return X + rng.standard_normal(n_features), y + 3.0


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def assert_same(path, expected, *, scale=1.0, order=slice(None), atol=1e-8):
    """Equal inclusions; coefficients equal after multiplication by ``scale``."""
    for solution, other in zip(path, expected, strict=True):
        assert_allclose(solution.m, other.m[order], atol=atol)
        assert_allclose(solution.v * scale, other.v[order], atol=atol)


def test_inclusion_does_not_depend_on_the_scale_of_columns(data, rng):
    X, y = data
    scale = 10.0 ** rng.uniform(-6, 6, X.shape[1])
    assert_same(garrote_path(X * scale, y, gammas=GAMMAS), garrote_path(X, y, gammas=GAMMAS), scale=scale)


@pytest.mark.parametrize("scale", [1e-100, 1e100])
def test_extreme_scales_do_not_matter(scale):
    X, y, _ = sparse_regression(60, 12, 5, sigma=0.5, rng=np.random.default_rng(0))
    expected = garrote_path(X, y, gammas=GAMMAS)
    assert_same(garrote_path(X * scale, y, gammas=GAMMAS), expected, scale=scale)
    assert_same(garrote_path(X, y * scale, gammas=GAMMAS), expected, scale=1 / scale)


def test_sign_of_a_column_turns_the_sign_of_its_coefficient(data, rng):
    X, y = data
    sign = rng.choice([-1.0, 1.0], X.shape[1])
    assert_same(garrote_path(X * sign, y, gammas=GAMMAS), garrote_path(X, y, gammas=GAMMAS), scale=sign)


@pytest.mark.parametrize("c", [-1.0, 1e-5, 1e5])
def test_coefficients_scale_with_y(data, c):
    X, y = data
    assert_same(garrote_path(X, c * y, gammas=GAMMAS), garrote_path(X, y, gammas=GAMMAS), scale=1 / c)


def test_default_grid_does_not_depend_on_scale(data, rng):
    X, y = data
    scaled = Samples(X * 10.0 ** rng.uniform(-3, 3, X.shape[1]), 1e4 * y)
    assert_allclose(default_gammas(scaled, 5), default_gammas(Samples(X, y), 5))


def test_ridge_is_relative_to_the_scale_of_columns(data, rng):
    X, y = data
    scale = 10.0 ** rng.uniform(-3, 3, X.shape[1])
    expected = garrote_path(X, y, gammas=GAMMAS, ridge=0.3)
    assert_same(garrote_path(X * scale, y, gammas=GAMMAS, ridge=0.3), expected, scale=scale)


def test_order_of_columns_does_not_matter(data, rng):
    X, y = data
    order = rng.permutation(X.shape[1])
    assert_same(garrote_path(X[:, order], y, gammas=GAMMAS), garrote_path(X, y, gammas=GAMMAS), order=order)


def test_order_of_rows_does_not_matter(data, rng):
    X, y = data
    order = rng.permutation(len(y))
    assert_same(garrote_path(X[order], y[order], gammas=GAMMAS), garrote_path(X, y, gammas=GAMMAS))


def test_constants_added_to_columns_do_not_change_predictions(data, rng):
    X, y = data
    shift = rng.uniform(-1e3, 1e3, X.shape[1])
    mean, std = VariationalGarrote().fit(X + shift, y).predict(X + shift, return_std=True)
    expected_mean, expected_std = VariationalGarrote().fit(X, y).predict(X, return_std=True)
    assert_allclose(mean, expected_mean, atol=1e-8)
    assert_allclose(std, expected_std, atol=1e-8)


def test_constant_added_to_y_is_added_to_predictions(data):
    X, y = data
    shifted = VariationalGarrote().fit(X, y + 1e3)
    assert_allclose(shifted.predict(X), VariationalGarrote().fit(X, y).predict(X) + 1e3, atol=1e-8)


# Weights


def test_integer_weight_is_a_repeated_row(data, rng):
    X, y = data
    repeats = rng.integers(1, 4, len(y))
    path = garrote_path(X, y, gammas=GAMMAS, sample_weight=repeats)
    assert_same(path, garrote_path(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), gammas=GAMMAS))


def test_integer_weight_is_a_repeated_row_in_the_free_energy(data, rng):
    X, y = data
    repeats = rng.integers(1, 4, len(y))
    path = garrote_path(X, y, gammas=GAMMAS, sample_weight=repeats)
    expected = garrote_path(np.repeat(X, repeats, axis=0), np.repeat(y, repeats), gammas=GAMMAS)
    sparse = np.array([len(solution.selected) < len(y) / 4 for solution in path])  # F of an interpolation is −∞
    assert sparse.sum() >= 3
    assert_allclose(path.free_energies[sparse], expected.free_energies[sparse], rtol=1e-9)


def test_zero_weight_is_a_removed_row(data):
    X, y = data
    weights = np.ones(len(y))
    weights[::4] = 0.0
    path = garrote_path(X, y, gammas=GAMMAS, sample_weight=weights)
    assert_same(path, garrote_path(X[weights > 0], y[weights > 0], gammas=GAMMAS))


def test_zero_weight_hides_outliers():
    X, y, _ = sparse_regression(40, 6, 2, sigma=0.3, rng=np.random.default_rng(0))
    outlier = np.vstack([X, np.full(6, 1e6)])
    weights = np.append(np.ones(40), 0.0)
    model = VariationalGarrote().fit(outlier, np.append(y, -1e6), weights)
    assert_allclose(model.coef_, VariationalGarrote().fit(X, y).coef_, atol=1e-8)


def test_weights_of_validation_samples_weigh_their_errors():
    X, y, _ = sparse_regression(60, 6, 2, sigma=0.5, rng=np.random.default_rng(0))
    train, validation = np.arange(40), np.arange(40, 60)
    repeats = np.random.default_rng(1).integers(1, 4, 60)
    rows = np.repeat(np.arange(60), repeats)
    weighted = VariationalGarroteCV(GAMMAS, cv=[(train, validation)]).fit(X, y, repeats)
    repeated_split = np.flatnonzero(rows < 40), np.flatnonzero(rows >= 40)
    repeated = VariationalGarroteCV(GAMMAS, cv=[repeated_split]).fit(X[rows], y[rows])
    assert_allclose(weighted.mse_path_, repeated.mse_path_, rtol=1e-8)
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-8)


# Prior log odds


def test_equal_prior_log_odds_shift_gamma(data):
    X, y = data
    path = garrote_path(X, y, gammas=GAMMAS - 2.5, prior_log_odds=np.full(X.shape[1], 2.5))
    assert_same(path, garrote_path(X, y, gammas=GAMMAS))


def test_equal_prior_log_odds_shift_the_start_of_the_default_grid(data):
    problem = Samples(*data)
    shifted = default_gammas(problem, 5, np.full(problem.n_features, 2.5))
    assert_allclose(shifted[0], default_gammas(problem, 5)[0] - 2.5)


def test_prior_log_odds_follow_their_columns(data, rng):
    X, y = data
    odds, order = rng.normal(size=X.shape[1]), rng.permutation(X.shape[1])
    path = garrote_path(X[:, order], y, gammas=GAMMAS, prior_log_odds=odds[order])
    assert_same(path, garrote_path(X, y, gammas=GAMMAS, prior_log_odds=odds), order=order)


def test_strong_prior_takes_in_an_irrelevant_feature(data):
    X, y = data
    plain = VariationalGarrote().fit(X, y)
    doubtful = int(plain.inclusion_.argmin())
    odds = np.zeros(X.shape[1])
    odds[doubtful] = 50.0
    model = VariationalGarrote(prior_log_odds=odds).fit(X, y)
    assert plain.inclusion_[doubtful] < 0.01
    assert model.inclusion_[doubtful] > 0.99


def test_strong_prior_keeps_out_a_relevant_feature(data):
    X, y = data
    relevant = int(VariationalGarrote().fit(X, y).inclusion_.argmax())
    odds = np.zeros(X.shape[1])
    odds[relevant] = -1e3
    assert VariationalGarrote(prior_log_odds=odds).fit(X, y).inclusion_[relevant] < 0.01


# Intercept


def test_without_intercept_the_origin_is_predicted_as_zero(data):
    X, y = data
    model = VariationalGarrote(fit_intercept=False).fit(X, y)
    assert model.intercept_ == 0.0
    assert_array_equal(model.predict(np.zeros((2, X.shape[1]))), [0.0, 0.0])


def test_without_intercept_means_are_signal():
    # mirrored samples have mean zero, so an intercept would be zero too
    X, y, _ = sparse_regression(50, 8, 3, sigma=0.5, rng=np.random.default_rng(3))
    X, y = X + 1.0, y + 2.0
    mirrored = garrote_path(np.vstack([X, -X]), np.append(y, -y), gammas=GAMMAS)
    path = garrote_path(X, y, gammas=GAMMAS, fit_intercept=False, sample_weight=np.full(50, 2.0))
    assert_same(path, mirrored)


def test_without_intercept_a_constant_column_is_a_feature():
    X = np.ones((20, 1))
    model = VariationalGarrote(-1.0, fit_intercept=False).fit(X, 5.0 + np.resize([-0.1, 0.1], 20))
    assert_allclose(model.predict([[1.0]]), [5.0], rtol=1e-3)


# Columns that carry little


def test_constant_columns_change_nothing(data):
    X, y = data
    X = X[:, : Samples.ONE_BLOCK + 100]
    padded = np.insert(X, [0, 4], [[0.0, 0.1]], axis=1)
    kept = np.delete(np.arange(padded.shape[1]), [0, 5])
    assert_array_equal(padded[:, kept], X)
    model, expected = VariationalGarrote().fit(padded, y), VariationalGarrote().fit(X, y)
    assert_allclose(model.coef_[kept], expected.coef_, atol=1e-8)
    assert_array_equal(model.coef_[[0, 5]], [0.0, 0.0])


def test_constant_columns_stay_at_their_prior():
    X, y, _ = sparse_regression(40, 4, 2, rng=np.random.default_rng(0))
    X[:, 1] = 7.0
    model = VariationalGarrote(-3.0, prior_log_odds=[0.0, 1.0, 0.0, 0.0]).fit(X, y)
    assert_allclose(model.inclusion_[1], expit(-2.0))


def test_constant_column_among_very_many_rows_changes_nothing():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.full(100_000, 0.1), rng.standard_normal((100_000, 2))])
    y = X[:, 1] + rng.standard_normal(100_000)
    model = VariationalGarrote().fit(X, y)
    assert_allclose(model.coef_, [0.0, *VariationalGarrote().fit(X[:, 1:], y).coef_], atol=1e-8)


def test_duplicate_columns_predict_what_one_of_them_predicts():
    X, y, coef = sparse_regression(80, 6, 2, sigma=0.3, rng=np.random.default_rng(2))
    twice = np.column_stack([X, X[:, np.flatnonzero(coef)]])
    assert_allclose(
        VariationalGarrote().fit(twice, y).predict(twice), VariationalGarrote().fit(X, y).predict(X), atol=0.05
    )


def test_only_copies_of_one_column_are_finite_and_predict_well():
    x = np.linspace(-1.0, 1.0, 30)
    X, y = np.tile(x[:, None], (1, 5)), 2.0 * x + np.resize([-0.1, 0.1], 30)
    model = VariationalGarroteCV(10, cv=3).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert_allclose(model.coef_.sum(), 2.0, atol=0.1)


def test_one_feature_is_ordinary_least_squares_once_it_is_in():
    x = np.linspace(-1.0, 1.0, 30)
    y = 1.0 + 2.0 * x + np.resize([-0.1, 0.1], 30)
    model = VariationalGarrote(-5.0).fit(x[:, None], y)
    slope, intercept = np.polyfit(x, y, 1)
    assert_allclose(model.inclusion_, [1.0])
    assert_allclose([model.coef_[0], model.intercept_], [slope, intercept])


def test_one_feature_is_left_out_where_it_says_nothing():
    rng = np.random.default_rng(0)
    model = VariationalGarrote(-10.0).fit(rng.standard_normal((50, 1)), rng.standard_normal(50))
    assert model.inclusion_[0] < 1e-3
