"""Where the next solution of a branch will be.

While no feature jumps, the inclusions of the features that are out of the model grow like e^γ, and with them all that
they do to the others. So θ − γ and w are almost linear functions of e^γ, and are extrapolated as polynomials in it:
linear ones from two solutions of the same branch, quadratic ones from three that select the same features.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from garrote.arrays import Array
from garrote.points import Point, Start

#: θ is foreseen to change by so much at most from one γ to the next.
FORESIGHT = 2.0

#: Larger weights of the last changes, where the steps of γ are large or very unequal, foresee nothing.
LARGEST_WEIGHT = 100.0


def foreseen(grid: Array, k: int, step: int, points: Sequence[Point]) -> Start | None:
    """A start at the k-th γ from the points one, two and three steps away, or as many of them as there are.

    None where the second is not on the branch of the first.
    """
    size = len(points[0].theta)
    if len(points) < 2 or len(points[1].theta) != size or not points[0].same_branch(points[1]):
        return None
    near, far, farther = points[0], points[1], points[-1]
    smooth = len(farther.theta) == size and near.same_selection(far) and far.same_selection(farther)
    at = [float(grid[k + step * (i + 1)]) for i in range(len(points) if smooth else 2)]
    first, second = weights(float(grid[k]), at)
    shift = float(grid[k]) - at[0] - first * (at[0] - at[1])
    change: Array = first * (near.state - far.state)
    if second:
        shift -= second * (at[1] - at[2])
        change += second * (far.state - farther.state)
    theta = change[0]
    theta += shift
    np.minimum(theta, FORESIGHT, out=theta)
    np.maximum(theta, -FORESIGHT, out=theta)
    change += near.state
    return Start(change[0], change[1])


def weights(gamma: float, at: Sequence[float]) -> tuple[float, float]:
    """The weights of the last change and of the one before it, in the polynomial of e^γ through all that is known."""
    t, last, before = (math.expm1(min(other - at[0], 500.0)) for other in (gamma, at[1], at[-1]))
    first, second = -t / last, 0.0
    if before != last:
        second = -t * (t - last) / (before * (before - last))
        first = second - t * (t - before) / (last * (last - before))
    return (first, second) if max(abs(first), abs(second)) < LARGEST_WEIGHT else (0.0, 0.0)
