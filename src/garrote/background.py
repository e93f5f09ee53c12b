"""The features outside the working set: each negligible, together not always.

They are summarised by a histogram of z_i = |c_i|/√χ_ii, where c_i = ⟨x_i r⟩ leaves out the feature's own contribution.
With κ = β n_samples/(2(1 + λ)), their inclusions are m_i = σ(γ_i + κ z_i²), and they explain Σ m_i z_i²/(1 + λ) of the
variance.

- While that is little, they are a vector over the samples, Σ m_i w_i x_i, subtracted from y (:class:`Background`).
- When their inclusions add up to a sizeable part of n_samples, their w are eliminated jointly: the appendix's dual.
  Given m, the residual is A⁻¹(y − x_W·v_W) with A = 1 + Σ_i m_i/(d_i − m_i χ_ii) x_i x_iᵀ/n_samples, and the working
  set sees A^(−1/2) times root and target (:class:`DiffuseBackground`). Features with m > 0.9 are in the working set, so
  m/(1 − m) ≤ 9 and nothing overflows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg
from scipy.special import expit

from garrote.arrays import Array, Index
from garrote.energy import bernoulli_term
from garrote.problem import Block, Samples

#: Resolution of the histogram of outside correlations.
BINS = 4096

#: The background vector carries the features that hold this share of what all of them explain.
CARRIED = 0.95


@dataclass(slots=True)
class Outside:
    """The features outside the working set, as a histogram of z."""

    features: Index
    z_each: Array  #: z of each feature
    z: Array  #: bin centres
    weight: Array  #: Σ exp(prior log odds) of the bin's features

    @classmethod
    def of(cls, features: Index, c: Array, chi: Array, prior_log_odds: Array | None) -> Outside:
        z = np.abs(c[features]) / np.sqrt(chi[features])
        weight = None if prior_log_odds is None else np.exp(np.minimum(prior_log_odds[features], 700.0))
        width = max(float(z.max(initial=0.0)), np.finfo(np.float64).tiny) / (BINS - 1)
        counts = np.bincount((z / width).astype(np.intp), weight, BINS)
        return cls(features, z, np.asarray(width * (np.arange(BINS) + 0.5)), counts.astype(np.float64))

    def mass(self, gamma: float, kappa: float, moved: float = 0.0) -> Array:
        """Σ m of each bin, if each z has grown by ``moved``."""
        return self.weight * np.exp(np.minimum(gamma + kappa * (self.z + moved) ** 2, 0.0))


class BackgroundLike(Protocol):
    """What the working set asks of a background, at one γ."""

    features: Index
    mass: float  #: Σ m of the features that it carries
    bernoulli: float  #: their prior's and entropy's part of F
    explained: float  #: the variance that all outside features explain
    least_z: float  #: outside features with a smaller z are not carried

    def at(self, gamma: float) -> BackgroundLike: ...
    def subtract(self, block: Block) -> Block: ...
    def residual(self, e: Array) -> Array: ...
    def contributions(self, c: Array) -> Array: ...


@dataclass(slots=True)
class Background:
    """A few outside features' joint contribution to the fit, as found at one γ."""

    gamma: float
    features: Index
    v: Array
    fit: Array  #: Σ v_i x_i in root coordinates
    penalty: float  #: Σ (d_i − m_i χ_ii) m_i w_i², their variance around that contribution
    mass: float
    bernoulli: float
    explained: float
    least_z: float

    @classmethod
    def build(
        cls,
        samples: Samples,
        outside: Outside,
        c: Array,
        gamma: float,
        kappa: float,
        ridge: float,
        odds: Array | None,
    ) -> Background:
        share = np.cumsum((outside.mass(gamma, kappa) * outside.z**2)[::-1])[::-1]
        first = int(np.searchsorted(-share, -CARRIED * share[0], side="right")) - 1
        least_z = float(outside.z[max(first, 0)])
        features = outside.features[outside.z_each > least_z]
        chi = samples.chi[features]
        z2 = c[features] ** 2 / chi
        prior = np.full(len(features), gamma) if odds is None else gamma + odds[features]
        theta = prior + kappa * z2
        m = expit(theta)
        w = c[features] / (chi * (1.0 + ridge))
        v = m * w
        return cls(
            gamma=gamma,
            features=features,
            v=v,
            fit=samples.fitted(features, v),
            penalty=float(((1.0 + ridge - m) * m * w**2) @ chi),
            mass=float(m.sum()),
            bernoulli=bernoulli_term(theta, m, prior),
            explained=float(share[0]) / (1.0 + ridge),
            least_z=least_z,
        )

    def at(self, gamma: float) -> Background:
        """The same features at another γ: their inclusions are proportional to e^γ."""
        factor = float(np.exp(min(gamma - self.gamma, 5.0)))
        if factor == 1.0:
            return self
        scaled = {
            name: factor * getattr(self, name) for name in ("v", "fit", "penalty", "mass", "bernoulli", "explained")
        }
        return replace(self, gamma=gamma, **scaled)

    def subtract(self, block: Block) -> Block:
        assert block.root is not None and block.target is not None
        target = block.target - self.fit
        return replace(block, target=target, b=block.root.T @ target, floor=block.floor + self.penalty)

    def residual(self, e: Array) -> Array:
        return e

    def contributions(self, c: Array) -> Array:
        """v of the carried features."""
        return self.v


@dataclass(slots=True)
class DiffuseBackground:
    """All outside features, with their w eliminated by the dual."""

    gamma: float
    features: Index
    m: Array
    response: Array  #: m/(d − m χ_ii), so that v = response · c
    cholesky: Array  #: lower factor of A
    mass: float
    bernoulli: float
    settled: bool  #: whether m satisfies Eq. (m)
    explained: float = 0.0
    least_z: float = 0.0

    @classmethod
    def build(
        cls,
        samples: Samples,
        features: Index,
        theta: Array,
        prior: Array,
        gamma: float,
        ridge: float,
        settled: bool,
    ) -> DiffuseBackground:
        m = expit(theta)
        response = m / (samples.chi[features] * (1.0 + ridge - m))
        return cls(
            gamma=gamma,
            features=features,
            m=m,
            response=response,
            cholesky=linalg.cholesky(_dual(samples, features, response), lower=True, check_finite=False),
            mass=float(m.sum()),
            bernoulli=bernoulli_term(theta, m, prior),
            settled=settled,
        )

    def at(self, gamma: float) -> DiffuseBackground:
        return self

    def subtract(self, block: Block) -> Block:
        assert block.root is not None and block.target is not None
        root, target = (
            linalg.solve_triangular(self.cholesky, part, lower=True, check_finite=False)
            for part in (block.root, block.target)
        )
        return replace(block, root=np.asfortranarray(root), target=target, gram=root.T @ root, b=root.T @ target)

    def residual(self, e: Array) -> Array:
        """r = A^(−1/2) e."""
        return linalg.solve_triangular(self.cholesky, e, lower=True, trans=1, check_finite=False)

    def contributions(self, c: Array) -> Array:
        return self.response * c[self.features]


def _dual(samples: Samples, features: Index, response: Array) -> Array:
    """A of Eq. (A)."""
    return np.eye(len(samples.y)) + samples.outer(features, response)
