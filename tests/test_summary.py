"""Summary statistics: with in-sample LD the answers are those of the samples; what does not fit is refused."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from garrote import Moments, VariationalGarrote, garrote_path
from garrote.datasets import correlated_inputs


def data(seed=0, n_samples=300, n_features=25, zeta=0.7):
    rng = np.random.default_rng(seed)
    X = correlated_inputs(n_samples, n_features, zeta, rng) * rng.uniform(0.3, 3.0, n_features)
    y = 2.0 + X[:, 4] - 0.5 * X[:, 15] + rng.standard_normal(n_samples)
    return X, y


def marginal(X, y):
    """β̂ and its standard error of each feature's own regression."""
    fits = [stats.linregress(x, y) for x in X.T]
    return np.array([fit.slope for fit in fits]), np.array([fit.stderr for fit in fits])


X, Y = data()
BETA, SE = marginal(X, Y)
Z, LD, N = BETA / SE, np.corrcoef(X.T), len(Y)


def test_moments_are_those_of_the_samples():
    moments, expected = Moments.from_summary((BETA, SE), LD, N, var_y=Y.var()), Moments.from_data(X, Y)
    assert_allclose(moments.b, expected.b, rtol=1e-8, atol=1e-10)
    assert_allclose(moments.gram, expected.gram, rtol=1e-8, atol=1e-10)
    assert_allclose(moments.sigma2_y, expected.sigma2_y, rtol=1e-12)


def test_path_of_z_is_that_of_standardised_samples():
    path = garrote_path(Moments.from_summary(Z, LD, N))
    expected = garrote_path((X - X.mean(axis=0)) / X.std(axis=0), (Y - Y.mean()) / Y.std())
    assert_allclose(path.gammas, expected.gammas, rtol=1e-8)
    assert_allclose(path.inclusions.toarray(), expected.inclusions.toarray(), atol=1e-8)
    assert_allclose(path.coefs.toarray(), expected.coefs.toarray(), atol=1e-8)


def test_fit_in_the_units_of_beta_is_that_of_the_samples():
    model = VariationalGarrote(-8.0).fit(Moments.from_summary((BETA, SE), LD, N, var_y=Y.var()))
    assert_allclose(model.coef_, VariationalGarrote(-8.0).fit(X, Y).coef_, atol=1e-8)


def test_more_features_than_samples():
    X, y = data(n_samples=60, n_features=150)
    beta, se = marginal(X, y)
    moments = Moments.from_summary((beta, se), np.corrcoef(X.T), 60, var_y=y.var())
    assert_allclose(moments.gram, np.cov(X.T, bias=True), atol=1e-8)


def test_swapped_alleles_are_set_right():
    swapped = np.arange(25) % 3 == 0
    counted, other = np.where(swapped, "C", "A"), np.where(swapped, "a", "c")
    z = np.where(swapped, -Z, Z)
    moments = Moments.from_summary(z, LD, N, alleles=(counted, other), ld_alleles=(np.full(25, "A"), np.full(25, "C")))
    assert_allclose(moments.b, Moments.from_summary(Z, LD, N).b)


def test_ridge_shrinks_ld():
    moments = Moments.from_summary(Z, LD, N, ridge=0.1)
    assert_allclose(moments.gram, 0.9 * LD + 0.1 * np.eye(25), atol=1e-12)


def test_reference_panel_with_ridge_finds_the_signal():
    rng = np.random.default_rng(0)
    X, panel = (correlated_inputs(n_samples, 60, 0.7, rng) for n_samples in (5000, 1000))
    y = 0.1 * X[:, [10, 30, 50]] @ [1.0, -1.0, 1.0] + rng.standard_normal(5000)  # 1 % of the variance each
    beta, se = marginal(X, y)
    model = VariationalGarrote(-6.0).fit(Moments.from_summary(beta / se, np.corrcoef(panel.T), 5000, ridge=0.1))
    assert_array_equal(np.flatnonzero(model.inclusion_ > 0.5), [10, 30, 50])


@pytest.mark.parametrize("seed", range(8))
def test_in_sample_statistics_raise_no_alarm(seed):
    X, y = data(seed, zeta=0.95)
    beta, se = marginal(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Moments.from_summary((beta, se), np.corrcoef(X.T), N)
        Moments.from_summary(np.round(beta / se, 2), np.round(np.corrcoef(X.T), 4), N)


def test_wrong_sign_of_a_weak_statistic_is_reported():
    X, _ = data(zeta=0.9, n_samples=3000)
    y = 0.03 * X[:, 10] / X[:, 10].std() + np.random.default_rng(8).standard_normal(3000)
    beta, se = marginal(X, y)
    z = beta / se
    worst = int(np.abs(z).argmax())
    assert 2.0 < abs(z[worst]) < 4.0
    z[worst] *= -1
    with pytest.warns(UserWarning, match=f"z of feature {worst} is .* opposite sign"):
        Moments.from_summary(z, np.corrcoef(X.T), 3000)


def spoiled(matrix, entry, value):
    matrix = matrix.copy()
    matrix[entry] = value
    return matrix


OPPOSITE = np.where(np.arange(25) == 4, -Z, Z)
PAIR = (np.full(25, "A"), np.full(25, "C"))
BAD = {
    "LD of another shape": ((Z, LD[:-1, :-1], N), {}, r"ld has shape \(24, 24\), but there are 25"),
    "LD not square": ((Z, LD[:-1], N), {}, r"ld has shape \(24, 25\)"),
    "NaN in LD": ((Z, spoiled(LD, (1, 2), np.nan), N), {}, "ld contains NaN"),
    "covariances": ((Z, np.cov(X.T), N), {}, "on its diagonal.*correlations"),
    "not symmetric": ((Z, spoiled(LD, (1, 2), 0.0), N), {}, "not symmetric"),
    "not PSD": ((Z, np.where(np.eye(25) > 0, 1.0, -0.5), N), {}, r"least eigenvalue is -11.*ridge=0.917"),
    "wrong sign": ((OPPOSITE, LD, N), {}, "do not fit ld.*times the variance.*feature 4"),
    "LD of others": (
        (Z[::-1], np.corrcoef(correlated_inputs(N, 25, 0.99, np.random.default_rng(4)).T), N),
        {},
        "fit ld",
    ),
    "NaN in z": ((spoiled(Z, 3, np.nan), LD, N), {}, "feature 3 is NaN"),
    "se not positive": (((BETA, spoiled(SE, 0, 0.0)), LD, N), {}, "se has entries"),
    "se too short": (((BETA, SE[1:]), LD, N), {}, "25 entries but se"),
    "no samples": ((Z, LD, 2), {}, "n_samples is 2"),
    "alleles alone": ((Z, LD, N), {"alleles": PAIR}, "belong together"),
    "other alleles": (
        (Z, LD, N),
        {"alleles": PAIR, "ld_alleles": (PAIR[0], spoiled(PAIR[1], 7, "T"))},
        "feature 7: A/C against A/T.*strand",
    ),
    "too few alleles": ((Z, LD, N), {"alleles": PAIR, "ld_alleles": (["A"], ["C"])}, "a pair"),
    "negative ridge": ((Z, LD, N), {"ridge": -0.1}, "ridge is -0.1"),
    "large ridge": ((Z, LD, N), {"ridge": 1.5}, "ridge is 1.5"),
    "no variance": ((Z, LD, N), {"var_y": 0.0}, "var_y is 0.0"),
    "text": ((["high"], LD, N), {}, "z is not made of real numbers"),
}


@pytest.mark.parametrize("problem", BAD)
def test_bad_statistics_are_refused(problem):
    arguments, options, match = BAD[problem]
    with pytest.raises(ValueError, match=match) as caught:
        Moments.from_summary(*arguments, **options)
    assert "\n" not in str(caught.value)


def test_the_ridge_of_the_message_is_enough():
    ld = np.where(np.eye(25) > 0, 1.0, -0.5)
    assert Moments.from_summary(np.zeros(25), ld, N, ridge=0.924).n_features == 25
