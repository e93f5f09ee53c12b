"""The best selection of each size: from one selection down to a single feature, and up again.

As γ grows the solution jumps, often from very few features to all that matter. Models of a size between are on neither
side of the jump, though F may have its lowest minimum there. So features are dropped one by one, each time the one that
is missed least, and then added one by one; at each size features are swapped for as long as that explains more.

With the selected features in the model for certain, F = −γ·size + what does not depend on γ: one ladder serves all γ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from garrote.arrays import Array, Index
from garrote.exchange import MOVES, screened, switched
from garrote.problem import Block

#: θ of features that are in the model for certain: where the noise is low, 1 − m counts.
CERTAIN = 30.0

#: Swaps at one size at most.
SWAPS = 10

#: A swap must lower F by this.
LOWER = 1e-6


class Rung(NamedTuple):
    """A selection of some size."""

    size: int
    energy: float  #: F + γ·size, up to a constant
    theta: Array

    def free_energy(self, gamma: float) -> float:
        """F at γ, up to a constant."""
        return self.energy - gamma * self.size


def ladder(block: Block, selected: Index, prior_log_odds: Array, ridge: float, highest: int) -> list[Rung]:
    """The best selections of every size, from some selected features down, and up to a size."""
    theta = np.full(len(block.features), -CERTAIN)
    theta[selected] = CERTAIN
    down = _climb(block, Rung(len(selected), 0.0, theta), prior_log_odds, ridge, up_to=0)
    up = _climb(block, down[-1], prior_log_odds, ridge, up_to=highest)
    best = {rung.size: rung for rung in sorted([*up, *down], key=lambda rung: -rung.energy)}
    return list(best.values())


def _climb(block: Block, rung: Rung, prior_log_odds: Array, ridge: float, *, up_to: int) -> list[Rung]:
    """Rung after rung, down to a single feature or up to a size."""
    rungs = []
    untouched = np.zeros(len(rung.theta), dtype=np.uint8)
    while True:
        for _ in range(SWAPS):
            screen = screened(block, rung.theta, prior_log_odds, ridge)
            swap = screen.best_swap(MOVES, untouched)
            if swap is None or swap[0] > -LOWER:
                break
            rung = _moved(rung, prior_log_odds, *swap)
        rungs.append(rung)
        change, drop, add = screen.best(MOVES, bool(up_to), False)
        wanted = np.flatnonzero(add >= 0 if up_to else drop >= 0)
        if rung.size <= 1 - bool(up_to) or rung.size == up_to or not len(wanted):
            return rungs
        first = wanted[0]
        rung = _moved(rung, prior_log_odds, change[first], drop[first], add[first])


def _moved(rung: Rung, prior_log_odds: Array, change: float, drop: int, add: int) -> Rung:
    size = rung.size - (drop >= 0) + (add >= 0)
    theta = np.copysign(CERTAIN, switched(rung.theta, prior_log_odds, drop, add))
    return Rung(size, rung.energy + float(change), theta)
