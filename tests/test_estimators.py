"""The estimators as scikit-learn's tools use them, and what they choose."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from garrote import VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.datasets import sparse_regression
from garrote.select import choose

GAMMAS = np.linspace(-25.0, -2.0, 9)
RIDGES = [0.0, 0.5]


@parametrize_with_checks([VariationalGarrote(), VariationalGarroteCV()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def data():
    """Ten inputs with means that are not zero; the second, fifth and ninth make y."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((80, 10)) + rng.uniform(-5, 5, 10)
    return X, 4.0 + X[:, [1, 4, 8]] @ [1.5, -1.0, 0.5] + rng.standard_normal(80)


@pytest.fixture(scope="module")
def fitted(data):
    return VariationalGarroteCV(GAMMAS, ridges=RIDGES, cv=4).fit(*data)


# With scikit-learn's tools


def test_pipeline_predicts_what_the_estimator_predicts(data):
    X, y = data
    pipeline = make_pipeline(StandardScaler(), VariationalGarrote()).fit(X, y)
    assert_allclose(pipeline.predict(X), VariationalGarrote().fit(X, y).predict(X), atol=1e-8)


def test_grid_search_over_gamma_finds_the_least_cross_validated_error(data):
    X, y = data
    search = GridSearchCV(VariationalGarrote(), {"gamma": GAMMAS}, cv=4, scoring="neg_mean_squared_error").fit(X, y)
    scores = [
        cross_val_score(VariationalGarrote(gamma), X, y, cv=4, scoring="neg_mean_squared_error").mean()
        for gamma in GAMMAS
    ]
    assert search.best_params_["gamma"] == GAMMAS[np.argmax(scores)]


def test_select_from_model_by_inclusion(data):
    X, y = data
    selector = SelectFromModel(VariationalGarrote(), importance_getter="inclusion_", threshold=0.5).fit(X, y)
    assert_array_equal(selector.get_support(indices=True), [1, 4, 8])


def test_select_from_model_by_coefficient(data):
    X, y = data
    selector = SelectFromModel(VariationalGarroteCV(GAMMAS)).fit(X, y)
    coef = np.abs(selector.estimator_.coef_)
    assert_array_equal(selector.get_support(), coef >= coef.mean())


def test_clone_keeps_parameters_and_forgets_the_fit(data):
    X, _ = data
    model = VariationalGarrote(-7.0, ridge=0.2, prior_log_odds=np.arange(10.0), fit_intercept=False).fit(*data)
    copy = clone(model)
    assert_array_equal(copy.prior_log_odds, np.arange(10.0))
    assert (copy.gamma, copy.ridge, copy.fit_intercept) == (-7.0, 0.2, False)
    assert not hasattr(copy, "coef_")
    assert_array_equal(copy.fit(*data).predict(X), model.predict(X))


@pytest.mark.parametrize("model", [VariationalGarrote(), VariationalGarroteCV(5, cv=3)], ids=["one gamma", "CV"])
def test_pickle_keeps_predictions_and_path(model, data):
    X, y = data
    model.fit(X, y)
    loaded = pickle.loads(pickle.dumps(model))
    for mine, theirs in zip(loaded.predict(X, return_std=True), model.predict(X, return_std=True), strict=True):
        assert_array_equal(mine, theirs)
    assert_array_equal(loaded.path_.coefs.toarray(), model.path_.coefs.toarray())


def test_two_jobs_give_exactly_what_one_gives(data, fitted):
    parallel = VariationalGarroteCV(GAMMAS, ridges=RIDGES, cv=4, n_jobs=2).fit(*data)
    assert_array_equal(parallel.mse_path_, fitted.mse_path_)
    assert_array_equal(parallel.coef_, fitted.coef_)


def test_frame_gives_names(data):
    X, y = data
    frame = pd.DataFrame(X, columns=[f"gene {j}" for j in range(10)])
    model = VariationalGarrote().fit(frame, pd.Series(y))
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert_allclose(model.predict(frame), VariationalGarrote().fit(X, y).predict(X), atol=1e-10)


def test_frame_with_other_columns_is_refused(data):
    X, y = data
    frame = pd.DataFrame(X).add_prefix("x")
    with pytest.raises(ValueError, match="feature names should match"):
        VariationalGarrote().fit(frame, y).predict(frame.add_prefix("y"))


@pytest.mark.parametrize(
    "model",
    [
        VariationalGarrote(-5, ridge=0, prior_log_odds=[0.0] * 10),
        VariationalGarroteCV([-20, -10, -5], ridges=[1, 0], cv=3, prior_log_odds=[0.0] * 10),
    ],
    ids=["one gamma", "CV"],
)
def test_fit_leaves_parameters_as_they_are(model, data):
    before = model.get_params()
    values = pickle.dumps(before)
    model.fit(*data)
    assert all(model.get_params()[name] is value for name, value in before.items())
    assert pickle.dumps(model.get_params()) == values


def test_fitting_again_forgets_the_first_fit(data):
    X, y = data
    model = VariationalGarrote().fit(X[:, :4], -y).fit(X, y)
    assert_array_equal(model.coef_, VariationalGarrote().fit(X, y).coef_)
    assert model.n_features_in_ == 10


# Fitted attributes


@pytest.mark.parametrize(
    "model", [VariationalGarrote(-5.0), VariationalGarroteCV(GAMMAS, cv=3)], ids=["one gamma", "CV"]
)
def test_fitted_attributes_agree(model, data):
    X, y = data
    model.fit(X, y)
    assert_allclose(model.coef_, model.inclusion_ * model.slab_coef_, atol=1e-15)
    assert_allclose(model.intercept_, y.mean() - X.mean(axis=0) @ model.coef_)
    assert_allclose(model.predict(X), X @ model.coef_ + model.intercept_)
    assert model.n_features_in_ == 10
    assert model.n_iter_ == model.path_.n_iter > 0


def test_fit_is_the_end_of_its_path(data):
    model = VariationalGarrote(-5.0).fit(*data)
    assert model.gamma_ == model.path_.gammas[-1] == -5.0
    assert model.free_energy_ == model.path_[-1].free_energy
    assert model.beta_ == model.path_[-1].beta


def test_beta_is_the_inverse_of_the_noise_that_is_left(data):
    X, y = data
    model = VariationalGarrote(-5.0).fit(X, y)
    m, w = model.inclusion_, model.slab_coef_
    noise = np.mean((y - model.predict(X)) ** 2) + (m * (1 - m) * w**2) @ X.var(axis=0)
    assert_allclose(1 / model.beta_, noise)


def test_gamma_below_the_grid_is_solved(data):
    X, y = data
    model = VariationalGarrote(-1e3).fit(X, y)
    assert_allclose(model.predict(X), y.mean())
    assert model.inclusion_.max() < 1e-6


def test_large_gamma_is_least_squares(data):
    X, y = data
    model = VariationalGarrote(1e3).fit(X, y)
    expected = np.linalg.lstsq(np.column_stack([X, np.ones(80)]), y)[0]
    assert_allclose([*model.coef_, model.intercept_], expected, rtol=1e-6)


def test_large_gamma_with_a_slab_is_ridge_regression(data):
    X, y = data
    model = VariationalGarrote(1e3, ridge=0.7).fit(X, y)
    centred = X - X.mean(axis=0)
    gram = centred.T @ centred / 80
    expected = np.linalg.solve(gram + 0.7 * np.diag(gram.diagonal()), centred.T @ (y - y.mean()) / 80)
    assert_allclose(model.coef_, expected, rtol=1e-6)


# Predictive standard deviation


def test_predictive_variance_is_that_of_sampled_models(data):
    X, y = data
    model = VariationalGarrote(-1.0, prior_log_odds=[0.0] * 5 + [1.0] * 5).fit(X, y)
    assert ((model.inclusion_ > 0.2) & (model.inclusion_ < 0.8)).sum() >= 3  # or there is no doubt to see
    rng = np.random.default_rng(0)
    points = X.mean(axis=0) + 10.0 * rng.standard_normal((4, 10))  # far away, where doubt outweighs noise
    mean, std = model.predict(points, return_std=True)
    draws = rng.random((200_000, 10)) < model.inclusion_
    slopes = draws * model.slab_coef_
    # each sampled model has the intercept that fits its own slopes
    responses = y.mean() - slopes @ X.mean(axis=0) + points @ slopes.T
    assert (std**2 > 1.5 / model.beta_).all()
    assert_allclose(responses.mean(axis=1), mean, atol=5 * responses.std(axis=1).max() / np.sqrt(len(draws)))
    assert_allclose(responses.var(axis=1) + 1 / model.beta_, std**2, rtol=0.02)


def test_predictive_variance_without_intercept_grows_from_the_origin(data):
    X, y = data
    model = VariationalGarrote(-1.0, fit_intercept=False).fit(X, y)
    m, w = model.inclusion_, model.slab_coef_
    std = model.predict(X, return_std=True)[1]
    assert_allclose(std**2, 1 / model.beta_ + X**2 @ (m * (1 - m) * w**2))


def test_predictive_std_does_not_change_the_mean(data, fitted):
    X, _ = data
    assert_array_equal(fitted.predict(X, return_std=True)[0], fitted.predict(X))


# The choice of γ and λ


def fold_errors(X, y, train, validation, gammas, ridge):
    """Mean squared error on the validation samples, at every γ."""
    path = garrote_path(X[train], y[train], gammas=gammas, ridge=ridge)
    errors = []
    for solution in path:
        intercept = y[train].mean() - X[train].mean(axis=0) @ solution.v
        errors.append(np.mean((y[validation] - X[validation] @ solution.v - intercept) ** 2))
    return errors


def test_mse_path_holds_the_errors_of_every_fold(data, fitted):
    X, y = data
    expected = [[fold_errors(X, y, *split, GAMMAS, ridge) for split in KFold(4).split(X)] for ridge in RIDGES]
    assert_allclose(fitted.mse_path_, np.swapaxes(expected, 1, 2), rtol=1e-8)


def test_sparsest_of_the_ties_with_the_least_mean_error_is_chosen_and_refitted(data, fitted):
    X, y = data
    mean = fitted.mse_path_.mean(axis=2)
    ridge, best = np.unravel_index(mean.argmin(), mean.shape)
    noise = fitted.mse_path_[ridge, best].std(ddof=1) / np.sqrt(fitted.mse_path_.shape[2])
    gamma = np.flatnonzero(mean[ridge] <= mean[ridge, best] + 0.25 * noise)[0]
    assert (fitted.ridge_, fitted.gamma_) == (RIDGES[ridge], GAMMAS[gamma])
    assert_allclose(fitted.coef_, garrote_path(X, y, gammas=GAMMAS, ridge=fitted.ridge_)[gamma].v, atol=1e-10)


def test_given_grid_is_used_whole_and_unchanged(data, fitted):
    assert_array_equal(fitted.gammas_, GAMMAS)
    assert_array_equal(fitted.path_.gammas, GAMMAS)
    assert np.isfinite(fitted.mse_path_).all()


def test_given_grid_is_used_whole_where_the_default_would_stop():
    X, y, _ = sparse_regression(20, 40, 2, rng=np.random.default_rng(0))
    grid = [-20.0, -5.0, 5.0]
    assert garrote_path(X, y).stopped
    assert_array_equal(garrote_path(X, y, gammas=grid).gammas, grid)
    model = VariationalGarroteCV(grid, ridges=[0.0], cv=3).fit(X, y)
    assert model.mse_path_.shape == (1, 3, 3)
    assert np.isfinite(model.mse_path_).all()


def test_number_of_gammas_is_the_length_of_the_default_grid(data):
    model = VariationalGarroteCV(7, cv=3).fit(*data)
    assert len(model.gammas_) == 7
    assert (np.diff(model.gammas_) > 0).all()


def test_ridges_are_sorted_and_named_in_order(data):
    model = VariationalGarroteCV(GAMMAS, ridges=[0.5, 0.0, 0.5], cv=4).fit(*data)
    assert_array_equal(model.ridges_, RIDGES)


def test_predefined_split_without_refit_is_the_protocol_of_the_paper(data):
    X, y = data
    train, validation = np.arange(0, 50), np.arange(50, 80)
    split = PredefinedSplit(np.repeat([-1, 0], [50, 30]))
    model = VariationalGarroteCV(GAMMAS, ridges=[0], cv=split, refit=False).fit(X, y)
    errors = fold_errors(X, y, train, validation, GAMMAS, 0.0)
    best = garrote_path(X[train], y[train], gammas=GAMMAS)[int(np.argmin(errors))]
    assert model.gamma_ == best.gamma
    assert_allclose(model.coef_, best.v, atol=1e-10)
    assert_allclose(model.intercept_, y[train].mean() - X[train].mean(axis=0) @ best.v)
    assert_allclose(model.beta_, best.beta)


def test_refit_uses_all_samples(data):
    X, y = data
    split = PredefinedSplit(np.repeat([-1, 0], [50, 30]))
    model = VariationalGarroteCV(GAMMAS, ridges=[0], cv=split).fit(X, y)
    expected = garrote_path(X, y, gammas=GAMMAS)[GAMMAS.tolist().index(model.gamma_)]
    assert_allclose(model.coef_, expected.v, atol=1e-10)


def test_one_standard_error_takes_the_sparsest_gamma_within_it(data, fitted):
    model = VariationalGarroteCV(GAMMAS, ridges=RIDGES, cv=4, one_standard_error=True).fit(*data)
    errors = fitted.mse_path_[RIDGES.index(fitted.ridge_)]
    best = errors.mean(axis=1).argmin()
    bound = errors[best].mean() + errors[best].std(ddof=1) / np.sqrt(4)
    within = GAMMAS[errors.mean(axis=1) <= bound]
    assert model.gamma_ == within.min()
    assert model.gamma_ <= fitted.gamma_
    assert model.ridge_ == fitted.ridge_


def test_one_standard_error_needs_several_splits(data):
    split = PredefinedSplit(np.repeat([-1, 0], [50, 30]))
    plain, cautious = (
        VariationalGarroteCV(GAMMAS, cv=split, one_standard_error=rule).fit(*data) for rule in (False, True)
    )
    assert plain.gamma_ == cautious.gamma_


def test_only_gammas_that_every_fold_reached_are_chosen():
    errors = np.array([[[3.0, 3.0], [2.0, 2.0], [0.1, np.nan]]])
    assert choose(errors, one_standard_error=False) == (0, 1)


def test_equal_errors_choose_the_smallest_ridge_and_gamma():
    assert choose(np.ones((2, 3, 4)), one_standard_error=False) == (0, 0)
