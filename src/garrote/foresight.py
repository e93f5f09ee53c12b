"""Where the next solution of a branch will be.

While no feature jumps, the inclusions of the features that are out of the model grow like e^γ, and with them all that
they do to the others. So θ − γ and w are almost linear functions of e^γ, and are extrapolated as polynomials in it:
linear ones from two solutions of the same branch, quadratic ones from three that select the same features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import takewhile

import numpy as np

from garrote.arrays import Array
from garrote.points import Point, Start

#: θ is foreseen to change by so much at most from one γ to the next.
FORESIGHT = 2.0

#: Larger weights of the last changes, where the steps of γ are large or very unequal, foresee nothing.
LARGEST_WEIGHT = 100.0


def foreseen(grid: Array, k: int, step: int, points: Sequence[Point]) -> Start:
    """A start at the k-th γ from the points one, two and three steps away, or as many of them as there are."""
    size = len(points[0].theta)
    alike = list(takewhile(lambda point: len(point.theta) == size, points))  # a working set may have grown
    if len(alike) < 2 or not alike[0].same_branch(alike[1]):
        return Start(points[0].theta, points[0].w)
    near, far, farther = alike[0], alike[1], alike[-1]
    if not near.same_selection(far) or not far.same_selection(farther):
        farther = far
    at = [float(grid[k + step * (i + 1)]) for i in range(2 if farther is far else 3)]
    first, second = weights(float(grid[k]), at)
    shift = float(grid[k]) - at[0] - first * (at[0] - at[1])
    if second:
        shift -= second * (at[1] - at[2])
    change = first * (near.theta - far.theta) + second * (far.theta - farther.theta) + shift
    return Start(
        near.theta + np.clip(change, -FORESIGHT, FORESIGHT),
        near.w + (first * (near.w - far.w) + second * (far.w - farther.w)),
    )


def weights(gamma: float, at: Sequence[float]) -> tuple[float, float]:
    """The weights of the last change and of the one before it, in the polynomial of e^γ through all that is known."""
    t, last, before = (math.expm1(min(other - at[0], 500.0)) for other in (gamma, at[1], at[-1]))
    first, second = -t / last, 0.0
    if before != last:
        second = -t * (t - last) / (before * (before - last))
        first = second - t * (t - before) / (last * (last - before))
    return (first, second) if max(abs(first), abs(second)) < LARGEST_WEIGHT else (0.0, 0.0)
