"""Exchange moves: leave a local minimum by swapping, adding or dropping selected features.

With the selected features O (m > ½) in the model for certain and all others out of it, v = P b_O with
P = (χ_OO + diag(d − χ))⁻¹. Dropping i raises E by v_i²/P_ii. Adding j lowers it by c_j²/s_j, with
s_j = d_j − χ_jO P χ_Oj. After i was dropped, c_j and s_j become c_j + G_ji v_i/P_ii and s_j + G_ji²/P_ii, with G = χ P.
So the F of every drop, add and swap follows from one small inverse, and only the best few are solved.

Among strongly correlated features several must often be exchanged at once, though each move alone raises F. So a
*chain* makes one of the best swaps, uphill or not, then the best move of features that were not touched yet, and so on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg.lapack import dpotrf, dpotri

from garrote._loops import COMPILED, BlockScreen
from garrote.arrays import Array, Index
from garrote.block import Block
from garrote.limits import NOISE_FLOOR
from garrote.points import Start

#: A move is worth solving when its screened F is at most this far above the present one (the solve will lower it).
#: Of some hundred moves that found a lower F none was above 0.73, and no addition above −0.09.
SLACK = 0.75
SLACK_OF_ADDITIONS = 0.0

#: A chain that has led so far uphill is given up: of some hundred that found a lower F none had risen by more than 4.8.
UPHILL = 6.0

#: So many of the best moves are solved before a solution counts as settled.
MOVES = 10

#: Moves in a chain at most, and chains that are tried.
DEPTH = 4
CHAINS = 2

#: θ of a feature that a move switches on or off.
SWITCHED = 12.0

#: A feature whose θ is closer to zero is undecided: the descent moves it by itself, and would undo its switch, unless
#: that lowers F by more than this (with 0.5, a search of 2 % more evaluations finds nearly all that 0 would).
DECIDED = 3.0
MUCH = 0.5


class Moves(NamedTuple):
    """Moves with the change of F that each promises, and the position it drops and adds (−1: none)."""

    change: Array
    drop: Index
    add: Index

    def best_first(self, most: int) -> Moves:
        best = np.argsort(self.change)[:most]
        return Moves(self.change[best], self.drop[best], self.add[best])


def moves(block: Block, solution: Array, gamma: Array, ridge: float, *, adds: bool, swaps: bool) -> Iterator[Start]:
    """The most promising starts that differ from a solution's θ by a drop, an add or some swaps."""
    screen = screened(block, solution, gamma, ridge)
    best = list(zip(*screen.best(MOVES, adds, swaps), strict=True))
    decided = np.abs(solution) >= DECIDED
    for change, drop, add in best:
        lasts = change < -MUCH or any(decided[i] for i in (drop, add) if i >= 0)
        if change < (SLACK if drop >= 0 else SLACK_OF_ADDITIONS) and lasts:
            yield Start(switched(solution, gamma, drop, add), screen.w_after(drop, add))
    chains = [move for move in best if min(move[1:]) >= 0][:CHAINS]
    if chains:
        screen.remember()
    for change, drop, add in chains:
        yield from _chain(block, solution, gamma, ridge, change, drop, add, adds=adds)
        screen.recall()


def screened(block: Block, theta: Array, gamma: Array, ridge: float) -> Screen | BlockScreen:
    """Every move at θ, screened by the compiled loops, unless copies of a column ask for a pseudo-inverse."""
    if COMPILED and block.screen.look(theta, gamma, ridge):
        return block.screen
    return Screen(block, theta, gamma, ridge)


def _chain(
    block: Block, theta: Array, gamma: Array, ridge: float, total: float, drop: int, add: int, *, adds: bool
) -> Iterator[Start]:
    """Starts that differ by a swap and more moves; ``total`` is the change of F that the swap promises."""
    touched = np.zeros(len(theta), dtype=np.uint8)
    for _ in range(DEPTH - 1):
        if total > UPHILL:
            return
        theta = switched(theta, gamma, drop, add)
        touched[[i for i in (drop, add) if i >= 0]] = True
        screen = screened(block, theta, gamma, ridge)
        best = screen.best_link(MOVES, adds, touched)
        if best is None:
            return
        change, drop, add = best
        total += change
        if total < SLACK:
            yield Start(switched(theta, gamma, drop, add), screen.w_after(drop, add))


def switched(theta: Array, gamma: Array, drop: int, add: int) -> Array:
    theta = theta.copy()
    if drop >= 0:
        theta[drop] = min(-SWITCHED, gamma[drop])
    if add >= 0:
        theta[add] = SWITCHED
    return theta


class Screen:
    """What every drop, add and swap would do to F: in NumPy, the oracle of the compiled one."""

    def __init__(self, block: Block, theta: Array, gamma: Array, ridge: float) -> None:
        self.on, self.off = on, off = np.flatnonzero(theta > 0.0), np.flatnonzero(theta <= 0.0)
        self.gamma, self.n_samples, self.block = gamma, block.n_samples, block
        self.d = d = block.chi * (1.0 + ridge)
        K = block.gram[np.ix_(on, on)]
        K.flat[:: len(on) + 1] += d[on] - block.chi[on]
        P = _inverse(K)
        self.v = P @ block.b[on]
        cross = block.gram[np.ix_(off, on)]
        self.G = cross @ P
        self.c = block.b[off] - cross @ self.v
        self.s = np.maximum(d[off] - np.einsum("ij,ij->i", self.G, cross), 1e-12 * d[off])
        self.P_ii = np.maximum(P.diagonal(), 1e-300)
        self.loss = self.v**2 / self.P_ii
        self.noise = max(block.sigma2_y - float(block.b[on] @ self.v), NOISE_FLOOR * block.sigma2_y)

    def remember(self) -> None:
        """A screen of its own is made of every selection: this one stays as it is."""

    recall = remember

    def energy(self, explained: Array) -> Array:
        """The likelihood's part of the change of F, when so much more variance is explained."""
        return 0.5 * self.n_samples * np.log(np.maximum(1.0 - explained / self.noise, 1e-300))

    def best(self, most: int, adds: bool, swaps: bool) -> Moves:
        """The best moves, best first."""
        found = [self.drops()] + [self.adds()] * adds + [self.swaps(most)] * swaps
        return Moves(*(np.concatenate(part) for part in zip(*found, strict=True))).best_first(most)

    def best_swap(self, most: int, touched: NDArray[np.uint8]) -> tuple[float, int, int] | None:
        """The change of F, drop and add of the best of the ``most`` swaps that explain most; None if there is none."""
        return _first(self.swaps(most, touched.astype(bool)))

    def best_link(self, most: int, adds: bool, touched: NDArray[np.uint8]) -> tuple[float, int, int] | None:
        """The same for the best of all moves."""
        found = [self.swaps(most, touched.astype(bool)), self.drops()] + [self.adds()] * adds
        moves = Moves(*(np.concatenate(part) for part in zip(*found, strict=True)))
        known = np.append(touched.astype(bool), False)  # the last one for −1: none
        keep = ~known[moves.drop] & ~known[moves.add]
        return _first(Moves(*(part[keep] for part in moves)))

    def w_after(self, drop: int, add: int) -> Array:
        """w of every feature when a selected one is dropped, another added, or both (−1: none)."""
        on = np.append(self.on[self.on != drop], [add] if add >= 0 else []).astype(np.intp)
        K = self.block.gram[np.ix_(on, on)]
        K.flat[:: len(on) + 1] += self.d[on] - self.block.chi[on]
        v = _inverse(K) @ self.block.b[on]
        w: Array = (self.block.b - self.block.gram[:, on] @ v) / self.d
        w[on] = v
        return w

    def drops(self) -> Moves:
        return Moves(self.energy(-self.loss) + self.gamma[self.on], self.on, _nothing(self.on))

    def adds(self) -> Moves:
        return Moves(self.energy(self.c**2 / self.s) - self.gamma[self.off], _nothing(self.off), self.off)

    def swaps(self, most: int, touched: Array | None = None) -> Moves:
        """The swaps that explain most, of features that were not touched."""
        gain = (self.c[:, None] + self.G * (self.v / self.P_ii)) ** 2 / (self.s[:, None] + self.G**2 / self.P_ii)
        gain -= self.loss
        if touched is not None:
            gain[touched[self.off]] = -np.inf
            gain[:, touched[self.on]] = -np.inf
        few = min(most, gain.size)
        best = np.argpartition(-gain, few - 1, axis=None)[:few] if few else np.empty(0, dtype=np.intp)
        best = best[np.isfinite(gain.flat[best])]
        j, i = np.unravel_index(best, gain.shape)
        drop, add = self.on[i], self.off[j]
        return Moves(self.energy(gain[j, i]) + self.gamma[drop] - self.gamma[add], drop, add)


def _first(moves: Moves) -> tuple[float, int, int] | None:
    change, drop, add = moves.best_first(1)
    return (float(change[0]), int(drop[0]), int(add[0])) if len(change) else None


def _nothing(features: Index) -> Index:
    return np.full(len(features), -1, dtype=np.intp)


def _inverse(K: Array) -> Array:
    """The inverse of a symmetric matrix, which copies of a column make singular."""
    if not len(K):
        return K
    scale = np.sqrt(K.diagonal())  # columns of very different scale are no copies
    unit = np.outer(scale, scale)
    chol, failed = dpotrf(K / unit, lower=1)
    if failed or chol.diagonal().min() < 1e-7:
        return np.asarray(linalg.pinvh(K / unit), dtype=np.float64) / unit
    inverse: Array = dpotri(chol, lower=1)[0]
    return np.where(np.tri(len(K), dtype=bool), inverse, inverse.T) / unit
