"""The Variational Garrote (VG) in one dimension, and its exact counterpart for orthogonal inputs.

Everything here is a pure function of the squared correlation ``rho`` = b²/σ_y², the sparsity ``gamma``, the
number of samples and ``delta``, the share of the variance that other, orthogonal features explain. Labels
such as *univ1* are those of the paper's equations.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit, xlog1py, xlogy

from garrote.arrays import Array

__all__ = [
    "OrthogonalMAP",
    "UnivariateSolutions",
    "coexistence_gammas",
    "fixed_point_map",
    "gamma_star",
    "gamma_star_large_sample",
    "garrote_shrinkage",
    "lasso_shrinkage",
    "orthogonal_map",
    "orthogonal_mode",
    "rho_star",
    "rho_star_large_sample",
    "ridge_shrinkage",
    "switch_gammas",
    "touching_points",
    "univariate_free_energy",
    "univariate_solutions",
    "vg_shrinkage",
]

# ---- the univariate fixed point ----------------------------------------------------------------------------


def fixed_point_map(m: Any, rho: float, gamma: float, n_samples: float, delta: float = 0.0) -> Any:
    """f(m) = σ(γ + (n_samples/2) ρ/(1 − δ − ρ m)), whose fixed points solve the univariate VG (Eq. univ1)."""
    return expit(gamma + _evidence(m, rho, n_samples, delta))


def univariate_free_energy(m: Any, rho: float, gamma: float, n_samples: float, delta: float = 0.0) -> Any:
    """F(m) = (n_samples/2) log(1 − δ − ρ m) − γ m + m log m + (1 − m) log(1 − m).

    This is F (Eq. F) with w and β at their optimum (Eqs. v and univ2), less the constant
    (n_samples/2)(1 + log 2πσ_y²). F′(m) = 0 is f(m) = m.
    """
    m = np.asarray(m, dtype=np.float64)
    negative_entropy = xlogy(m, m) + xlog1py(1 - m, -m)
    return n_samples / 2 * np.log1p(-delta - rho * m) - gamma * m + negative_entropy


class UnivariateSolutions(NamedTuple):
    """The solutions of f(m) = m at one (ρ, γ): one, or three of which the middle one is a maximum of F."""

    #: The solutions, ascending.
    m: Array
    #: F at each of them, up to the constant of :func:`univariate_free_energy`.
    free_energy: Array

    @property
    def minimum(self) -> float:
        """The solution of lowest free energy: the VG's answer."""
        return float(self.m[np.argmin(self.free_energy)])

    @property
    def stable(self) -> Array:
        """The local minima of F: one solution, or the two that coexist."""
        return self.m[::2]


def univariate_solutions(rho: float, gamma: float, n_samples: float, delta: float = 0.0) -> UnivariateSolutions:
    """All solutions of m = f(m) (Eq. univ1).

    In t = logit m the equation is h(t) = t − γ − (n_samples/2) ρ/(1 − δ − ρ σ(t)) = 0. h can only turn where
    f′(m) = 1, at the points of Eq. apendix_univ1, so between those each sign change brackets one solution.
    """
    _check_correlation(rho, delta)

    def h(t: float) -> float:
        noise = (1 - delta - rho) + rho * expit(-t)  # 1 − δ − ρ m, whose digits m → 1 would lose
        return t - gamma - n_samples / 2 * rho / noise

    # Every solution lies between f(0) and f(1); 1 more on each side keeps h clear of rounding.
    lowest = gamma + float(_evidence(0.0, rho, n_samples, delta)) - 1
    highest = gamma + float(_evidence(1.0, rho, n_samples, delta)) + 1
    turns = _logit_touching_points(rho, n_samples, delta)
    edges = [lowest, *(t for t in turns if lowest < t < highest), highest]
    roots = [_root(h, low, high) for low, high in pairwise(edges)]
    m = expit(np.array([t for t in roots if t is not None]))
    return UnivariateSolutions(m, univariate_free_energy(m, rho, gamma, n_samples, delta))


def _root(h: Any, low: float, high: float) -> float | None:
    """The zero of h in [low, high], where h is monotone; None when it does not change sign."""
    at_low, at_high = h(low), h(high)
    if np.sign(at_low) == np.sign(at_high):
        return None
    return float(brentq(h, low, high, xtol=1e-14, rtol=1e-15))


def _evidence(m: Any, rho: float, n_samples: float, delta: float) -> Any:
    """(β n_samples/2) b² = (n_samples/2) ρ/(1 − δ − ρ m): what the data say for the feature (Eq. univ2)."""
    return n_samples / 2 * rho / (1 - delta - rho * np.asarray(m, dtype=np.float64))


def _check_correlation(rho: float, delta: float) -> None:
    if not 0 <= rho < 1 - delta:
        raise ValueError(
            f"rho={rho:g} must lie in [0, 1 - delta) = [0, {1 - delta:g}): a feature explains at most "
            "what the others leave over."
        )


# ---- the phase diagram (appendix A) ------------------------------------------------------------------------


def touching_points(rho: float, n_samples: float, delta: float = 0.0) -> Array:
    """The m at which f(m) = m and f′(m) = 1 can hold together, ascending: none, one or two (m₁, m₂).

    They solve (1 + n_samples/2) ρ² m² − (2ρ(1 − δ) + (n_samples/2) ρ²) m + (1 − δ)² = 0 (Eq. apendix_univ1).
    """
    _check_correlation(rho, delta)
    excess = rho - rho_star(n_samples, delta)
    if excess < 0:
        return np.empty(0)
    rest = 1 - delta
    half = n_samples / 2
    a = (1 + half) * rho**2
    b = 2 * rho * rest + half * rho**2
    # D = b² − 4a(1 − δ)², in the factored form of Eq. rhostar: no cancellation near the critical point.
    root_d = np.sqrt(half * rho**2 * excess * (half * rho + 2 * rest + 2 * rest * np.sqrt(1 + half)))
    if root_d == 0:
        return np.array([b / (2 * a)])
    # The two roots multiply to (1 − δ)²/a, which gives the smaller one without subtracting.
    return np.array([2 * rest**2 / (b + root_d), (b + root_d) / (2 * a)])


def _logit_touching_points(rho: float, n_samples: float, delta: float) -> Array:
    """Their logits, also where m₂ rounds to 1: (1 − m₁)(1 − m₂) = (1 − δ − ρ)²/((1 + n_samples/2) ρ²)."""
    m = touching_points(rho, n_samples, delta)
    if m.size < 2:
        return logit(m)
    rest = (1 - delta - rho) ** 2 / ((1 + n_samples / 2) * rho**2 * (1 - m[0]))
    return np.array([logit(m[0]), np.log(m[1] / rest)])


def coexistence_gammas(rho: float, n_samples: float, delta: float = 0.0) -> tuple[float, float]:
    """(γ₂, γ₁), γ₂ < γ₁: between them the solutions m ≈ 0 and m ≈ 1 are both stable (Eq. appendix_univ2).

    γ_i = logit m_i − (n_samples/2) ρ/(1 − δ − ρ m_i) at the touching points m₁ < m₂. Following the solution
    upwards in γ it jumps at γ₁, downwards at γ₂: hysteresis.
    """
    m = touching_points(rho, n_samples, delta)
    if not m.size:
        raise ValueError(
            f"rho={rho:g} is below rho_star={rho_star(n_samples, delta):g}: the solution is unique at every "
            "gamma, so there is no range of coexistence."
        )
    t = _logit_touching_points(rho, n_samples, delta)
    gamma = t - n_samples / 2 * rho / ((1 - delta - rho) + rho * expit(-t))
    return float(gamma[-1]), float(gamma[0])


def rho_star(n_samples: float, delta: float = 0.0) -> float:
    """ρ* = (4/n_samples)(1 − δ)(√(1 + n_samples/2) − 1) (Eq. rhostar): below it the solution is unique."""
    # Written without the difference of nearly equal numbers at small n_samples.
    return float(2 * (1 - delta) / (np.sqrt(1 + n_samples / 2) + 1))


def gamma_star(n_samples: float) -> float:
    """γ* = Eq. appendix_univ2 at the critical point ρ = ρ*, exactly: above it the solution is unique.

    It does not depend on δ: ρ* is proportional to 1 − δ, and only ρ/(1 − δ) enters f. (The factor 1 − δ of
    Eq. gammastar comes from leaving δ out of Eq. appendix_univ2.)
    """
    rho = rho_star(n_samples)
    half = n_samples / 2
    m = (2 * rho + half * rho**2) / (2 * (1 + half) * rho**2)
    return float(logit(m) - _evidence(m, rho, n_samples, 0.0))


def rho_star_large_sample(n_samples: float, delta: float = 0.0) -> float:
    """ρ* ≈ 2√(2/n_samples)(1 − δ): the value 0.28 that the paper prints for 100 samples."""
    return float(2 * np.sqrt(2 / n_samples) * (1 - delta))


def gamma_star_large_sample(n_samples: float) -> float:
    """γ* ≈ −√(2 n_samples) (Eq. gammastar)."""
    return float(-np.sqrt(2 * n_samples))


# ---- orthogonal inputs, without the variational approximation ----------------------------------------------


class OrthogonalMAP(NamedTuple):
    """A maximum of the posterior over (s, w, β) when χ = 1: w_i = b_i where s_i = 1."""

    #: s, in the order of the given b.
    selected: np.ndarray
    #: 1/β = σ_y² − Σ s_i b_i².
    noise_variance: float


def switch_gammas(b: ArrayLike, sigma2_y: float, n_samples: float) -> Array:
    """The γ at which the k+1-th strongest feature switches on, given the k before it (Eq. switch_exact).

    γ_k = −(β_k n_samples/2) b²_{k+1} with 1/β_k = σ_y² − Σ_{i≤k} b_i², b² sorted in decreasing order.
    """
    b2, noise = _sorted_squares(b, sigma2_y)
    return -n_samples / 2 * b2 / noise[:-1]


def orthogonal_map(b: ArrayLike, sigma2_y: float, gamma: float, n_samples: float) -> OrthogonalMAP:
    """The solution of Eq. switch_exact: s_{1:k} = 1, k the smallest with (β_k n_samples/2) b²_{k+1} + γ < 0.

    It is where annealing γ upwards arrives: no single s_i can be switched on at the present β.
    """
    stays_off = gamma < switch_gammas(b, sigma2_y, n_samples)
    k = int(np.argmax(stays_off)) if stays_off.any() else stays_off.size
    return _first_selected(b, sigma2_y, k)


def orthogonal_mode(b: ArrayLike, sigma2_y: float, gamma: float, n_samples: float) -> OrthogonalMAP:
    """The global maximum over s, w and β together: argmax_k −(n_samples/2) log(σ_y² − Σ_{i≤k} b_i²) + γ k.

    It switches at γ = (n_samples/2) log(1 − β_k b²_{k+1}), lower than Eq. switch_exact, which compares
    s_i = 0 and 1 without letting β follow. The two agree for weak features, where log(1 − x) ≈ −x.
    """
    _, noise = _sorted_squares(b, sigma2_y)
    log_posterior = -n_samples / 2 * np.log(noise) + gamma * np.arange(noise.size)
    return _first_selected(b, sigma2_y, int(np.argmax(log_posterior)))


def _sorted_squares(b: ArrayLike, sigma2_y: float) -> tuple[Array, Array]:
    """b² in decreasing order, and σ_y² − Σ_{i≤k} b_i² for k = 0 … n_features."""
    b2 = np.sort(np.square(np.asarray(b, dtype=np.float64)))[::-1]
    noise = sigma2_y - np.concatenate([[0.0], np.cumsum(b2)])
    if noise[-1] <= 0:
        raise ValueError(
            f"sigma2_y={sigma2_y:g} must exceed the explained variance sum(b**2)={b2.sum():g}: orthogonal "
            "inputs cannot explain all of y or more."
        )
    return b2, noise


def _first_selected(b: ArrayLike, sigma2_y: float, k: int) -> OrthogonalMAP:
    """The solution in which the k features of largest b² are on."""
    strength = np.square(np.asarray(b, dtype=np.float64))
    strongest = np.argsort(-strength, kind="stable")[:k]
    selected = np.zeros(strength.size, dtype=bool)
    selected[strongest] = True
    return OrthogonalMAP(selected, float(sigma2_y - strength[selected].sum()))


# ---- shrinkage: the estimate as a function of the true weight (Fig. file5a) --------------------------------


def vg_shrinkage(w: ArrayLike, gamma: float, n_samples: float, noise_variance: float = 1.0) -> Array:
    """m w, with m the solution of Eq. univ1 of lowest F at ρ = w²/(w² + noise_variance)."""
    w = np.asarray(w, dtype=np.float64)
    rho = w**2 / (w**2 + noise_variance)
    m = [univariate_solutions(float(r), gamma, n_samples).minimum for r in rho.ravel()]
    return np.reshape(m, w.shape) * w


def lasso_shrinkage(w: ArrayLike, gamma: float) -> Array:
    """sign(w) (|w| − γ)⁺: the Lasso."""
    w = np.asarray(w, dtype=np.float64)
    return np.sign(w) * np.maximum(np.abs(w) - gamma, 0.0)


def ridge_shrinkage(w: ArrayLike, factor: float) -> Array:
    """λ w with 0 < λ < 1: ridge regression."""
    return factor * np.asarray(w, dtype=np.float64)


def garrote_shrinkage(w: ArrayLike, gamma: float) -> Array:
    """(1 − γ/w²)⁺ w: Breiman's non-negative garrote."""
    w = np.asarray(w, dtype=np.float64)
    off = w**2 <= gamma
    return np.where(off, 0.0, w - gamma / np.where(off, 1.0, w))
