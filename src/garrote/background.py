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

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.special import expit

from garrote._loops import bin_correlations, inclusions, likeliest, respond_to_columns
from garrote._plain_outside import MOST_LIKELY
from garrote.arrays import Array, Index
from garrote.block import Block
from garrote.energy import bernoulli_term
from garrote.problem import Samples

#: Resolution of the histogram of outside correlations.
BINS = 256

#: Correlations below so many bins of this are zero.
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class Correlations:
    """c of every feature, and which of the features are inside the working set."""

    c: Array
    inverse_norm: Array  #: 1/√χ_ii; 0 where a column is constant
    prior_log_odds: Array | None
    inside: Index  #: ascending

    def likeliest(self, kappa: float, above: float, most: int) -> Index:
        """The outside features with κz² + prior log odds above a bound, or so many of them that have the most."""
        return likeliest(self.c, self.inverse_norm, self.prior_log_odds, self.inside, kappa, above, most)


@dataclass(slots=True)
class Outside:
    """The features outside the working set, as a histogram of z."""

    each: Correlations
    z: Array  #: centres of the bins that are not empty
    weight: Array  #: Σ exp(prior log odds) of the bin's features
    heaviest: float  #: the largest exp(prior log odds) of a feature
    total: float  #: the sum of all weights

    @classmethod
    def of(cls, each: Correlations) -> Outside:
        counts, odds = np.zeros(BINS), each.prior_log_odds
        width = bin_correlations(each.c, each.inverse_norm, odds, each.inside, counts, BINS * TINY)
        filled = np.flatnonzero(counts)
        weight = counts[filled]
        heaviest = 1.0 if odds is None else math.exp(min(float(odds.max()), MOST_LIKELY))
        return cls(each, np.asarray(width * (filled + 0.5)), weight, heaviest, float(weight.sum()))

    @property
    def features(self) -> Index:
        return np.delete(np.arange(len(self.each.c)), self.each.inside)

    def included(self, gamma: float, kappa: float, moved: float = 0.0) -> Included:
        """What of the features is included, if each z has grown by ``moved``."""
        m = np.empty(len(self.z))
        return Included(m, *inclusions(self.z, self.weight, gamma, kappa, moved, m))

    def most(self, gamma: float, kappa: float, moved: float) -> float:
        """What Σ m cannot exceed, up to the width of a bin, if each z has grown by at most ``moved``."""
        if not len(self.z):
            return 0.0
        return self.total * math.exp(min(gamma + kappa * (float(self.z[-1]) + moved) ** 2, 0.0))

    def largest(self, inclusion: Array) -> float:
        """The largest of the inclusions of single features, given those of the bins."""
        return float((np.minimum(self.weight, self.heaviest) * inclusion).max(initial=0.0))


class Included(NamedTuple):
    """The outside features at some γ and κ."""

    m: Array  #: the inclusion of a feature in each bin, without its prior log odds
    mass: float  #: Σ m
    evidence: float  #: Σ m z²


class BackgroundLike(Protocol):
    """What the working set asks of a background, at one γ."""

    mass: float  #: Σ m of the outside features
    bernoulli: float  #: their prior's and entropy's part of F
    explained: float  #: the variance that they explain

    def at(self, gamma: float) -> BackgroundLike: ...
    def subtract(self, block: Block) -> Block: ...
    def residual(self, e: Array) -> Array: ...
    def contributions(self, c: Array, part: slice) -> Array: ...


@dataclass(frozen=True, slots=True)
class Look:
    """How outside features are looked at: at which γ and κ, and how the correlations found before enter."""

    gamma: float
    kappa: float
    ridge: float
    prior_log_odds: Array | None
    inside: Index
    entry: float  #: features with a larger inclusion are left out
    own: BackgroundLike | None  #: a feature's own part of this background is not held against it
    mixing: float  #: weight of the new correlations; 1 − mixing is that of the old ones
    old: Array

    def adjust(self, c: Array, chi: Array, part: slice) -> None:
        """Correct the correlations of a part of the features, in place."""
        if self.own is not None:
            c += chi * self.own.contributions(c, part)
        if self.mixing != 1.0:
            c *= self.mixing
            c += (1.0 - self.mixing) * self.old[part]


class Respond:
    """v = m·w of the outside features, given their products with a residual."""

    def __init__(self, samples: Samples, residual: Array, look: Look) -> None:
        self.samples, self.look = samples, look
        self.weighted = np.sqrt(samples.weights) * residual
        self.total = float(self.weighted.sum())
        self.c, self.v = np.empty((2, samples.n_features))
        self.inside = np.zeros(samples.n_features, dtype=np.uint8)
        self.inside[look.inside] = True
        self.sums: dict[int, Array] = {}  #: of each part: penalty, mass, bernoulli, explained

    def __call__(self, products: Array, part: slice) -> Array:
        look, inside = self.look, self.inside[part].astype(bool)
        c = products - self.total * self.samples.x_mean[part]
        look.adjust(c, self.samples.chi[part], part)
        chi = np.where(inside, 1.0, self.samples.chi[part])
        w = c / chi
        evidence = look.kappa * c * w
        m = expit(self.prior(part) + evidence)
        m[(m > look.entry) | inside] = 0.0
        v = m * w / (1.0 + look.ridge)
        explained = float(v @ c)
        bernoulli = float(m @ evidence + np.log1p(-m).sum())
        self.sums[part.start] = np.array([explained - float(v**2 @ chi), m.sum(), bernoulli, explained])
        self.c[part], self.v[part] = c, v
        return v

    def prior(self, part: slice) -> Array:
        odds = self.look.prior_log_odds
        return np.full(part.stop - part.start, self.look.gamma) + (0.0 if odds is None else odds[part])

    def to_columns(self, columns: NDArray[Any], r: NDArray[Any], part: slice) -> Array:
        look, samples, own = self.look, self.samples, self.look.own
        if own is not None and not isinstance(own, Background):
            fitted: Array = columns @ self((columns.T @ r).astype(np.float64), part).astype(columns.dtype)
            return fitted
        nothing = np.zeros(part.stop - part.start)
        fit, sums = np.zeros(len(r), dtype=columns.dtype), np.empty(4)
        respond_to_columns(
            columns,
            r,
            samples.x_mean[part],
            samples.chi[part],
            self.inside[part],
            nothing if own is None else own.v[part],
            look.old[part],
            self.prior(part),
            self.total,
            0.0 if own is None else own.scale,
            look.mixing,
            look.kappa,
            look.ridge,
            look.entry,
            self.c[part],
            self.v[part],
            fit,
            sums,
        )
        self.sums[part.start] = sums
        return fit


@dataclass(slots=True)
class Background:
    """The outside features' joint contribution to the fit, as found at one γ."""

    gamma: float
    v: Array  #: of every feature, at the γ where it was found
    scale: float  #: of v since then
    fit: Array  #: Σ v_i x_i in root coordinates
    penalty: float  #: Σ (d_i − m_i χ_ii) m_i w_i², their variance around that contribution
    mass: float
    bernoulli: float
    explained: float

    @classmethod
    def build(cls, samples: Samples, residual: Array, look: Look) -> tuple[Array, Background]:
        """Look at X for a residual: the correlations, and the background that they make, in one pass."""
        respond = Respond(samples, residual, look)
        fit = samples.responses(respond.weighted, respond, respond.v)
        in_order = [respond.sums[start] for start in sorted(respond.sums)]  # so that threads do not change the rounding
        return respond.c, cls(look.gamma, respond.v, 1.0, fit, *map(float, np.sum(in_order, axis=0)))

    def at(self, gamma: float) -> Background:
        """The same features at another γ: their inclusions are proportional to e^γ."""
        factor = float(np.exp(min(gamma - self.gamma, 5.0)))
        return self if factor == 1.0 else replace(self.scaled(factor), gamma=gamma)

    def scaled(self, factor: float) -> Background:
        """The same background with all inclusions larger by a factor."""
        linear = ("scale", "fit", "penalty", "mass", "bernoulli", "explained")
        return replace(self, **{name: factor * getattr(self, name) for name in linear})

    def subtract(self, block: Block) -> Block:
        assert block.root is not None and block.target is not None
        return block.retargeted(block.target - self.fit, block.floor + self.penalty)

    def residual(self, e: Array) -> Array:
        return e

    def contributions(self, c: Array, part: slice) -> Array:
        """v of the features in a part."""
        return self.scale * self.v[part]


@dataclass(slots=True)
class DiffuseBackground:
    """All outside features, with their w eliminated by the dual."""

    gamma: float
    features: Index
    m: Array
    response: Array  #: m/(d − m χ_ii) of every feature, so that v = response · c; 0 inside
    cholesky: Array  #: lower factor of A
    mass: float
    bernoulli: float
    settled: bool  #: whether m satisfies Eq. (m)
    explained: float = 0.0

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
        response = np.zeros(samples.n_features)
        response[features] = m / (samples.chi[features] * (1.0 + ridge - m))
        dual = _dual(samples, features, response[features])
        return cls(
            gamma=gamma,
            features=features,
            m=m,
            response=response,
            cholesky=linalg.cholesky(dual, lower=True, check_finite=False),
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

    def contributions(self, c: Array, part: slice) -> Array:
        return self.response[part] * c


def _dual(samples: Samples, features: Index, response: Array) -> Array:
    """A of Eq. (A)."""
    return np.eye(len(samples.y)) + samples.outer(features, response)
