"""Numerical extremes against sixty digits: moments, free energy, the one-dimensional solution, and changes of scale."""

import numpy as np
import pytest
from exact import exact_free_energy, exact_moments
from fuzzing import fuzz
from hypothesis import assume
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from garrote import Moments, VariationalGarrote, garrote_path
from garrote.design import as_design
from garrote.energy import Penalty, evaluate
from garrote.exchange import _inverse
from garrote.problem import Samples
from garrote.solve import solve
from garrote.theory import univariate_solutions

SEEDS = st.integers(0, 2**32 - 1)

#: Powers of ten that scale columns and y.
SCALES = st.floats(-150.0, 150.0)

#: The same for columns whose mean may be 1e8 times as large.
SCALES_OF_SPREAD = st.floats(-150.0, 141.0)

EPS = np.finfo(np.float64).eps


@st.composite
def columns(draw, n_samples):
    """One column: normal, heavy-tailed, with an outlier, or of two values; its mean up to 1e8 spreads away."""
    rng = np.random.default_rng(draw(SEEDS))
    kind = draw(st.sampled_from(["normal", "cauchy", "outlier", "binary"]))
    x = rng.standard_cauchy(n_samples) if kind == "cauchy" else rng.standard_normal(n_samples)
    if kind == "outlier":
        x[0] *= 10.0 ** draw(st.floats(0.0, 8.0))
    if kind == "binary":
        x = (x > np.median(x)).astype(float)
    assume(np.ptp(x) > 0)
    return x / x.std() + draw(st.sampled_from([0.0, 1.0, -1e4, 1e8]))


@st.composite
def data(draw, max_samples=12, max_features=4, scales=SCALES_OF_SPREAD):
    """X and y with columns of any scale, some of them nearly or exactly the same."""
    n_samples = draw(st.integers(2, max_samples))
    X = np.column_stack([draw(columns(n_samples)) for _ in range(draw(st.integers(1, max_features)))])
    if X.shape[1] > 1:
        noise = draw(st.sampled_from([None, 0.0, 1e-6]))  # a correlation of 1 − 1e-12, up to a factor
        if noise is not None:
            rng = np.random.default_rng(draw(SEEDS))
            X[:, 1] = X[:, 0] + noise * X[:, 0].std() * rng.standard_normal(n_samples)
    return X * 10.0 ** np.array([draw(scales) for _ in X.T]), draw(columns(n_samples)) * 10.0 ** draw(scales)


def relative(values, exact, scale):
    """The largest |value − exact| in units of a scale."""
    pairs = zip(np.ravel(values), np.ravel(exact), np.ravel(scale), strict=True)
    return max(float(abs(mpf(float(value)) - true) / mpf(float(unit))) for value, true, unit in pairs)


def largest(values):
    return np.abs(values).max(axis=0)


# Moments and the free energy


@fuzz(few=60, drawn=data())
def test_means_variances_and_covariances_are_exact_to_rounding(drawn):
    X, y = drawn
    exact, samples = exact_moments(X, y), Samples(X, y)
    n, spread, y_spread = len(y), np.sqrt(samples.chi), np.sqrt(samples.sigma2_y)
    assert relative(samples.x_mean, exact.x_mean, largest(X)) <= 2 * EPS
    assert relative(samples.y_mean, exact.y_mean, largest(y)) <= 2 * EPS
    diagonal = [exact.chi[i][i] for i in range(X.shape[1])]
    assert relative(samples.chi, diagonal, samples.chi) <= 4 * n * EPS
    assert relative(samples.sigma2_y, exact.sigma2_y, samples.sigma2_y) <= 4 * n * EPS
    assert relative(samples.b, exact.b, largest(X) * y_spread) <= 4 * n * EPS  # X is centred implicitly
    block = samples.block(np.arange(X.shape[1]))
    assert relative(block.b, exact.b, spread * y_spread) <= 16 * n * EPS  # explicitly
    assert relative(block.gram, exact.chi, np.outer(spread, spread)) <= 16 * n * EPS


@fuzz(
    few=60, drawn=data(scales=st.just(0.0)), gamma=st.floats(-30.0, 5.0), ridge=st.sampled_from([0.0, 0.3]), seed=SEEDS
)
def test_free_energy_is_exact_to_rounding(drawn, gamma, ridge, seed):
    X, y = drawn
    theta = np.random.default_rng(seed).uniform(-20.0, 6.0, X.shape[1])
    exact = exact_free_energy(exact_moments(X, y), len(y), theta, gamma, ridge)
    problem = Samples(X, y)
    block = problem.block(np.arange(X.shape[1]))
    at = evaluate(block, theta, Penalty(np.full(X.shape[1], gamma), ridge))
    good = np.sqrt(problem.sigma2_y / at.noise)  # what the residual y − x·v, a difference, costs
    assert abs(float(mpf(at.free_energy) - exact)) <= 1e-12 * len(y) * (1 + abs(at.free_energy) + good)


@fuzz(few=40, drawn=data(), gamma=st.floats(-12.0, 2.0))
def test_solutions_report_their_free_energy_at_any_scale(drawn, gamma):
    X, y = drawn
    solution = solve(X, y, gamma=gamma)
    assume(solution.m.min() > 1e-12 and solution.m.max() < 1 - 1e-9)  # θ cannot be read from m beyond
    theta = np.log(solution.m) - np.log1p(-solution.m)
    exact = exact_free_energy(exact_moments(X, y), len(y), theta, gamma)
    assert abs(float(mpf(solution.free_energy) - exact)) <= 1e-9 * (1 + abs(solution.free_energy))


@fuzz(few=40, drawn=data(max_features=1), gamma=st.floats(-20.0, 2.0))
def test_one_feature_has_the_solution_of_the_theory(drawn, gamma):
    X, y = drawn
    exact = exact_moments(X, y)
    rho = float(exact.b[0] ** 2 / exact.chi[0][0] / exact.sigma2_y)
    assume(rho < 1 - 1e-9)
    model = VariationalGarrote(gamma).fit(X, y)
    known = univariate_solutions(rho, gamma, len(y))
    lowest = known.free_energy.min()
    near = np.abs(known.m - model.inclusion_[0]) <= 1e-6
    assert near.any()
    assert known.free_energy[near].min() <= lowest + 1e-6  # where two minima tie, either
    w = exact.b[0] / exact.chi[0][0]
    assert relative(model.slab_coef_, [w], [float(mp.sqrt(exact.sigma2_y / exact.chi[0][0]))]) <= 1e-6


# Changes of scale


def regression(seed, n_samples=30, n_features=6):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features)) + rng.standard_normal(n_features)
    X[:, 1] += 2 * X[:, 0]
    return X, 2 * X[:, 0] - X[:, 3] + rng.standard_normal(n_samples)


@fuzz(few=15, seed=SEEDS, powers=st.lists(st.integers(-498, 498), min_size=6, max_size=6))
def test_powers_of_two_change_no_bit(seed, powers):
    X, y = regression(seed)
    scale = np.ldexp(1.0, np.array(powers))
    model, expected = VariationalGarrote(-4.0).fit(X * scale, y), VariationalGarrote(-4.0).fit(X, y)
    assert_array_equal(model.inclusion_, expected.inclusion_)
    assert_array_equal(model.coef_ * scale, expected.coef_)
    assert model.free_energy_ == expected.free_energy_
    assert_array_equal(model.predict(X * scale), expected.predict(X))


@fuzz(
    few=15,
    seed=SEEDS,
    powers=st.lists(SCALES, min_size=6, max_size=6),
    y_power=SCALES,
    form=st.sampled_from(["dense", "fortran", "sparse", "moments"]),
)
def test_powers_of_ten_change_no_inclusion(seed, powers, y_power, form):
    X, y = regression(seed)
    scale, y_scale = 10.0 ** np.array(powers), 10.0**y_power
    expected, scaled = VariationalGarrote(-4.0).fit(X, y), in_form(X * scale, y * y_scale, form)
    model = VariationalGarrote(-4.0).fit(*scaled)
    assert_allclose(model.inclusion_, expected.inclusion_, atol=1e-6)
    assert_allclose(model.coef_ * (scale / y_scale), expected.coef_, atol=1e-6)
    assert_allclose(model.intercept_ / y_scale, expected.intercept_, atol=1e-6)
    assert_allclose(model.beta_ * y_scale * y_scale, expected.beta_, rtol=1e-6)
    assert_allclose(model.free_energy_ - len(y) * np.log(y_scale), expected.free_energy_, atol=1e-6)
    mean, std = model.predict(X * scale, return_std=True)
    expected_mean, expected_std = expected.predict(X, return_std=True)
    assert_allclose(mean / y_scale, expected_mean, atol=1e-6)
    assert_allclose(std / y_scale, expected_std, rtol=1e-6)


def in_form(X, y, form):
    if form == "moments":
        return (Moments.from_data(X, y),)
    return {"dense": X, "fortran": np.asfortranarray(X), "sparse": sparse.csc_array(X)}[form], y


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("x_power", "y_power"), [(37, 150), (-37, -150), (37, -150), (-37, 150), (12, -12)])
def test_working_set_does_not_depend_on_scale(dtype, order, x_power, y_power):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, Samples.ONE_BLOCK + 100)).astype(dtype)
    y = X[:, 0] - 2.0 * X[:, 5] + 0.5 * rng.standard_normal(60)
    scaled = np.array(X * dtype(10.0**x_power), order=order)
    model, expected = VariationalGarrote().fit(scaled, y * 10.0**y_power), VariationalGarrote().fit(X, y)
    tolerance = 1e-4 if dtype == np.float32 else 1e-6
    assert_allclose(model.inclusion_, expected.inclusion_, atol=tolerance)
    assert_allclose(model.coef_ * 10.0 ** (x_power - y_power), expected.coef_, atol=tolerance)


def test_given_noise_is_in_the_units_of_y():
    X, y = regression(0)
    expected = solve(X, y, gamma=-3.0, beta=0.8)
    solution = solve(X * 1e120, y * 1e140, gamma=-3.0, beta=0.8e-280)
    assert_allclose(solution.m, expected.m, atol=1e-8)
    assert_allclose(solution.beta, 0.8e-280)


@pytest.mark.parametrize("form", ["dense", "moments"])
def test_covariates_of_extreme_scale_are_profiled_out(form):
    X, y = regression(1)
    scale = 10.0 ** np.array([-140.0, 120.0, 0.0, 60.0, -60.0, 140.0])
    expected = garrote_path(X, y, gammas=[-5.0], unpenalized=[2, 5])[0]
    solution = garrote_path(*in_form(X * scale, y * 1e100, form), gammas=[-5.0], unpenalized=[2, 5])[0]
    assert_allclose(solution.m, expected.m, atol=1e-8)
    assert_allclose(solution.v * scale / 1e100, expected.v, atol=1e-8)
    assert_allclose(solution.free_energy - 30 * np.log(1e100), expected.free_energy, rtol=1e-9)


def test_moves_know_columns_of_small_scale_from_copies():
    scale = np.array([1e-9, 1.0, 1.0, 1e9])
    root = np.random.default_rng(0).standard_normal((20, 4))
    inverse = _inverse((root * scale).T @ (root * scale)) * np.outer(scale, scale)
    assert_allclose(inverse @ (root.T @ root), np.eye(4), atol=1e-9)


# Means far from zero


@fuzz(few=15, seed=SEEDS, form=st.sampled_from(["dense", "fortran", "sparse"]))
def test_means_of_a_hundred_million_spreads_change_nothing(seed, form):
    X, y = (np.round(part * 2.0**20) / 2.0**20 for part in regression(seed))  # so that the sums below are exact
    model = VariationalGarrote(-4.0).fit(*in_form(X + 2.0**27, y - 2.0**27, form))
    expected = VariationalGarrote(-4.0).fit(X, y)
    assert_allclose(model.inclusion_, expected.inclusion_, atol=1e-6)
    assert_allclose(model.coef_, expected.coef_, atol=1e-6)
    assert_allclose(model.predict(X + 2.0**27), expected.predict(X) - 2.0**27, atol=1e-6)


def test_float32_columns_with_large_means_are_used_in_float64():
    rng = np.random.default_rng(2)
    X = np.round(rng.standard_normal((80, Samples.ONE_BLOCK + 100)) * 2.0**6) / 2.0**6
    y = X[:, 3] - X[:, 8] + 0.5 * rng.standard_normal(80)
    shifted = (X + 2.0**14).astype(np.float32)
    assert_array_equal(shifted.astype(np.float64) - 2.0**14, X)
    model, expected = VariationalGarrote().fit(shifted, y), VariationalGarrote().fit(X, y)
    assert_allclose(model.inclusion_, expected.inclusion_, atol=1e-6)
    assert_allclose(as_design(shifted).in_double().transpose_dot(y), shifted.astype(np.float64).T @ y, rtol=1e-12)
