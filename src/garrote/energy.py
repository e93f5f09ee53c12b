"""The variational free energy, Eq. (F), with the slab weights w and the noise 1/β profiled out.

For given inclusions m the stationary w and β of Eqs. (v) and (beta) are closed forms, so F is a smooth function of m
alone. With S = diag(√m) and the diagonal d_i = χ_ii (1 + λ), solve the symmetric system

    M u = S b,     M_ij = √m_i χ_ij √m_j (i ≠ j),     M_ii = d_i,

which is Eq. (v) in a form without 1/m or 1/(1 − m). Then

    v = S u,    w_i = (c_i + χ_ii v_i)/d_i with c_i = b_i − Σ_j χ_ij v_j,
    E = ⟨(y − x·v)²⟩ + Σ_i (d_i − m_i χ_ii) u_i² = 1/β,

    F(m) = n_samples/2 (1 + log 2πE) − Σ γ_i m_i + Σ [m_i log m_i + (1 − m_i) log(1 − m_i)].

By the envelope theorem ∂F/∂m_i = logit m_i − γ_i − (β n_samples/2) w_i² d_i, and Eq. (m) is its fixed point. λ ≥ 0 is
the relative precision of a Gaussian slab; λ = 0 is the paper's flat prior.

Inclusions are represented by θ = logit m, which keeps every digit of both m and 1 − m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.special import expit

from garrote.arrays import Array, Index
from garrote.block import Block
from garrote.limits import DECIDED, NOISE_FLOOR, THETA_MAX

#: Features whose inclusions sum to less than this leave the linear system; they enter E to first order,
#: so the error in F is of the order of its square.
NEGLIGIBLE_MASS = 1e-7


@dataclass(slots=True)
class Energy:
    """F at one θ, and its minimisers w and β."""

    theta: Array
    m: Array
    w: Array
    v: Array
    noise: float  #: E, which is 1/β where β is not given
    free_energy: float
    target: Array  #: γ + (β n_samples/2) w² d, the right-hand side of Eq. (m) in θ
    residual: float  #: max |σ(target) − m|, times |target − θ| where that is above 1; zero at a fixed point


@dataclass(slots=True)
class FactorizedEnergy(Energy):
    """F with the linear algebra that found it, from which a Newton step follows."""

    on: Index  #: positions that are in the linear system
    cholesky: Array  #: of M on those positions


@dataclass(frozen=True, slots=True)
class Penalty:
    """What F depends on besides the data: γ (one per feature), λ, and β if it is known."""

    gamma: Array
    ridge: float = 0.0
    beta: float | None = None


def evaluate(block: Block, theta: Array, penalty: Penalty) -> FactorizedEnergy:
    """F(m) at m = σ(θ), with everything that a step needs."""
    m = expit(theta)
    d = block.chi * (1.0 + penalty.ridge)
    on = _heavy(m)
    s = np.sqrt(m[on])
    slack = d[on] - m[on] * block.chi[on]
    chol = _cholesky(block, on, s, slack)
    u = dpotrs(chol, s * block.b[on], lower=1)[0]
    least_squares, c = block.residual(on, s * u)
    # One step of iterative refinement: the factorisation squared the condition of X, the residual did not.
    u += dpotrs(chol, s * c[on] - slack * u, lower=1)[0]
    v = np.zeros_like(m)
    v[on] = s * u
    least_squares, c = block.residual(on, v[on])
    w = (c + block.chi * v) / d
    noise = least_squares + float(slack @ u**2)
    if len(on) < len(m):  # the others, to first order in their inclusions
        light = v == 0.0
        v[light] = (m * w)[light]
        noise -= float(v[light] @ c[light])
    beta = precision(noise, penalty, block)
    target = penalty.gamma + (0.5 * beta * block.n_samples) * w**2 * d
    # Where 1 − m is below any tolerance, the step to the target may still lower F: by |Δm||Δθ|, roughly.
    residual = float((np.abs(expit(target) - m) * np.maximum(np.abs(target - theta), 1.0)).max())
    np.minimum(target, THETA_MAX, out=target)
    return FactorizedEnergy(
        theta=theta,
        m=m,
        w=w,
        v=v,
        noise=noise,
        free_energy=gaussian_term(noise, beta, block.n_samples) + bernoulli_term(theta, m, penalty.gamma),
        target=target,
        residual=residual,
        on=on,
        cholesky=chol,
    )


def precision(noise: float, penalty: Penalty, block: Block) -> float:
    """β: as given, or 1/E, but never more than the noise floor allows."""
    return penalty.beta or 1.0 / max(noise, NOISE_FLOOR * block.sigma2_y)


def gaussian_term(noise: float, beta: float, n_samples: float) -> float:
    """n_samples/2 (log 2π/β + β E), the likelihood's part of F."""
    return 0.5 * n_samples * (math.log(2.0 * math.pi / beta) + beta * noise)


def bernoulli_term(theta: Array, m: Array, gamma: Array) -> float:
    """−Σ γ m + Σ [m log m + (1 − m) log(1 − m)], the part of F due to the prior and the entropy of q."""
    return float(m @ (theta - gamma) - np.logaddexp(0.0, theta).sum())


def newton_step(block: Block, at: FactorizedEnergy, penalty: Penalty) -> Array:
    """Newton's step in θ on the undecided features, the fixed-point step on the others.

    With T = diag √(m(1 − m)) the Hessian of F is T⁻¹ (I + T K T) T⁻¹, where

        K_ij = β n_samples a_i a_j (δ_ij/d_i − [M⁻¹]_ij) − (β² n_samples/2) w_i² d_i w_j² d_j,    a_i = w_i d_i/√m_i;

    the last term is absent when β is given. Where the Hessian is not positive definite, the fixed-point step, which
    always descends, is returned.
    """
    step = at.target - at.theta
    spread = at.m[at.on] * expit(-at.theta[at.on])
    local = np.flatnonzero(spread > DECIDED)
    if not len(local):
        return step
    undecided = at.on[local]
    d, w, m = block.chi[undecided] * (1.0 + penalty.ridge), at.w[undecided], at.m[undecided]
    unit = np.zeros((len(at.on), len(local)), order="F")
    unit[local, np.arange(len(local))] = 1.0
    half = dtrtrs(at.cholesky, unit, lower=1, overwrite_b=1)[0]  # M⁻¹ = halfᵀ half on the undecided features
    beta = precision(at.noise, penalty, block)
    a = w * d / np.sqrt(m)
    curvature = -np.outer(a, a) * (half.T @ half)
    curvature.flat[:: len(local) + 1] += a**2 / d
    curvature *= beta * block.n_samples
    if penalty.beta is None and at.noise > NOISE_FLOOR * block.sigma2_y:  # β follows E
        evidence = beta * w**2 * d
        curvature -= (0.5 * block.n_samples) * np.outer(evidence, evidence)
    t = np.sqrt(spread[local])
    hessian = t[:, None] * curvature * t
    hessian.flat[:: len(local) + 1] += 1.0
    chol, failed = dpotrf(hessian, lower=1, overwrite_a=1)
    if not failed:
        step[undecided] = dpotrs(chol, t * step[undecided], lower=1)[0] / t
    return step


def _heavy(m: Array) -> Index:
    """Positions of the features that are in the linear system; the others' inclusions are negligible in total."""
    on = np.flatnonzero(m > NEGLIGIBLE_MASS / len(m))
    return on if len(on) else np.array([m.argmax()])


def _cholesky(block: Block, on: Index, s: Array, slack: Array) -> Array:
    """The lower Cholesky factor of M = S χ S + diag(slack) on the positions ``on``."""
    gram = block.gram if len(on) == len(block.chi) else block.gram[np.ix_(on, on)]
    M = gram * s
    M *= s[:, None]
    M.flat[:: len(on) + 1] += slack
    chol, failed = dpotrf(M, lower=1)
    if not failed:
        return chol
    # Copies of a column that are all on make M singular, though F is not: any share between them is optimal, and
    # a relative 1e-12 on the diagonal picks the even one.
    M.flat[:: len(on) + 1] *= 1.0 + 1e-12
    chol, failed = dpotrf(M, lower=1)
    if failed:
        M.flat[:: len(on) + 1] *= 1.0 + 1e-9
        chol = linalg.cholesky(M, lower=True, check_finite=False)
    return chol
