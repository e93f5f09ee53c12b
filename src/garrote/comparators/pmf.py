"""Paired mean field (PMF): the variational spike-and-slab of Titsias & Lázaro-Gredilla.

The posterior is approximated by q(w, s) = Π_i q_i(w_i, s_i) (Eq. pmf), weight and selector paired:

    q_i(s_i = 1) = m_i,   q_i(w_i | s_i = 1) = N(w_i, τ_i),   q_i(w_i | s_i = 0) = N(0, σ_w²), the prior.

EM alternates one sweep over the features (E-step) with the optimal σ², π, σ_w² (M-step). Each step can only
raise the bound on the log evidence.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.special import xlog1py, xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from garrote._loops import pmf_sweep
from garrote.arrays import Array
from garrote.base import all_at_once
from garrote.comparators.spike_slab import (
    INCLUSION_FLOOR,
    NOISE_SHARE_FLOOR,
    GivenHyperparameters,
    Hyperparameters,
    Regression,
    SpikeSlabRegressor,
    check_count,
)

# ---- starting points --------------------------------------------------------------------------------------

#: Draws a starting point (m, w) for a number of features, w in units of sd(y)/sd(x).
Start = Callable[[int, np.random.RandomState], tuple[Array, Array]]


def even_start(n_features: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Undecided: m = ½ + 0.001 N(0, 1), w = 0.1 N(0, 1)."""
    return 0.5 + 0.001 * rng.standard_normal(n_features), 0.1 * rng.standard_normal(n_features)


def soft_start(n_features: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """m uniform between 0 and 1, w = 0.1 N(0, 1)."""
    return rng.uniform(size=n_features), 0.1 * rng.standard_normal(n_features)


def extreme_start(n_features: int, rng: np.random.RandomState) -> tuple[Array, Array]:
    """Each m either 0 or 1, w = 0.1 N(0, 1)."""
    return rng.randint(2, size=n_features).astype(float), 0.1 * rng.standard_normal(n_features)


# ---- the approximation -------------------------------------------------------------------------------------


class PairedPosterior(NamedTuple):
    """The factors q_i(w_i, s_i), with the residual y − X(m∘w) of their mean."""

    m: Array
    w: Array
    tau: Array
    residual: Array

    @property
    def second_moment(self) -> Array:
        """E[s_i w_i²] = m_i (w_i² + τ_i)."""
        return self.m * (self.w**2 + self.tau)


def expected_rss(q: PairedPosterior, sq_norms: Array) -> float:
    """E‖y − X(s∘w)‖² = ‖y − X(m∘w)‖² + Σ_i ‖x_i‖² var(s_i w_i)."""
    return float(q.residual @ q.residual + sq_norms @ (q.second_moment - (q.m * q.w) ** 2))


def evidence_bound(q: PairedPosterior, hyper: Hyperparameters, sq_norms: Array, n_samples: float) -> float:
    """E_q[log p(y, w, s)] + entropy of q ≤ log p(y | σ², σ_w², π).

    The likelihood gives −(n_samples/2) log 2πσ² − E‖y − X(s∘w)‖²/(2σ²); each feature takes off
    KL(q(s_i) ‖ π) + m_i KL(N(w_i, τ_i) ‖ N(0, σ_w²)).
    """
    noise, slab, prior = hyper
    likelihood = -0.5 * n_samples * np.log(2 * np.pi * noise) - expected_rss(q, sq_norms) / (2 * noise)
    kl_selectors = np.sum(xlogy(q.m, q.m) + xlog1py(1 - q.m, -q.m) - q.m * np.log(prior) - (1 - q.m) * np.log1p(-prior))
    kl_weights = 0.5 * (q.second_moment.sum() / slab - q.m @ (1 + np.log(q.tau / slab)))
    return float(likelihood - kl_selectors - kl_weights)


def m_step(q: PairedPosterior, given: GivenHyperparameters, data: Regression) -> Hyperparameters:
    """The hyperparameters that maximise the bound at q, where they are not given.

    σ² = E‖y − X(s∘w)‖²/n_samples, σ_w² = Σ E[s_i w_i²]/Σ m_i, π = mean m_i. The bound is unimodal in each, so
    keeping σ² and π off their floors does not make it fall.
    """
    noise = expected_rss(q, data.sq_norms) / data.n_samples
    return given.override(
        Hyperparameters(
            noise_variance=max(noise, NOISE_SHARE_FLOOR * data.y_variance),
            slab_variance=float(q.second_moment.sum() / q.m.sum()),
            prior_inclusion=float(np.clip(q.m.mean(), INCLUSION_FLOOR, 1 - INCLUSION_FLOOR)),
        )
    )


class PairedMeanFieldFit(NamedTuple):
    """Where EM arrived from one start."""

    q: PairedPosterior
    hyper: Hyperparameters
    #: The bound after every iteration.
    bounds: Array
    #: The largest change in the last sweep, of m or of a feature's contribution relative to ‖y‖.
    change: float


def paired_mean_field(
    data: Regression,
    given: GivenHyperparameters,
    start: tuple[Array, Array],
    *,
    max_iter: int,
    tol: float,
) -> PairedMeanFieldFit:
    """EM from the start (m, w), until an iteration changes nothing by more than ``tol``, or ``max_iter``."""
    m, w = (np.array(part, dtype=np.float64) for part in start)
    residual = data.y - data.X @ (m * w)
    hyper = given.start(data)
    # How far a unit of v_i moves the fit, relative to y.
    leverage = np.sqrt(data.sq_norms / (data.n_samples * data.y_variance))
    bounds = []
    for _ in range(max_iter):
        before_m, before_v = m.copy(), m * w
        tau = hyper.slab_posterior_variance(data.sq_norms)
        bias = hyper.log_odds_bias(tau)
        pmf_sweep(data.X, data.sq_norms, tau, bias, hyper.noise_variance, residual, m, w)
        q = PairedPosterior(m, w, tau, residual)
        hyper = m_step(q, given, data)
        bounds.append(evidence_bound(q, hyper, data.sq_norms, data.n_samples))
        change = max(np.abs(m - before_m).max(), (leverage * np.abs(m * w - before_v)).max())
        if change <= tol:
            break
    return PairedMeanFieldFit(q, hyper, np.array(bounds), float(change))


# ---- the estimator ----------------------------------------------------------------------------------------


class PairedMeanField(SpikeSlabRegressor):
    """Spike-and-slab regression by paired mean field.

    The slab has one variance for all features, so unlike the Variational Garrote the answer depends on the
    columns' scales: standardise X first. On strongly correlated inputs the bound has several local maxima;
    ``n_init`` restarts keep the best.

    Parameters
    ----------
    noise_variance : float or None, default=None
        σ². A number is held fixed; None learns it by EM, from a tenth of the variance of y.
    slab_variance : float or None, default=None
        σ_w². A number is held fixed; None learns it by EM, from twice var(y)/var(x).
    prior_inclusion : float or None, default=None
        π. A number is held fixed; None learns it by EM, from ½.
    init : callable or tuple of two arrays, default=even_start
        Where to start: ``init(n_features, random_state)`` returns (m, w), w in units of sd(y)/sd(x), as
        :func:`~garrote.comparators.even_start`, :func:`~garrote.comparators.soft_start` and
        :func:`~garrote.comparators.extreme_start` do; or the arrays m and w themselves.
    n_init : int, default=1
        Number of starts; the one with the highest bound is kept.
    max_iter : int, default=1000
        Most EM iterations from one start.
    tol : float, default=1e-6
        EM stops when an iteration changes every m, and every feature's share of the fit, by at most this.
    random_state : int, RandomState or None, default=None
        Draws the starts.

    Attributes
    ----------
    inclusion_ : ndarray of shape (n_features,)
        m, the approximate posterior probability of each feature.
    coef_ : ndarray of shape (n_features,)
        The approximate posterior mean, m∘w.
    slab_coef_, slab_coef_variance_ : ndarray of shape (n_features,)
        w and τ, the mean and variance of the weight given that the feature is included.
    intercept_ : float
    noise_variance_, slab_variance_, prior_inclusion_ : float
        The hyperparameters, given or learned.
    bound_ : float
        The lower bound on the log evidence.
    bound_path_ : ndarray of shape (n_iter_,)
        The bound after every iteration of the kept start; it never falls.
    restart_bounds_ : ndarray of shape (n_init,)
        The final bound from each start.
    n_iter_ : int
        Iterations of the kept start.
    """

    def __init__(
        self,
        *,
        noise_variance: float | None = None,
        slab_variance: float | None = None,
        prior_inclusion: float | None = None,
        init: Start | tuple[Array, Array] = even_start,
        n_init: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.noise_variance = noise_variance
        self.slab_variance = slab_variance
        self.prior_inclusion = prior_inclusion
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PairedMeanField:
        """Fit to X (n_samples, n_features) and y; a weight counts how often its sample was seen."""
        given = self._given()
        check_count("n_init", self.n_init)
        check_count("max_iter", self.max_iter)
        data = self._regression(X, y, sample_weight)
        rng = check_random_state(self.random_state)
        fits = [
            paired_mean_field(data, given, self._start(data, rng), max_iter=self.max_iter, tol=self.tol)
            for _ in range(self.n_init)
        ]
        best = max(fits, key=lambda fit: fit.bounds[-1])
        if best.change > self.tol:
            warnings.warn(
                f"PairedMeanField changed by {best.change:.2g} in its last iteration (tol={self.tol:g}, "
                f"max_iter={self.max_iter}); increase max_iter.",
                ConvergenceWarning,
                stacklevel=2,
            )
        q = best.q
        self._set_solution(data, best.hyper, q.m, q.m * q.w, q.w)
        self.slab_coef_variance_ = q.tau
        self.bound_path_ = best.bounds
        self.bound_ = float(best.bounds[-1])
        self.restart_bounds_ = np.array([fit.bounds[-1] for fit in fits])
        self.n_iter_ = len(best.bounds)
        return self

    def _start(self, data: Regression, rng: np.random.RandomState) -> tuple[Array, Array]:
        """A start drawn from ``init``, or the one it holds."""
        n_features = data.sq_norms.size
        if callable(self.init):
            m, w = self.init(n_features, rng)
            w = data.weight_scale * np.asarray(w, dtype=np.float64)
        else:
            m, w = (np.asarray(part, dtype=np.float64) for part in self.init)
        if np.shape(m) != (n_features,) or np.shape(w) != (n_features,):
            raise ValueError(
                f"init gives m of shape {np.shape(m)} and w of shape {np.shape(w)}; both must be "
                f"({n_features},), one number per feature."
            )
        if np.min(m) < 0 or np.max(m) > 1:
            raise ValueError(f"init gives m between {np.min(m):g} and {np.max(m):g}; probabilities must lie in [0, 1].")
        return m, w
