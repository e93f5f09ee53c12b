"""The best selection of each size: from one selection down to none, and up again.

As γ grows the solution jumps, often from very few features to all that matter. Models of a size between are on neither
side of the jump, though F may have its lowest minimum there. So features are dropped one by one, each time the one that
is missed least, and then added one by one, to the single one that is left and to the best of all pairs; at each size
features are swapped for as long as that explains more.

With the selected features in the model for certain, F = −γ·size + what does not depend on γ: one ladder serves all γ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from garrote.arrays import Array, Index
from garrote.block import Block
from garrote.exchange import MOVES, screened, switched
from garrote.limits import INTERPOLATED

#: θ of features that are in the model for certain: where the noise is low, 1 − m counts.
CERTAIN = 30.0

#: Swaps at one size at most.
SWAPS = 10

#: Pairs are looked at where there are so many features at most, and not those whose 1 − r² is smaller than this.
PAIRED = 1000
COPIES = 1e-9

#: Prior log odds against a feature count up to half this times n_samples: more would overflow, and means the same.
MOST_AGAINST = 300.0

#: A swap must lower F by this.
LOWER = 1e-6


class Rung(NamedTuple):
    """A selection of some size."""

    size: int
    energy: float  #: F + γ·size, up to a constant
    theta: Array
    w: Array

    def free_energy(self, gamma: float) -> float:
        """F at γ, up to a constant."""
        return self.energy - gamma * self.size


def ladder(block: Block, selected: Index, prior_log_odds: Array, ridge: float, highest: int) -> list[Rung]:
    """The best selections of every size, from some selected features down, and up to a size."""
    theta = np.full(len(block.features), -CERTAIN)
    theta[selected] = CERTAIN
    down, theta = _climb(block, theta, prior_log_odds, ridge, up_to=0)
    up, _ = _climb(block, theta, prior_log_odds, ridge, up_to=highest)
    if highest >= 2 and 2 <= len(theta) <= PAIRED:
        theta = np.full(len(theta), -CERTAIN)
        theta[list(best_pair(block, prior_log_odds, ridge))] = CERTAIN
        up += _climb(block, theta, prior_log_odds, ridge, up_to=highest, until=up)[0]
    energy, w = 0.5 * block.n_samples * math.log(block.sigma2_y), block.b / (block.chi * (1.0 + ridge))
    empty = Rung(0, energy, np.full(len(theta), -CERTAIN), w)
    best = {rung.size: rung for rung in sorted([empty, *up, *down], key=lambda rung: -rung.energy)}
    return list(best.values())


def best_pair(block: Block, prior_log_odds: Array, ridge: float) -> tuple[int, int]:
    """The two features with the lowest F, of all pairs; single swaps do not always lead there."""
    scale = 1.0 / np.sqrt(block.chi * (1.0 + ridge))
    r, z = block.gram * scale[:, None], block.b * scale
    r *= scale
    apart = 1.0 - np.square(r)
    apart[apart < COPIES] = np.inf
    r *= z[:, None]
    r *= -2.0 * z
    r += np.add.outer(z**2, z**2)
    explained = np.divide(r, apart, out=r)
    noise = np.maximum(block.sigma2_y - explained, INTERPOLATED * block.sigma2_y)
    # F = ½ n log E − Σ prior log odds is lowest where this product is
    against = np.exp(np.minimum(2.0 / block.n_samples * (prior_log_odds.max() - prior_log_odds), MOST_AGAINST))
    noise *= against[:, None]
    noise *= against
    np.fill_diagonal(noise, np.inf)
    i, j = np.unravel_index(np.argmin(noise), noise.shape)
    return int(i), int(j)


def falls_without_end(block: Block, theta: Array, gamma: Array, ridge: float, most: float) -> int:
    """The size to which additions lead from θ, each the best and each lowering F, if it is above ``most``; or zero.

    Where useless features are worth adding one after the other, lowest F means an overfit.
    """
    theta = np.copysign(CERTAIN, theta)
    while (size := int(np.count_nonzero(theta > 0.0))) <= most:
        change, _, add = screened(block, theta, gamma, ridge).best(MOVES, True, False)
        lower = np.flatnonzero((add >= 0) & (change < 0.0))
        if not len(lower):
            return 0
        theta[add[lower[0]]] = CERTAIN
    return size


def _climb(
    block: Block, theta: Array, prior_log_odds: Array, ridge: float, *, up_to: int, until: Sequence[Rung] = ()
) -> tuple[list[Rung], Array]:
    """Rung after rung, down to a single feature or up to a size, or to one of the rungs of an earlier climb.

    Those that interpolate y are left out.
    """
    rungs, known = [], {rung.theta.tobytes() for rung in until}
    untouched = np.zeros(len(theta), dtype=np.uint8)
    while True:
        for _ in range(SWAPS):
            screen = screened(block, theta, prior_log_odds, ridge)
            swap = screen.best_swap(MOVES, untouched)
            if swap is None or swap[0] > -LOWER:
                break
            theta = _moved(theta, prior_log_odds, *swap[1:])
        else:
            screen = screened(block, theta, prior_log_odds, ridge)
        on = theta > 0.0
        size = int(np.count_nonzero(on))
        if screen.noise > INTERPOLATED * block.sigma2_y:
            energy = 0.5 * block.n_samples * math.log(screen.noise) - float(prior_log_odds[on].sum())
            rungs.append(Rung(size, energy, theta, screen.w_after(-1, -1)))
        _, drop, add = screen.best(MOVES, bool(up_to), False)
        wanted = np.flatnonzero(add >= 0 if up_to else drop >= 0)
        if size == (up_to or 1) or not len(wanted) or theta.tobytes() in known:
            return rungs, theta
        theta = _moved(theta, prior_log_odds, drop[wanted[0]], add[wanted[0]])


def _moved(theta: Array, prior_log_odds: Array, drop: int, add: int) -> Array:
    return np.copysign(CERTAIN, switched(theta, prior_log_odds, drop, add))
