"""Many features: a growing working set, and safe bounds on what all the others could do.

Most inclusions are negligible, about e^γ. Only the features of the working set form a Block. For the others it is
enough to know c_i = ⟨x_i r⟩ for a reference residual r_ref. With r = a·r_ref + r_⊥, c_i has become a·c_i and something
of at most √χ_ii ‖r_⊥‖, for a column in any direction but a few about that over √n_samples. So their inclusions, and
how uncertain these are, follow without a look at X. A new pass over X is made only when one of them could have become
likely, or when the uncertain inclusions sum to more than a tolerance.

Together, very many negligible features still explain a little of y. That *background* is kept as one vector over the
samples, subtracted from y before the working set is solved, and renewed when it has changed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from garrote.arrays import Array, Index
from garrote.background import Background, BackgroundLike, Correlations, DiffuseBackground, Look, Outside
from garrote.block import Block, Columns
from garrote.energy import Penalty
from garrote.limits import NOISE_FLOOR
from garrote.minimise import Descent, Rival, minimise
from garrote.partners import Partners
from garrote.problem import Problem, Samples

#: Outside features may be uncertain by this much total inclusion per sample before X is looked at again.
UNCERTAIN_MASS = 2e-3

#: Very many features together move by so many standard deviations at most, a single one by so many.
TYPICAL, UNLIKELY = 1.0, 8.0

#: The part a of a reference residual that is at least taken to be left.
LEAST_ALONG = 0.1

#: A residual that is zero is divided by this.
TINY = float(np.finfo(np.float64).tiny)

#: X is looked at again when the inclusion of a single outside feature could have grown by this much.
REACH = 0.1

#: The background is renewed when the variance that it explains has changed by this fraction of the noise.
STALE_BACKGROUND = 2e-2

#: And X is looked at again when it has changed by this factor.
FAR = 1.5

#: Weight of the newest correlations, where a background is found by repetition.
MIXING = 0.7

#: So often X is looked at, at one γ, before the background counts as restless.
ROUNDS = 20

#: With more inclusion outside than this fraction of n_samples, the background is eliminated by the dual.
HEAVY = 0.15

#: An outside feature with a larger inclusion than this enters the working set.
ENTRY = 0.03

#: With a heavy background, only features with a larger inclusion than this enter.
CERTAIN = 0.9

#: A working set of more features than this is refused: nothing sparse is asked for.
LARGEST = 20_000

#: At most this many features enter after one pass.
ENTRANTS = 64


@dataclass(frozen=True, slots=True)
class Model:
    """What is fitted, apart from γ: the prior log odds of each feature beside γ, the slab's λ, β if it is known."""

    prior_log_odds: Array | None = None
    ridge: float = 0.0
    beta: float | None = None


@dataclass(slots=True)
class Found:
    """Where a descent at one γ ended, in the working set and outside it."""

    run: Descent
    outside_mass: float = 0.0  #: Σ m of the features outside the working set
    outside_energy: float = 0.0  #: their part of F, beside what they explain of y
    at_rest: bool = True  #: whether their background has stopped changing
    looked: bool = False  #: whether X was looked at for this γ, and none of them entered
    n_passes: int = 0  #: passes over X during the descent
    n_factorizations: int = 0

    @property
    def free_energy(self) -> float:
        return self.run.end.free_energy + self.outside_energy


class SinceLook(NamedTuple):
    """What has become of the outside features at some γ since X was looked at, when r = a·r_ref + r_⊥."""

    kappa: float  #: κa², so that κa²z² is the evidence of a feature whose z was seen
    moved: float  #: ‖r_⊥‖/a
    inclusion: Array  #: of each bin, as if r_⊥ were zero
    mass: float  #: Σ m
    explained: float  #: the variance that they explain


class WorkingSet:
    """The features that are looked at closely, and the Block that they form."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self.problem = problem
        self.model = model
        self.n_factorizations = 0
        self.n_iter = 0
        self.features: Index = np.empty(0, dtype=np.intp)
        self.whole = problem.fits_one_block
        self.background: BackgroundLike | None = None
        self._mixed_gamma = math.nan
        self._least = 0  #: features that stay
        if self.whole:
            self._use(problem.block(problem.varying))
        else:
            assert isinstance(problem, Samples)
            self.samples = problem
            self._inverse_norm = np.zeros(problem.n_features)
            self._inverse_norm[problem.varying] = problem.chi[problem.varying] ** -0.5
            self._constant = np.flatnonzero(self._inverse_norm == 0.0)
            self.partners = Partners(problem, self._inverse_norm)
            self._look(problem.b, problem.root_target)
            self._begin(problem.block(self._entrants(math.inf, 1.0, ENTRY), shorten=False))
            self._look(problem.b, problem.root_target)

    def _use(self, block: Block) -> None:
        self.block, self.features = block, block.features
        odds = self.model.prior_log_odds
        self.prior_log_odds = None if odds is None else odds[self.features]

    def _begin(self, block: Block) -> None:
        """Use a Block that others will extend."""
        assert block.root is not None
        self._columns = Columns(block.root)
        self._use(block)

    def _enter(self, entrants: Index) -> None:
        if len(self.features) + len(entrants) > LARGEST:
            raise ValueError(
                f"more than {LARGEST} of {self.problem.n_features} features would be selected; choose a more negative "
                "gamma, or use ridge regression where everything matters."
            )
        root = self._columns.append(self.samples.roots(entrants))
        self._use(self.block.extended(entrants, root))

    def start(self, gamma: float) -> Array:
        """θ with every feature at its prior: m = σ(γ)."""
        prior = np.full(len(self.features), gamma)
        return prior if self.prior_log_odds is None else prior + self.prior_log_odds

    def embed(self, theta: Array, gamma: float) -> Array:
        """θ of an earlier, smaller working set, with the newer features at their prior."""
        if len(theta) == len(self.features):
            return theta
        start = self.start(gamma)
        start[: len(theta)] = theta
        return start

    def _embed_w(self, w: Array | None) -> Array | None:
        """w of an earlier, smaller working set, without any for the newer features."""
        if w is None or len(w) == len(self.features):
            return w
        longer = np.zeros(len(self.features))
        longer[: len(w)] = w
        return longer

    def descend(
        self,
        gamma: float,
        theta: Array,
        *,
        w: Array | None = None,
        give_up: Callable[[Found], bool] | None = None,
        tol: float = 1e-8,
        max_iter: int = 500,
        most: float = math.inf,
        rival: Rival | None = None,
    ) -> Found:
        """Minimise F at γ from θ, and from the ``w`` of a solution near by.

        ``give_up(found)`` says, before X is looked at, whether the descent so far is of no use. A descent that selects
        more than ``most`` features, or will not beat its rival, is abandoned on the way.
        """
        looked, before = False, (self.problem.n_passes, self.n_factorizations)
        for _ in range(ROUNDS):
            background = self.background.at(gamma) if self.background is not None else None
            block = self.block if background is None else background.subtract(self.block)
            penalty = Penalty(self.start(gamma), self.model.ridge, self.model.beta)
            run = minimise(
                block,
                self.embed(theta, gamma),
                penalty,
                w=self._embed_w(w),
                tol=tol,
                max_iter=max_iter,
                most=most,
                rival=rival if self.whole else None,
                traced=False,
            )
            self.n_factorizations += run.n_factorizations
            self.n_iter += run.n_iter
            if self.whole:
                return self._counted(Found(run), before)
            residual = self._residual(block, run, background)
            theta, w, since = run.end.theta, run.end.w, self._since_look(gamma, run, residual)
            found = self._found(run, since, background)
            found.looked = looked
            if not run.converged and run.n_iter < max_iter:  # more than ``most`` are selected
                break
            change = self._change_of_background(since, run.end.noise, background)
            if self._rescale(background, change):
                continue
            if change == 1.0 and not self._uncertain(gamma, since, background):
                break
            if give_up is not None and give_up(found):
                break
            looked = not self._refresh(gamma, run, residual, since)
            found = replace(found, outside_mass=self.outside.included(gamma, self._kappa(run)).mass, looked=looked)
            heavy = self._is_heavy(found.outside_mass)
            if heavy and give_up is not None and give_up(found):  # the dual costs as much as n_samples passes
                break
            if heavy:
                self.background = self._diffuse(gamma, self._kappa(run), entered=not looked)
            elif isinstance(self.background, DiffuseBackground):
                self.background = None
        else:
            run.converged = found.at_rest = False
        return self._counted(found, before)

    def _counted(self, found: Found, before: tuple[int, int]) -> Found:
        """With its cost since the counts before it."""
        found.n_passes = self.problem.n_passes - before[0]
        found.n_factorizations = self.n_factorizations - before[1]
        return found

    def _found(self, run: Descent, since: SinceLook, background: BackgroundLike | None) -> Found:
        """The descent together with what is known of the outside features."""
        if background is not None:
            return Found(run, background.mass, background.bernoulli)
        return Found(run, since.mass, -since.mass)  # −log(1 + e^θ) ≈ −m for each

    def _residual(self, block: Block, run: Descent, background: BackgroundLike | None) -> Array:
        """The residual in root coordinates, with the background's part removed."""
        assert block.root is not None and block.target is not None
        e = block.target - block.root @ run.end.v
        return e if background is None else background.residual(e)

    def bring_partners(self, positions: Index) -> None:
        """Let the features that are most correlated with these enter, so that exchange moves can try them."""
        if self.whole:
            return
        entering = self.partners.of(self.features[positions], self.features)
        if len(entering):
            self._enter(entering)
            self._least = len(self.features)
            self._look_again()

    def shrink(self, size: int) -> None:
        """Keep the first ``size`` features, and the partners that were brought in."""
        size = max(size, self._least)
        if len(self.features) > size:
            self._begin(self.block.first(size))
            self._look_again()

    def _look_again(self) -> None:
        """At what lies outside the working set when it was changed between descents."""
        self._look(self.c, self.residual)
        self.background = None  # it may hold some of the features

    def _kappa(self, run: Descent) -> float:
        """κ = β n_samples / (2 (1 + λ)), so that κ c²/χ is a feature's evidence (βn/2) w² d."""
        beta = self.model.beta or 1.0 / max(run.end.noise, NOISE_FLOOR * self.problem.sigma2_y)
        return 0.5 * beta * self.problem.n_samples / (1.0 + self.model.ridge)

    def _since_look(self, gamma: float, run: Descent, residual: Array) -> SinceLook:
        a = max(float(residual @ self.residual) / max(self._residual_squares, TINY), LEAST_ALONG)
        across = residual - a * self.residual
        kappa, moved = self._kappa(run) * a**2, math.sqrt(float(across @ across)) / a
        included = self.outside.included(gamma, kappa)
        explained = a**2 * included.evidence / (1.0 + self.model.ridge)
        return SinceLook(kappa, moved, included.m, included.mass, explained)

    def _uncertain(self, gamma: float, since: SinceLook, background: BackgroundLike | None) -> bool:
        """Whether the inclusions of the outside features may be other than what follows from the last look."""
        if isinstance(background, DiffuseBackground):
            return not (background.settled and background.gamma == gamma)
        deviation = since.moved * self.problem.n_samples**-0.5
        most = self.outside.most(gamma, since.kappa, min(since.moved, UNLIKELY * deviation))
        if most <= min(REACH, UNCERTAIN_MASS * self.problem.n_samples):
            return False
        together = self.outside.included(gamma, since.kappa, min(since.moved, TYPICAL * deviation))
        if together.mass - since.mass > UNCERTAIN_MASS * self.problem.n_samples:
            return True
        single = self.outside.included(gamma, since.kappa, min(since.moved, UNLIKELY * deviation))
        return self.outside.largest(single.m - since.inclusion) > REACH

    def _change_of_background(self, since: SinceLook, noise: float, background: BackgroundLike | None) -> float:
        """The factor by which the outside features explain more than their background; 1 where that hardly matters."""
        if isinstance(background, DiffuseBackground):
            return 1.0
        known = 0.0 if background is None else background.explained
        if abs(since.explained - known) <= STALE_BACKGROUND * noise:
            return 1.0
        return since.explained / known if known else math.inf

    def _rescale(self, background: BackgroundLike | None, change: float) -> bool:
        """Let a background explain more or less by about a factor; False where that is not enough, or not needed."""
        if not isinstance(background, Background) or change == 1.0 or not 1.0 / FAR < change * background.scale < FAR:
            return False
        self.background = background.scaled(change**MIXING)
        return True

    def _is_heavy(self, mass: float) -> bool:
        """Whether outside features hold so much inclusion that their w must be eliminated jointly."""
        return mass > HEAVY * self.problem.n_samples

    def _refresh(self, gamma: float, run: Descent, residual: Array, since: SinceLook) -> bool:
        """Look at X for this residual, renew the background, let features enter; whether any did."""
        kappa = self._kappa(run)
        look = self._way_to_look(gamma, kappa)
        light = not self._is_heavy(since.mass)
        if light and since.explained > 0.5 * STALE_BACKGROUND * run.end.noise:
            c, self.background = Background.build(self.samples, residual, look)
        else:
            c = self.samples.correlations(residual)
            look.adjust(c, self.problem.chi, slice(0, len(c)))
            if light or not isinstance(self.background, DiffuseBackground):
                self.background = None
        self._look(c, residual)
        heavy = self._is_heavy(self.outside.included(gamma, kappa).mass)
        entrants = self._entrants(gamma, kappa, CERTAIN if heavy else ENTRY)
        if len(entrants):
            self._enter(entrants)
            self._look(c, residual)
        return len(entrants) > 0

    def _way_to_look(self, gamma: float, kappa: float) -> Look:
        """Rounds at the same γ are damped, since a larger background leaves a smaller residual: they alternate."""
        own = None if self.background is None else self.background.at(gamma)
        again = own is not None and self._mixed_gamma == gamma
        self._mixed_gamma = gamma
        model, inside = self.model, self.outside.each.inside
        mixing = MIXING if again else 1.0
        return Look(gamma, kappa, model.ridge, model.prior_log_odds, inside, ENTRY, own, mixing, self.c)

    def _diffuse(self, gamma: float, kappa: float, *, entered: bool) -> DiffuseBackground:
        """The next dual background: Eq. (m) for all outside features at once, damped once it has begun."""
        features, odds = self.outside.features, self.model.prior_log_odds
        prior = np.zeros(len(features)) + gamma + (0.0 if odds is None else odds[features])
        theta = prior + kappa * self.c[features] ** 2 / self.problem.chi[features]
        np.minimum(theta, logit(CERTAIN), out=theta)  # more than can enter at once may be certain: the dual needs m < 1
        settled, old = False, self.background
        if isinstance(old, DiffuseBackground) and not entered and old.gamma == gamma:
            settled = bool(np.abs(expit(theta) - old.m).max() < 1e-6)
            theta = 0.5 * (theta + logit(old.m))
        return DiffuseBackground.build(self.samples, features, theta, prior, gamma, self.model.ridge, settled)

    def _entrants(self, gamma: float, kappa: float, entry: float) -> Index:
        """The outside features whose inclusion exceeds ``entry``, or the ENTRANTS largest of them."""
        return self.outside.each.likeliest(kappa, float(logit(entry)) - gamma, ENTRANTS)

    def _look(self, c: Array, residual: Array) -> None:
        """Remember the outside features' correlations c with this residual."""
        self.c, self.residual = c, residual
        self._residual_squares = float(residual @ residual)
        inside = np.union1d(self.features, self._constant)
        self.outside = Outside.of(Correlations(c, self._inverse_norm, self.model.prior_log_odds, inside))
