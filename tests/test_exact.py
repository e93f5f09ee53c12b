"""Exact enumeration against one multivariate normal per subset."""

from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.utils.estimator_checks import parametrize_with_checks
from spike_slab_oracle import HYPER, brute_force, regression

from garrote import ExactSpikeSlab, theory


@parametrize_with_checks([ExactSpikeSlab()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("shape", [(40, 6), (30, 1), (5, 7), (300, 4)])
@pytest.mark.parametrize("correlation", [0.0, 0.95])
def test_equals_brute_force(shape, correlation):
    X, y = regression(*shape, correlation)
    fit = ExactSpikeSlab(**HYPER).fit(X, y)
    log_evidence, inclusion, mean = brute_force(X, y, **HYPER)
    assert fit.log_evidence_ == pytest.approx(log_evidence, abs=1e-9)
    assert_allclose(fit.inclusion_, inclusion, atol=1e-10)
    assert_allclose(fit.coef_, mean, atol=1e-10)
    assert_allclose(fit.slab_coef_ * fit.inclusion_, mean, atol=1e-10)
    assert_allclose(fit.predict(X).mean(), y.mean())


def test_duplicate_and_constant_columns():
    X, y = regression(n_features=3)
    X = np.column_stack([X, X[:, 0], np.full(len(y), 7.0)])
    fit = ExactSpikeSlab(**HYPER).fit(X, y)
    _, inclusion, mean = brute_force(X, y, **HYPER)
    assert_allclose(fit.inclusion_, inclusion, atol=1e-8)
    assert_allclose(fit.coef_, mean, atol=1e-8)
    assert fit.inclusion_[4] == pytest.approx(HYPER["prior_inclusion"])


@pytest.mark.parametrize("noise_variance", [None, 0.8])
def test_flat_slab_is_least_squares_on_every_subset(noise_variance):
    X, y = regression(n_features=5, correlation=0.6)
    prior, n = 0.02, len(y)
    fit = ExactSpikeSlab(noise_variance=noise_variance, slab_variance=np.inf, prior_inclusion=prior).fit(X, y)
    Xc, yc = X - X.mean(axis=0), y - y.mean()
    subsets = np.array(list(product([0.0, 1.0], repeat=5)))
    joint, means = [], []
    for s in subsets:
        v = np.linalg.lstsq(Xc * s, yc, rcond=None)[0] * s
        rss = np.sum((yc - Xc @ v) ** 2)
        variance = rss / n if noise_variance is None else noise_variance
        log_prior = s.sum() * np.log(prior) + (5 - s.sum()) * np.log(1 - prior)
        joint.append(-n / 2 * np.log(2 * np.pi * variance) - rss / (2 * variance) + log_prior)
        means.append(v)
    assert fit.log_evidence_ == pytest.approx(np.logaddexp.reduce(joint), abs=1e-9)
    probability = np.exp(np.array(joint) - fit.log_evidence_)
    assert_allclose(fit.inclusion_, probability @ subsets, atol=1e-10)
    assert_allclose(fit.coef_, probability @ np.array(means), atol=1e-10)
    assert_allclose(fit.map_support_, subsets[np.argmax(joint)] == 1)
    assert fit.map_log_posterior_ == pytest.approx(np.log(probability.max()))


def test_flat_slab_on_orthogonal_inputs_is_the_theory():
    rng = np.random.default_rng(3)
    n = 60
    Z = rng.standard_normal((n, 6))
    Q = np.linalg.qr(Z - Z.mean(axis=0))[0] * np.sqrt(n)
    y = Q @ [0.9, 0.5, 0.3, 0.2, 0.0, 0.0] + rng.standard_normal(n)
    b, sigma2_y = Q.T @ (y - y.mean()) / n, y.var()
    for gamma in (-20.0, -6.0, -2.0, -0.3):
        prior = 1 / (1 + np.exp(-gamma))
        fit = ExactSpikeSlab(slab_variance=np.inf, prior_inclusion=prior).fit(Q, y)
        mode = theory.orthogonal_mode(b, sigma2_y, gamma, n)
        assert_allclose(fit.map_support_, mode.selected)
        assert fit.noise_variance_ == pytest.approx(mode.noise_variance)


def test_flat_slab_with_a_redundant_column():
    X, y = regression(n_features=3)
    single = ExactSpikeSlab(slab_variance=np.inf, prior_inclusion=0.2).fit(X, y)
    double = ExactSpikeSlab(slab_variance=np.inf, prior_inclusion=0.2).fit(np.column_stack([X, X[:, 0]]), y)
    assert np.isfinite(double.log_evidence_)
    assert double.inclusion_[0] == pytest.approx(double.inclusion_[3])
    assert np.abs(double.predict(np.column_stack([X, X[:, 0]])) - single.predict(X)).max() < 0.05


def test_learned_hyperparameters_maximise_the_evidence():
    X, y = regression(60, 5, 0.5)
    fit = ExactSpikeSlab().fit(X, y)
    best = {
        "noise_variance": fit.noise_variance_,
        "slab_variance": fit.slab_variance_,
        "prior_inclusion": fit.prior_inclusion_,
    }
    assert ExactSpikeSlab(**best).fit(X, y).log_evidence_ == pytest.approx(fit.log_evidence_)
    for name, value in best.items():
        for factor in (0.95, 1.05):
            moved = ExactSpikeSlab(**(best | {name: value * factor})).fit(X, y)
            assert moved.log_evidence_ < fit.log_evidence_


def test_given_hyperparameters_are_kept():
    X, y = regression()
    fit = ExactSpikeSlab(slab_variance=0.3).fit(X, y)
    assert fit.slab_variance_ == 0.3
    assert fit.noise_variance_ != pytest.approx(0.1 * y.var())


def test_inclusion_does_not_depend_on_units():
    X, y = regression(correlation=0.5)
    fit, scaled = ExactSpikeSlab().fit(X, y), ExactSpikeSlab().fit(1000 * X, 0.01 * y)
    assert_allclose(scaled.inclusion_, fit.inclusion_, atol=1e-3)
    assert_allclose(scaled.coef_ * 1e5, fit.coef_, atol=1e-3)


def test_too_many_features():
    X, y = regression(30, 21)
    with pytest.raises(ValueError, match="X has 21 features"):
        ExactSpikeSlab(**HYPER).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value"),
    [("noise_variance", 0.0), ("noise_variance", np.inf), ("slab_variance", -1.0), ("prior_inclusion", 1.0)],
)
def test_bad_hyperparameters(name, value):
    with pytest.raises(ValueError, match=f"{name}={value!r} must be"):
        ExactSpikeSlab(**{name: value}).fit(*regression())
