"""Data at the limits of a regression: two samples, copies, no noise, only noise, outliers; and at those of dtypes."""

import numpy as np
import pandas as pd
import pytest
from exact import exact_free_energy, exact_moments
from fuzzing import fuzz
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.special import expit

from garrote import Moments, VariationalGarrote, garrote_path
from garrote.problem import Samples

SEEDS = st.integers(0, 2**32 - 1)
GAMMAS = st.floats(-12.0, 0.0)


def fitted(X, y, gamma):
    """A fit, after a look at what holds of every one: finite, probabilities, F no higher than that of the prior."""
    model = VariationalGarrote(gamma).fit(X, y)
    for values in (model.coef_, model.slab_coef_, model.inclusion_, model.intercept_, model.beta_, model.free_energy_):
        assert np.isfinite(values).all()
    assert model.inclusion_.min() >= 0.0 and model.inclusion_.max() <= 1.0
    mean, std = model.predict(X, return_std=True)
    assert np.isfinite(mean).all() and (std > 0).all()
    prior = exact_free_energy(exact_moments(X, y), len(y), np.full(X.shape[1], gamma), gamma)
    assert model.free_energy_ <= float(prior) + 1e-6 * (1 + abs(float(prior)))
    return model


# Very few, and very alike


@fuzz(few=25, seed=SEEDS, n_features=st.integers(1, 4), gamma=st.floats(-12.0, -3.0))
def test_two_samples_select_nothing(seed, n_features, gamma):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((2, n_features)), rng.standard_normal(2)
    model = fitted(X, y, gamma)
    assert model.inclusion_.max() < 0.5
    assert len(garrote_path(X, y)[-1].selected) == 0


def test_two_samples_are_interpolated_where_the_prior_wants_features():
    X, y = np.array([[0.0], [1.0]]), np.array([3.0, 5.0])
    model = VariationalGarrote(1.0).fit(X, y)
    assert_allclose([model.coef_[0], model.intercept_, model.inclusion_[0]], [2.0, 3.0, 1.0])
    assert_allclose(model.beta_, 1e20 / y.var())  # the noise is never less than 1e-20 of the variance of y


@fuzz(few=15, seed=SEEDS, gamma=GAMMAS, noise=st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, 1.4e-6]))
def test_a_copy_of_a_column_changes_no_prediction(seed, gamma, noise):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 3))
    y = 2 * X[:, 0] + rng.standard_normal(30)
    twice = np.column_stack([X, X[:, 0] + noise * rng.standard_normal(30)])
    model, expected = fitted(twice, y, gamma), fitted(X, y, gamma)
    assume(expected.inclusion_[0] > 0.999)  # a doubtful feature has another prior when it is there twice
    if noise > 1e-9:  # what tells the columns apart is a feature too: where it explains y, F is lower
        assume(model.free_energy_ > expected.free_energy_ - np.logaddexp(0.0, gamma) - 1e-6)
    assert_allclose(model.predict(twice), expected.predict(X), atol=1e-3)
    carrier, other = (0, 3) if model.inclusion_[0] > model.inclusion_[3] else (3, 0)
    assert_allclose(model.coef_[carrier], expected.coef_[0], atol=1e-3)  # one copy carries the coefficient
    assert abs(model.coef_[other]) < 1e-3
    assert_allclose(model.inclusion_[other], expit(gamma), atol=1e-3)  # and the other stays at its prior


# Very good, and very bad


@fuzz(few=15, seed=SEEDS, power=st.floats(-6.0, 6.0))
def test_without_noise_the_coefficients_are_found(seed, power):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((30, 8)) + rng.standard_normal(8)
    coef = np.array([1.0, 0, 0, -2.0, 0, 0, 0, 10.0**power])
    y = X @ coef + 5.0
    size = np.abs(coef).max()
    solution = garrote_path(X, y)[-1]
    assert_allclose(solution.v, coef, atol=1e-8 * size)
    assert_allclose(solution.m[np.abs(coef) > 1e-5 * size], 1.0)
    assert 1.0 / solution.beta < 1e-15 * y.var()


@fuzz(few=15, seed=SEEDS, gamma=GAMMAS, tail=st.sampled_from(["normal", "cauchy", "outlier", "powers"]))
def test_noise_and_heavy_tails_give_a_finite_answer_of_low_free_energy(seed, gamma, tail):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((20, 4)), rng.standard_normal(20)
    if tail == "cauchy":
        X, y = rng.standard_cauchy((20, 4)), rng.standard_cauchy(20)
    if tail == "outlier":
        y[0], X[1, 2] = 1e12, -1e15
    if tail == "powers":
        X, y = 10.0 ** (30 * X), 10.0 ** (30 * y)
    fitted(X, y, gamma)


@fuzz(few=15, seed=SEEDS)
def test_noise_alone_selects_nothing_at_the_default_sparsity(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((80, 5)), rng.standard_normal(80)
    assume(np.square(np.corrcoef(X.T, y)[-1, :-1]).sum() < 0.15)  # else it is no longer noise, by chance of 1e-3
    assert VariationalGarrote().fit(X, y).inclusion_.max() < 0.5


def test_a_huge_outlier_of_y_hides_the_signal_as_it_does_in_least_squares():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    y = 2 * X[:, 0] + 0.5 * rng.standard_normal(60)
    y[0] = 1e12
    assert VariationalGarrote().fit(X, y).inclusion_.max() < 0.5
    kept = np.arange(60) > 0
    assert VariationalGarrote().fit(X, y, kept).inclusion_[0] > 0.999  # until its weight is zero


# Small numbers


@pytest.mark.parametrize("value", [5e-324, 1e-310, 1e-200, 1e-160])
def test_columns_whose_squares_vanish_count_as_constant(value):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    X[:, 1] = rng.choice([-value, value], 30)
    for form in (X, sparse.csc_array(X), np.asfortranarray(X)):
        model = VariationalGarrote(-3.0).fit(form, y)
        assert model.coef_[1] == 0.0
        assert_allclose(model.inclusion_[1], expit(-3.0))
    assert_allclose(model.coef_[[0, 2]], VariationalGarrote(-3.0).fit(X[:, [0, 2]], y).coef_, atol=1e-8)


@pytest.mark.parametrize("value", [5e-324, 1e-310, 1e-160])
def test_y_whose_squares_vanish_counts_as_constant(value):
    X = np.random.default_rng(0).standard_normal((30, 3))
    model = VariationalGarrote().fit(X, np.resize([-value, value], 30))
    assert_array_equal(model.coef_, np.zeros(3))


def test_products_that_overflow_are_refused():
    X, y = np.random.default_rng(0).standard_normal((2, 30, 1))
    with pytest.raises(ValueError, match="X has values in column 0 whose"):
        VariationalGarrote(fit_intercept=False).fit(X * 1e150 + 1e160, y[:, 0] * 1e150)


def test_columns_are_centred_before_they_are_multiplied():
    """The products of X and y overflow, those of the centred columns do not."""
    X = np.random.default_rng(0).standard_normal((30, 1))
    model = VariationalGarrote().fit(X * 1e150 + 1e160, X[:, 0] * 1e150)
    assert_allclose(model.coef_, [1.0], rtol=1e-5)  # X has lost ten digits to its mean


def test_overflow_in_float32_is_refused_only_where_float64_overflows():
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = X[:, 0]
    model = VariationalGarrote().fit((X * 1e38).astype(np.float32), y)
    assert_allclose(model.coef_ * 1e38, [1.0, 0.0], atol=1e-5)


# Integers and truth values


INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]


@st.composite
def integer_data(draw):
    """Integers over the whole range of their type, and outputs of another."""
    dtype = draw(st.sampled_from([*INTEGERS, bool]))
    n_samples = draw(st.integers(4, 20))
    X = draw(arrays.arrays(dtype, (n_samples, draw(st.integers(1, 4)))))
    y = draw(arrays.arrays(draw(st.sampled_from(INTEGERS)), n_samples))
    assume(np.ptp(y.astype(float)) > 0)
    return X, y


@fuzz(few=20, drawn=integer_data(), gamma=GAMMAS)
def test_integers_do_not_overflow(drawn, gamma):
    X, y = drawn
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = np.atleast_2d(np.corrcoef(X.astype(np.float64), rowvar=False))
    assume(not (np.abs(np.triu(correlations, 1)) > 1.0 - 1e-12).any())  # rounding decides which of two copies is chosen
    expected = VariationalGarrote(gamma).fit(X.astype(np.float64), y.astype(np.float64))
    predicted, exact = expected.predict(X.astype(np.float64)), exact_moments(X, y)
    variances = [float(exact.chi[i][i]) for i in range(X.shape[1])]
    rounding = np.square(np.finfo(float).eps * expected.x_mean_).max()  # that of the mean, which is subtracted
    assert_allclose(Samples(X, y).chi, variances, rtol=1e-13, atol=rounding)
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    for form in (X, np.asfortranarray(X), frame, sparse.csc_array(X), sparse.csr_array(X)):
        model = VariationalGarrote(gamma).fit(form, y)
        assert_allclose(model.inclusion_, expected.inclusion_, atol=1e-6)
        assert_allclose(model.predict(form), predicted, atol=1e-6 * np.ptp(y.astype(float)))
    assert_allclose(Moments.from_data(X, y).chi, variances, rtol=1e-13, atol=rounding)


def test_moments_of_constant_columns_are_those_of_zeros():
    y = np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    moments = Moments.from_data(np.full((5, 2), 0.1), y)
    assert_array_equal(moments.gram, np.zeros((2, 2)))
    assert_array_equal(VariationalGarrote().fit(moments).coef_, [0.0, 0.0])


def test_a_frame_of_mixed_types_is_its_numbers():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "genotype": rng.integers(-128, 128, 40).astype(np.int8),
            "flag": rng.random(40) > 0.5,
            "count": rng.integers(0, 2**16, 40).astype(np.uint16),
            "single": rng.standard_normal(40).astype(np.float32),
        }
    )
    y = frame["genotype"].astype(float) + 50.0 * frame["flag"] + rng.standard_normal(40)
    model = VariationalGarrote().fit(frame, y)
    assert_allclose(model.coef_, VariationalGarrote().fit(frame.to_numpy(dtype=np.float64), y).coef_, rtol=1e-6)
    assert_allclose(model.coef_[:2], [1.0, 50.0], rtol=0.05)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16])
def test_working_set_of_integers_is_that_of_floats(dtype):
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    X = rng.integers(info.min, info.max, (60, Samples.ONE_BLOCK + 50), dtype=dtype, endpoint=True)
    y = X[:, 7].astype(float) + info.max / 4 * rng.standard_normal(60)
    model, expected = VariationalGarrote().fit(X, y), VariationalGarrote().fit(X.astype(np.float64), y)
    assert model.inclusion_[7] > 0.999
    assert_allclose(model.inclusion_, expected.inclusion_, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e30])
def test_huge_and_tiny_weights_are_counts_of_any_unit(scale):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y, weights = X[:, 0] + rng.standard_normal(30), rng.uniform(0.5, 2.0, 30)
    path = Samples(X, y, weights * scale)
    assert_allclose(path.chi, Samples(X, y, weights).chi, rtol=1e-12)
    assert_allclose(path.n_samples, weights.sum() * scale)
