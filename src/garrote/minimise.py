"""One γ on one Block: descend F(m) to a fixed point of Eqs. (m), (v), (beta)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from garrote._loops import COMPILED
from garrote.arrays import Array
from garrote.block import Block
from garrote.energy import Energy, FactorizedEnergy, Penalty, evaluate, newton_step
from garrote.limits import LOST_DIGITS, NOISE_FLOOR, ROUNDING, TRUST

#: A descent that needs a shorter step than this has reached the rounding error of F.
SHORTEST_STEP = 1e-4


@dataclass(slots=True)
class Descent:
    """Where the descent ended, and its cost."""

    end: Energy
    n_iter: int = 0  #: accepted steps
    n_factorizations: int = 1  #: evaluations of F: a Cholesky factorisation each, or as much by conjugate gradients
    converged: bool = False
    energies: list[float] = field(default_factory=list)  #: F at the start and after each step, if traced: never rises


class Rival(NamedTuple):
    """A solution that a descent need not come to from above."""

    m: Array
    free_energy: float
    to_beat: bool = True  #: whether a descent that will end above its F is of no use either


def minimise(
    block: Block,
    theta: Array,
    penalty: Penalty,
    *,
    w: Array | None = None,
    tol: float = 1e-8,
    max_iter: int = 500,
    most: float = math.inf,
    rival: Rival | None = None,
    traced: bool = True,
) -> Descent:
    """Minimise F from θ until |σ(γ + (βn/2) w² d) − m| ≤ tol for every feature.

    The ``w`` of a solution near by, if given, spare the compiled descent some work. A descent that selects more than
    ``most`` features, comes to its rival or will not beat it, is abandoned. To trace F costs an evaluation a step.
    """
    if not COMPILED:
        return minimise_plain(block, theta, penalty, tol=tol, max_iter=max_iter, most=most)
    kernel = block.kernel
    kernel.retarget(block.target, block.b, block.floor)  # blocks of the same features share it
    m, energy, to_beat = (None, math.inf, False) if rival is None else rival
    energies = kernel.run(
        theta, w, penalty.gamma, penalty.ridge, penalty.beta, tol, max_iter, most, m, energy, to_beat, traced
    )
    theta, m, w, v, target, noise, free_energy, residual = kernel.result()
    end = Energy(theta, m, w, v, noise, free_energy, target, residual)
    return Descent(end, kernel.n_iter, kernel.n_factorizations, kernel.converged, energies.tolist())


def minimise_plain(
    block: Block, theta: Array, penalty: Penalty, *, tol: float = 1e-8, max_iter: int = 500, most: float = math.inf
) -> Descent:
    """The descent in NumPy: what the compiled one does, where there is no compiler, and the oracle of its tests.

    Each step is Newton's if that lowers F, and otherwise the longest of the fixed-point step's halves, quarters, …
    that does. The fixed-point direction −∂F/∂m_i in θ_i always descends, so F never rises and no damping is tuned.
    """
    at = evaluate(block, theta, penalty)
    run = Descent(at, energies=[at.free_energy])
    while True:
        run.converged = at.residual <= tol
        if run.converged or run.n_iter >= max_iter or np.count_nonzero(at.theta > 0) > most:
            return run
        trial = _descend(block, at, penalty, run)
        if trial is None:  # F is flat to rounding error
            run.converged = True
            return run
        at = run.end = trial
        run.n_iter += 1
        run.energies.append(at.free_energy)


def _descend(block: Block, at: FactorizedEnergy, penalty: Penalty, run: Descent) -> FactorizedEnergy | None:
    """The next point, with F no higher; None when no step lowers F."""
    trial = _try(block, at, np.clip(newton_step(block, at, penalty), -TRUST, TRUST), penalty, run)
    if trial is not None:
        return trial
    step, length = at.target - at.theta, 1.0
    while length >= SHORTEST_STEP:
        trial = _try(block, at, length * step, penalty, run)
        if trial is not None:
            return trial
        length *= 0.5
    return None


def _try(block: Block, at: Energy, step: Array, penalty: Penalty, run: Descent) -> FactorizedEnergy | None:
    trial = evaluate(block, at.theta + step, penalty)
    run.n_factorizations += 1
    rise = trial.free_energy - at.free_energy
    if rise <= 0.0 or (rise <= rounding_error(block, at) and trial.residual < at.residual):
        return trial
    return None


def rounding_error(block: Block, at: Energy) -> float:
    """How exactly F is known: the residual y − x·v is a difference, which costs digits of E when the fit is good.

    An error δ of the residual, relative to σ_y, changes E by at most 2 δ σ_y √E, and so F by n_samples δ σ_y/√E.
    """
    good = block.sigma2_y / max(at.noise, NOISE_FLOOR * block.sigma2_y)
    return ROUNDING * (1.0 + abs(at.free_energy)) + LOST_DIGITS * block.n_samples * math.sqrt(good)
