"""The plain NumPy twins of ``_outside.pyx``: the fallback without a compiler, and the oracle of its tests.

What is computed of each feature on the way is computed slab by slab, so that it stays in the cache.
"""

from __future__ import annotations

import numpy as np

from garrote.arrays import Array, Index
from garrote.slabs import feature_slabs, largest

#: More is no more likely.
MOST_LIKELY = 700.0


def bin_correlations(
    c: Array, inverse_norm: Array, prior_log_odds: Array | None, inside: Index, counts: Array, least: float
) -> float:
    slabs = feature_slabs(len(c))
    largest_z = max(float(_z(c, inverse_norm, inside, part).max()) for part in slabs)
    width = (largest_z if largest_z > least else 1.0) / (len(counts) - 0.5)
    for part in slabs:
        weight = np.ones(part.stop - part.start)
        if prior_log_odds is not None:
            weight = np.exp(np.minimum(prior_log_odds[part], MOST_LIKELY))
        weight[_inside(inside, part)] = 0.0
        counts += np.bincount((_z(c, inverse_norm, inside, part) / width).astype(np.intp), weight, len(counts))
    return width


def likeliest(
    c: Array,
    inverse_norm: Array,
    prior_log_odds: Array | None,
    inside: Index,
    kappa: float,
    above: float,
    most: int,
) -> Index:
    def log_odds(part: slice) -> Array:
        value = kappa * _z(c, inverse_norm, inside, part) ** 2
        if prior_log_odds is not None:
            value += prior_log_odds[part]
        value[_inside(inside, part)] = -np.inf
        return value

    return largest(log_odds, len(c), most, above)


def inclusions(
    z: Array, weight: Array, gamma: float, kappa: float, moved: float, inclusion: Array
) -> tuple[float, float]:
    np.exp(np.minimum(gamma + kappa * (z + moved) ** 2, 0.0), out=inclusion)
    included = weight * inclusion
    return float(included.sum()), float(included @ z**2)


def _inside(inside: Index, part: slice) -> Index:
    """Where in a part of the features those inside are."""
    first, last = np.searchsorted(inside, (part.start, part.stop))
    return inside[first:last] - part.start


def _z(c: Array, inverse_norm: Array, inside: Index, part: slice) -> Array:
    """|c|/√χ_ii of a part of the features, 0 for those inside."""
    z = np.abs(c[part])
    z *= inverse_norm[part]
    z[_inside(inside, part)] = 0.0
    return z
