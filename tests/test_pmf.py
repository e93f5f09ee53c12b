"""Paired mean field: its bound, its fixed point, its local optima, and the paper's rows."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.estimator_checks import parametrize_with_checks
from spike_slab_oracle import HYPER, regression

from garrote import ExactSpikeSlab, PairedMeanField, _loops, _plain
from garrote.comparators import even_start, extreme_start, soft_start
from garrote.comparators.pmf import PairedPosterior, evidence_bound
from garrote.comparators.spike_slab import Hyperparameters, centred
from garrote.datasets import example2


class SoftStart:
    """``soft_start`` whose name holds no address, so that the tests have the same names in every process."""

    def __call__(self, n_features, rng):
        return soft_start(n_features, rng)

    def __repr__(self):
        return "soft_start"


@parametrize_with_checks([PairedMeanField(), PairedMeanField(n_init=3, init=SoftStart(), slab_variance=1.0)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def bound_at(X, y, fit, m=None, w=None, tau=None, **hyper):
    """The bound of a fit, with some of its variables replaced."""
    data = centred(X, y, np.ones(len(y)))
    m = fit.inclusion_ if m is None else m
    w = fit.slab_coef_ if w is None else w
    tau = fit.slab_coef_variance_ if tau is None else tau
    values = Hyperparameters(fit.noise_variance_, fit.slab_variance_, fit.prior_inclusion_)._replace(**hyper)
    q = PairedPosterior(m, w, tau, data.y - data.X @ (m * w))
    return evidence_bound(q, values, data.sq_norms, data.n_samples)


def monte_carlo_bound(X, y, fit, n_draws=200_000):
    """E_q[log p(y, w, s) − log q(w, s)] by sampling q: mean and standard error."""
    rng = np.random.default_rng(0)
    X, y = X - X.mean(axis=0), y - y.mean()
    noise, slab, prior = fit.noise_variance_, fit.slab_variance_, fit.prior_inclusion_
    m, w, tau = fit.inclusion_, fit.slab_coef_, fit.slab_coef_variance_
    s = rng.random((n_draws, m.size)) < m
    z = w + np.sqrt(tau) * rng.standard_normal((n_draws, m.size))
    rss = ((y - (s * z) @ X.T) ** 2).sum(axis=1)
    value = -0.5 * y.size * np.log(2 * np.pi * noise) - rss / (2 * noise)
    on = np.log(prior / m) - 0.5 * np.log(slab / tau) - z**2 / (2 * slab) + (z - w) ** 2 / (2 * tau)
    value += np.where(s, on, np.log((1 - prior) / (1 - m))).sum(axis=1)
    return value.mean(), value.std() / np.sqrt(n_draws)


def test_bound_is_the_expectation_it_claims_to_be():
    X, y = regression(correlation=0.7)
    fit = PairedMeanField(**HYPER, random_state=0).fit(X, y)
    mean, error = monte_carlo_bound(X, y, fit)
    assert abs(fit.bound_ - mean) < 4 * error
    assert bound_at(X, y, fit) == pytest.approx(fit.bound_, abs=1e-8)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("shape", [(40, 8), (10, 12)])
def test_bound_is_below_the_exact_evidence(shape, correlation):
    X, y = regression(*shape, correlation)
    exact = ExactSpikeSlab(**HYPER).fit(X, y).log_evidence_
    fit = PairedMeanField(**HYPER, n_init=5, init=soft_start, random_state=0).fit(X, y)
    assert fit.bound_ < exact
    assert exact - fit.bound_ < 5


def test_bound_is_exact_for_one_feature():
    X, y = regression(n_features=1)
    exact = ExactSpikeSlab(**HYPER).fit(X, y)
    fit = PairedMeanField(**HYPER, tol=1e-12, random_state=0).fit(X, y)
    assert fit.bound_ == pytest.approx(exact.log_evidence_, abs=1e-10)
    assert_allclose(fit.inclusion_, exact.inclusion_)


@pytest.mark.parametrize("init", [even_start, soft_start, extreme_start])
@pytest.mark.parametrize("shape", [(40, 8), (30, 60), (200, 5)])
def test_bound_never_falls(init, shape):
    fit = PairedMeanField(init=init, random_state=1).fit(*regression(*shape, 0.9))
    assert np.diff(fit.bound_path_).min() > -1e-9 * abs(fit.bound_)
    assert fit.bound_path_[-1] == fit.bound_
    assert fit.n_iter_ == fit.bound_path_.size


@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_fixed_point_by_differences(correlation):
    X, y = regression(60, 5, correlation, seed=2)
    fit = PairedMeanField(tol=1e-13, max_iter=20_000, random_state=0).fit(X, y)

    def slope(name, value, i=None):
        step = 1e-6 if i is None else 1e-6 * min(abs(value[i]), 1 - value[i] if name == "m" else np.inf)
        ends = []
        for sign in (1, -1):
            moved = np.array(value, dtype=float)
            moved[... if i is None else i] += sign * step
            ends.append(bound_at(X, y, fit, **{name: moved if i is not None else float(moved)}))
        # The slope in units of the variable's own size, so that one tolerance serves all.
        return (ends[0] - ends[1]) / 2e-6

    for i in range(5):
        assert slope("m", fit.inclusion_, i) == pytest.approx(0, abs=1e-4)
        assert slope("w", fit.slab_coef_, i) == pytest.approx(0, abs=1e-4)
        assert slope("tau", fit.slab_coef_variance_, i) == pytest.approx(0, abs=1e-4)
    for name in HYPER:
        assert slope(name, getattr(fit, f"{name}_")) == pytest.approx(0, abs=1e-4)


def test_given_hyperparameters_are_kept():
    fit = PairedMeanField(**HYPER, random_state=0).fit(*regression())
    assert {name: getattr(fit, f"{name}_") for name in HYPER} == HYPER


def test_two_local_optima_on_strongly_correlated_inputs():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    X = np.column_stack([x, x]) + 0.02 * rng.standard_normal((100, 2))
    y = X[:, 0] + 0.5 * rng.standard_normal(100)
    fixed = {"noise_variance": 0.25, "slab_variance": 1.0, "prior_inclusion": 0.1}

    def wide_start(n_features, rng):
        return rng.uniform(size=n_features), rng.standard_normal(n_features)

    fits = [PairedMeanField(**fixed, init=wide_start, random_state=seed).fit(X, y) for seed in range(30)]
    # Each start ends with one of the twins in and the other out; the posterior itself shares between them.
    assert {tuple(fit.inclusion_ > 0.5) for fit in fits} == {(True, False), (False, True)}
    assert all(max(fit.inclusion_) > 0.99 and min(fit.inclusion_) < 0.05 for fit in fits)
    assert ExactSpikeSlab(**fixed).fit(X, y).inclusion_.max() < 0.8
    bounds = {round(fit.bound_, 3) for fit in fits}
    assert len(bounds) == 2
    many = PairedMeanField(**fixed, init=wide_start, n_init=30, random_state=0).fit(X, y)
    assert many.bound_ == many.restart_bounds_.max()
    assert round(many.bound_, 3) == max(bounds)


def test_given_start_decides_the_optimum():
    X, y = regression(correlation=0.3)
    first = PairedMeanField(**HYPER, random_state=0).fit(X, y)
    again = PairedMeanField(**HYPER, init=(first.inclusion_, first.slab_coef_)).fit(X, y)
    assert again.n_iter_ == 1
    assert_allclose(again.coef_, first.coef_, atol=1e-5)


@pytest.mark.parametrize("shape", [(30, 12), (12, 30), (200, 4)])
def test_compiled_sweep_equals_the_plain_one(shape):
    fast = pytest.importorskip("garrote._fast", reason="the extension was not built")
    X, y = regression(*shape, 0.6)
    data = centred(X, y, np.ones(len(y)))
    hyper = Hyperparameters(**HYPER)
    tau = hyper.slab_posterior_variance(data.sq_norms)
    states = []
    for sweep in (_plain.pmf_sweep, fast.pmf_sweep):
        m, w = even_start(shape[1], np.random.RandomState(0))
        residual = data.y - data.X @ (m * w)
        for _ in range(5):
            sweep(data.X, data.sq_norms, tau, hyper.log_odds_bias(tau), hyper.noise_variance, residual, m, w)
        assert_allclose(residual, data.y - data.X @ (m * w), atol=1e-12)
        states.append((m, w))
    assert_allclose(states[0], states[1], rtol=1e-9, atol=1e-12)


def test_loops_are_one_of_the_two():
    expected = "garrote._fast" if _loops.COMPILED else "garrote._plain"
    assert _loops.pmf_sweep.__module__ == expected


def test_inclusion_does_not_depend_on_units():
    X, y = regression(correlation=0.5)
    fit = PairedMeanField(random_state=0).fit(X, y)
    scaled = PairedMeanField(random_state=0).fit(1000 * X, 0.01 * y)
    assert_allclose(scaled.inclusion_, fit.inclusion_, rtol=1e-6)
    assert_allclose(1e5 * scaled.coef_, fit.coef_, rtol=1e-6, atol=1e-9)
    assert scaled.bound_ == pytest.approx(fit.bound_ - len(y) * np.log(0.01))


def test_sparse_input_is_the_same_problem():
    X, y = regression()
    X = np.where(np.abs(X - 2) < 0.5, 0.0, X)
    dense, sparse = (PairedMeanField(random_state=0).fit(data, y) for data in (X, csr_matrix(X)))
    assert_allclose(sparse.coef_, dense.coef_)


def test_constant_response_selects_nothing():
    X, _ = regression()
    fit = PairedMeanField(random_state=0).fit(X, np.full(40, 3.0))
    assert_allclose(fit.coef_, 0, atol=1e-12)
    assert_allclose(fit.predict(X), 3.0)


def test_unfinished_fit_warns_with_its_numbers():
    with pytest.warns(ConvergenceWarning, match=r"changed by .* in its last .*tol=1e-06, max_iter=2"):
        PairedMeanField(max_iter=2, random_state=0).fit(*regression(correlation=0.9))


def test_bad_starts():
    X, y = regression()
    with pytest.raises(ValueError, match=r"m of shape \(2,\) and w of shape \(6,\); both must be \(6,\)"):
        PairedMeanField(init=(np.ones(2), np.ones(6))).fit(X, y)
    with pytest.raises(ValueError, match=r"m between 0 and 2; probabilities"):
        PairedMeanField(init=(np.linspace(0, 2, 6), np.ones(6))).fit(X, y)
    with pytest.raises(ValueError, match="n_init=0 must be a whole number"):
        PairedMeanField(n_init=0).fit(X, y)
    with pytest.raises(ValueError, match="slab_variance=inf must be a finite"):
        PairedMeanField(slab_variance=np.inf).fit(X, y)


def test_three_hundred_sweeps_change_nothing():
    """The paper stopped PMF after 300 sweeps; the tolerance stops earlier, at the same place."""
    X, y = example2(np.random.default_rng(0)).merged
    fit = PairedMeanField(random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        longer = PairedMeanField(max_iter=300, tol=0, random_state=0).fit(X, y)
    assert_allclose(fit.coef_, longer.coef_, atol=1e-5)
    assert_allclose(fit.inclusion_, longer.inclusion_, atol=1e-4)
