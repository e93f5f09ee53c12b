"""The Gibbs sampler against exact enumeration, and its compiled sweep against the plain one."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp
from sklearn.utils.estimator_checks import parametrize_with_checks
from spike_slab_oracle import HYPER, regression

from garrote import ExactSpikeSlab, SpikeSlabGibbs, _plain, progress
from garrote.comparators import gibbs
from garrote.comparators.exact import eliminate, log_joint, subset_means
from garrote.comparators.spike_slab import GivenHyperparameters, Hyperparameters, centred


@parametrize_with_checks([SpikeSlabGibbs(n_draws=50, n_burn_in=20, n_chains=2)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("correlation", [0.0, 0.6, 0.9])
@pytest.mark.parametrize("shape", [(40, 6), (60, 12), (8, 10)])
def test_inclusion_is_exact_within_monte_carlo_error(shape, correlation):
    X, y = regression(*shape, correlation)
    exact = ExactSpikeSlab(**HYPER).fit(X, y)
    fit = SpikeSlabGibbs(**HYPER, n_chains=16, n_draws=1500, random_state=0).fit(X, y)
    chains = fit.chain_inclusion_
    error = chains.std(axis=0, ddof=1) / np.sqrt(len(chains))
    assert error.max() < 0.03  # otherwise the comparison says nothing
    assert (np.abs(fit.inclusion_ - exact.inclusion_) < 4 * error + 1e-4).all()
    draws = fit.draws_.coef
    coef_error = draws.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(len(chains))
    assert (np.abs(fit.coef_ - exact.coef_) < 4 * coef_error + 1e-4).all()
    assert_allclose(fit.slab_coef_ * fit.inclusion_, fit.coef_)
    # Averages of the raw draws agree with the Rao-Blackwell ones.
    assert_allclose((draws != 0).mean(axis=(0, 1)), fit.inclusion_, atol=0.03)


def test_sampled_hyperparameters_follow_their_posterior():
    """With two features p(σ², σ_w², π | y) can be had on a grid, from exact evidences and the priors."""
    X, y = regression(30, 2, 0.5)
    data = centred(X, y, np.ones(30))

    def log_scaled_inverse_chi2(x, scale):  # one degree of freedom, with respect to log x
        return -0.5 * np.log(x) - scale / (2 * x)

    noises = y.var() * np.geomspace(0.1, 5, 20)
    slabs = data.weight_scale**2 * np.geomspace(1e-3, 1e5, 40)
    priors = np.linspace(0.05, 0.95, 10)
    weight = np.empty((20, 40, 10))
    inclusion = np.empty((20, 40, 10, 2))
    for i, j, k in np.ndindex(weight.shape):
        weight[i, j, k], inclusion[i, j, k] = _exact(data, noises[i], slabs[j], priors[k])
    weight += log_scaled_inverse_chi2(noises, data.y_variance)[:, None, None]
    weight += log_scaled_inverse_chi2(slabs, data.weight_scale**2)[None, :, None]
    weight = np.exp(weight - weight.max())
    weight /= weight.sum()
    fit = SpikeSlabGibbs(n_chains=8, n_draws=5000, random_state=0).fit(X, y)
    assert fit.noise_variance_ == pytest.approx(weight.sum(axis=(1, 2)) @ noises, rel=0.03)
    assert fit.prior_inclusion_ == pytest.approx(weight.sum(axis=(0, 1)) @ priors, abs=0.02)
    log_slab = np.log(fit.draws_.slab_variance).mean()
    assert log_slab == pytest.approx(weight.sum(axis=(0, 2)) @ np.log(slabs), abs=0.15)
    assert_allclose(fit.inclusion_, np.einsum("ijk,ijkf->f", weight, inclusion), atol=0.02)


def _exact(data, noise, slab, prior):
    """Log evidence and inclusion at given hyperparameters, for centred data."""
    tree = eliminate(data, noise / slab)
    joint = log_joint(tree, Hyperparameters(noise, slab, prior), data.n_samples)
    total = logsumexp(joint)
    return total, subset_means(tree.rows, np.exp(joint - total))[0]


def test_compiled_sweep_gives_the_same_chain(monkeypatch):
    fast = pytest.importorskip("garrote._fast", reason="the extension was not built")
    X, y = regression(30, 10, 0.7)
    chains = []
    for sweep in (fast.gibbs_sweep, _plain.gibbs_sweep):
        monkeypatch.setattr(gibbs, "gibbs_sweep", sweep)
        chains.append(SpikeSlabGibbs(n_draws=100, n_burn_in=10, n_chains=2, random_state=5).fit(X, y))
    for compiled, plain in zip(chains[0].draws_, chains[1].draws_, strict=True):
        assert_allclose(compiled, plain, rtol=1e-6, atol=1e-9)
    assert_allclose(chains[0].inclusion_, chains[1].inclusion_, rtol=1e-6)


def test_residual_stays_in_step():
    X, y = regression(30, 10, 0.7)
    data = centred(X, y, np.ones(30))
    hyper = Hyperparameters(**HYPER)
    tau = hyper.slab_posterior_variance(data.sq_norms)
    rng = np.random.default_rng(0)
    v, inclusion, mean, residual = np.zeros(10), np.empty(10), np.empty(10), data.y.copy()
    for _ in range(50):
        gibbs.gibbs_sweep(
            data.X, data.sq_norms, tau, hyper.log_odds_bias(tau), hyper.noise_variance,
            residual, v, inclusion, mean, rng.random(10), rng.standard_normal(10),
        )  # fmt: skip
    assert_allclose(residual, data.y - data.X @ v, atol=1e-11)


def test_seed_decides_the_chains_and_threads_do_not():
    X, y = regression()
    short = {"n_draws": 50, "n_burn_in": 10}
    fits = [SpikeSlabGibbs(**short, random_state=3, n_jobs=n_jobs).fit(X, y) for n_jobs in (None, 2)]
    assert_allclose(fits[0].draws_.coef, fits[1].draws_.coef)
    assert np.ptp(fits[0].draws_.coef, axis=0).any()
    other = SpikeSlabGibbs(**short, random_state=4).fit(X, y)
    assert not np.array_equal(other.draws_.coef, fits[0].draws_.coef)


def test_given_hyperparameters_are_kept():
    fit = SpikeSlabGibbs(noise_variance=0.7, n_draws=50, random_state=0).fit(*regression())
    assert (fit.draws_.noise_variance == 0.7).all()
    assert np.ptp(fit.draws_.slab_variance) > 0
    assert np.ptp(fit.draws_.prior_inclusion) > 0


def test_proper_posterior_when_features_outnumber_samples():
    fit = SpikeSlabGibbs(n_draws=500, random_state=0).fit(*regression(8, 30))
    assert fit.draws_.noise_variance.min() > 1e-4


def test_hyperparameter_draws_have_their_conditional_means():
    X, y = regression(30, 6)
    data = centred(X, y, np.ones(30))
    rng = np.random.default_rng(0)
    v = np.array([0.5, 0.0, -1.0, 0.0, 0.3, 0.2])
    residual = data.y - data.X @ v
    given = GivenHyperparameters(None, None, None)
    draws = np.array([gibbs.draw_hyperparameters(rng, given, data, residual, v) for _ in range(20_000)])
    # Inverse-χ² means are scale/(degrees − 2), Beta(a, b) means a/(a + b).
    assert draws[:, 0].mean() == pytest.approx((data.y_variance + residual @ residual) / 29, rel=0.02)
    assert (1 / draws[:, 1]).mean() == pytest.approx(5 / (data.weight_scale**2 + v @ v), rel=0.02)
    assert draws[:, 2].mean() == pytest.approx(5 / 8, rel=0.02)


def test_diagnostics_through_arviz():
    pytest.importorskip("arviz", reason="garrote[gibbs] is not installed")
    fit = SpikeSlabGibbs(noise_variance=0.8, n_draws=500, random_state=0).fit(*regression())
    diagnostics = fit.diagnostics()
    assert set(diagnostics["r_hat"]) == {"coef", "included", "slab_variance", "prior_inclusion"}
    assert diagnostics["r_hat"]["coef"].shape == (6,)
    assert np.nanmax(diagnostics["r_hat"]["coef"]) < 1.05
    assert np.nanmin(diagnostics["ess"]["coef"]) > 100


def test_missing_arviz_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz", None)
    fit = SpikeSlabGibbs(n_draws=5, n_burn_in=1, random_state=0).fit(*regression())
    with pytest.raises(ImportError, match=r"pip install 'garrote\[gibbs\]'"):
        fit.diagnostics()


def test_progress_only_for_long_runs_at_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    short = SpikeSlabGibbs(n_draws=20, n_burn_in=1, n_chains=1, random_state=0)
    short.fit(*regression())
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    short.fit(*regression())
    shown = capsys.readouterr()
    assert "Gibbs" in shown.err
    assert shown.out == ""


@pytest.mark.parametrize("name", ["n_draws", "n_burn_in", "n_chains"])
def test_bad_counts(name):
    with pytest.raises(ValueError, match=f"{name}=0 must be a whole number"):
        SpikeSlabGibbs(**{name: 0}).fit(*regression())
