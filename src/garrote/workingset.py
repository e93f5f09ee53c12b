"""Many features: a growing working set, and safe bounds on what all the others could do.

Most inclusions are negligible, about e^γ. Only the features of the working set form a Block. For the others it is
enough to know c_i = ⟨x_i r⟩ for a reference residual r_ref: since then |c_i| can have moved by at most
√χ_ii ‖r − r_ref‖, so their inclusions, and how uncertain these are, follow without a look at X. A new pass over X is made only
when the uncertain inclusions sum to more than a tolerance.

The negligible features enter E to first order: each explains m_i c_i²/d_i of the variance.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import logit

from garrote.base import Array
from garrote.energy import Penalty
from garrote.minimise import Descent, minimise
from garrote.problem import Block, Index, Problem, Samples

#: Outside features may be uncertain by this much total inclusion per sample before X is looked at again.
UNCERTAIN_MASS = 1e-4

#: An outside feature with a larger inclusion than this enters the working set.
ENTRY = 5e-3

#: At most this many features enter after one pass.
ENTRANTS = 64

#: Resolution of the histogram of outside correlations.
BINS = 4096


@dataclass(frozen=True, slots=True)
class Model:
    """What is fitted, apart from γ: the prior log odds of each feature beside γ, the slab's λ, β if it is known."""

    prior_log_odds: Array | None = None
    ridge: float = 0.0
    beta: float | None = None


@dataclass(slots=True)
class Outside:
    """The features outside the working set, as a histogram of z_i = |c_i|/√χ_ii at a reference residual."""

    z: Array  #: bin centres
    weight: Array  #: Σ exp(prior log odds) of the bin's features
    v_ref: Array  #: coefficients of the working set at the reference

    def mass(self, gamma: float, kappa: float, moved: float = 0.0) -> Array:
        """Σ m of each bin, where κ z² is the evidence of a feature and z may have grown by ``moved``."""
        return self.weight * np.exp(np.minimum(gamma + kappa * (self.z + moved) ** 2, 0.0))


class WorkingSet:
    """The features that are looked at closely, and the Block that they form."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self.problem = problem
        self.model = model
        self.n_factorizations = 0
        self.n_iter = 0
        self.features: Index = np.empty(0, dtype=np.intp)
        self.whole = problem.fits_one_block
        if self.whole:
            self._use(problem.varying)
        else:
            self._use(self._entrants(problem.b, math.inf, 1.0))
            self._look(problem.b, np.zeros(len(self.features)))

    def _use(self, features: Index) -> None:
        self.features = features
        self.block: Block = self.problem.block(features)
        odds = self.model.prior_log_odds
        self.prior_log_odds = 0.0 if odds is None else odds[features]

    def start(self, gamma: float) -> Array:
        """θ with every feature at its prior: m = σ(γ)."""
        return np.zeros(len(self.features)) + gamma + self.prior_log_odds

    def embed(self, theta: Array, gamma: float) -> Array:
        """θ of an earlier, smaller working set, with the newer features at their prior."""
        start = self.start(gamma)
        start[: len(theta)] = theta
        return start

    def descend(self, gamma: float, theta: Array, *, tol: float = 1e-8, max_iter: int = 500) -> tuple[Descent, float, float]:
        """Minimise F at γ from θ; also the outside features' total inclusion, and their part of F."""
        explained = 0.0
        for _ in range(100):
            penalty = Penalty(
                gamma + np.zeros(len(self.features)) + self.prior_log_odds, self.model.ridge, self.model.beta, explained
            )
            run = minimise(self.block, self.embed(theta, gamma), penalty, tol=tol, max_iter=max_iter)
            self.n_factorizations += run.n_factorizations
            self.n_iter += run.n_iter
            if self.whole:
                return run, 0.0, 0.0
            theta = run.end.theta
            kappa = self._kappa(run)
            if self._uncertain(gamma, kappa, run.end.v) and self._refresh(gamma, kappa, run.end.v):
                continue
            m = self.outside.mass(gamma, kappa)
            previous, explained = explained, float(m @ self.outside.z**2) / (1.0 + self.model.ridge)
            if abs(explained - previous) <= 1e-6 * run.end.noise:
                break
        mass = float(m.sum())
        return run, mass, -mass  # −log(1 + e^x) ≈ −m for each negligible feature

    def _kappa(self, run: Descent) -> float:
        """κ = β n_samples / (2 (1 + λ)), so that κ c²/χ is a feature's evidence (βn/2) w² d."""
        beta = 1.0 / run.end.noise if self.model.beta is None else self.model.beta
        return 0.5 * beta * self.problem.n_samples / (1.0 + self.model.ridge)

    def _uncertain(self, gamma: float, kappa: float, v: Array) -> bool:
        """Whether the outside features could have moved by more than the tolerance since the last pass."""
        change = v.copy()
        change[: len(self.outside.v_ref)] -= self.outside.v_ref
        moved = math.sqrt(max(float(change @ (self.block.gram @ change)), 0.0))
        most, now = self.outside.mass(gamma, kappa, moved).sum(), self.outside.mass(gamma, kappa).sum()
        return bool(most - now > UNCERTAIN_MASS * self.problem.n_samples)

    def _refresh(self, gamma: float, kappa: float, v: Array) -> bool:
        """Look at X again for the residual of v; whether features entered."""
        assert isinstance(self.problem, Samples)
        on = np.flatnonzero(v)
        c = self.problem.correlations(self.problem.y - self.problem.fitted(self.features[on], v[on]))
        entrants = self._entrants(c, gamma, kappa)
        if len(entrants):
            self._use(np.concatenate([self.features, entrants]))
            v = np.concatenate([v, np.zeros(len(entrants))])
        self._look(c, v)
        return len(entrants) > 0

    def _entrants(self, c: Array, gamma: float, kappa: float) -> Index:
        """The outside features whose inclusion exceeds ENTRY, or the ENTRANTS largest of them."""
        varying = self.problem.varying
        log_odds = np.full(self.problem.n_features, -np.inf)
        log_odds[varying] = kappa * c[varying] ** 2 / self.problem.chi[varying]
        if self.model.prior_log_odds is not None:
            log_odds += self.model.prior_log_odds
        log_odds[self.features] = -np.inf
        top = np.argpartition(log_odds, -ENTRANTS)[-ENTRANTS:]
        return np.sort(top[log_odds[top] > logit(ENTRY) - gamma])

    def _look(self, c: Array, v: Array) -> None:
        """Summarise the outside features at this residual's correlations c."""
        outside = np.setdiff1d(self.problem.varying, self.features, assume_unique=True)
        z = np.abs(c[outside]) / np.sqrt(self.problem.chi[outside])
        odds = self.model.prior_log_odds
        weight = None if odds is None else np.exp(np.minimum(odds[outside], 700.0))
        counts, edges = np.histogram(z, bins=BINS, range=(0.0, max(float(z.max(initial=0.0)), 1e-300)), weights=weight)
        self.outside = Outside(
            z=0.5 * (edges[1:] + edges[:-1]), weight=counts.astype(np.float64), v_ref=v
        )
