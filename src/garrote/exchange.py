"""Exchange moves: leave a local minimum by swapping, adding or dropping one selected feature.

With the selected features O (m > ½) held at their m and all others at zero, v = P b_O with
P = (χ_OO + diag(d/m − χ))⁻¹. Dropping i raises E by v_i²/P_ii. Adding j lowers it by c_j²/s_j, with
s_j = d_j − χ_jO P χ_Oj. After i was dropped, c_j and s_j become c_j + G_ji v_i/P_ii and s_j + G_ji²/P_ii, with G = χ P.
So the F of every drop, add and swap follows from one small inverse, and only the best few are solved.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import linalg
from scipy.special import expit

from garrote.arrays import Array, Index
from garrote.problem import Block

#: A move is worth solving when its screened F is at most this far above the present one (the solve will lower it).
SLACK = 1.0

#: So many of the best moves are solved before a solution counts as settled.
MOVES = 5

#: θ of a feature that a move switches on or off.
SWITCHED = 12.0


def moves(block: Block, solution: Array, gamma: Array, ridge: float) -> Iterator[Array]:
    """The most promising starts θ that differ from a solution's θ by one drop, add or swap, best first."""
    on, off = np.flatnonzero(solution > 0.0), np.flatnonzero(solution <= 0.0)
    change, drop, add = _screen(block, expit(solution[on]), on, off, gamma, ridge)
    best = np.argsort(change)[:MOVES]
    for k in best[change[best] < SLACK]:
        theta = solution.copy()
        if drop[k] >= 0:
            theta[drop[k]] = min(-SWITCHED, gamma[drop[k]])
        if add[k] >= 0:
            theta[add[k]] = SWITCHED
        yield theta


def _screen(block: Block, m: Array, on: Index, off: Index, gamma: Array, ridge: float) -> tuple[Array, Index, Index]:
    """The change of F by every move, with the position it drops and the one it adds (−1: none)."""
    d = block.chi * (1.0 + ridge)
    K = block.gram[np.ix_(on, on)]
    K.flat[:: len(on) + 1] += d[on] / m - block.chi[on]
    P = linalg.pinvh(K) if len(on) else np.zeros((0, 0))
    v = P @ block.b[on]
    cross = block.gram[np.ix_(off, on)]
    G = cross @ P
    c = block.b[off] - cross @ v
    s = np.maximum(d[off] - np.einsum("ij,ij->i", G, cross), 1e-12 * d[off])
    P_ii = np.maximum(P.diagonal(), 1e-300)
    noise = max(block.sigma2_y - float(block.b[on] @ v), 1e-300)

    def energy(explained: Array) -> Array:
        return 0.5 * block.n_samples * np.log(np.maximum(1.0 - explained / noise, 1e-300))

    loss, gain = v**2 / P_ii, c**2 / s
    swap = (c[:, None] + G * (v / P_ii)) ** 2 / (s[:, None] + G**2 / P_ii) - loss
    partners = np.argpartition(-swap, min(MOVES, swap.size) - 1, axis=None)[:MOVES] if swap.size else np.empty(0, int)
    j, i = np.unravel_index(partners, swap.shape)
    change = np.concatenate(
        [
            energy(-loss) + gamma[on],
            energy(gain) - gamma[off],
            energy(swap[j, i]) + gamma[on[i]] - gamma[off[j]],
        ]
    )
    nothing = -np.ones(len(change), dtype=np.intp)
    drop, add = nothing.copy(), nothing.copy()
    drop[: len(on)], add[len(on) : len(on) + len(off)] = on, off
    drop[len(on) + len(off) :], add[len(on) + len(off) :] = on[i], off[j]
    return change, drop, add
