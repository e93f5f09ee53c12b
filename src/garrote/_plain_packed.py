"""The plain twins of garrote._packed: products with packed genotypes, four to a byte."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from garrote.arrays import Array, Index


def transpose_dot(
    packed: NDArray[np.uint8],
    variants: Index,
    table: Array,
    starts: Index,
    missing: NDArray[np.int32],
    mean: Array,
    r: Array,
    out: Array,
) -> None:
    """out_j = Σ_p table[p, byte p of variant j] + mean_j Σ_missing r."""
    place = np.arange(len(table))
    for j, variant in enumerate(variants):
        listed = missing[starts[variant] : starts[variant + 1]]
        out[j] = table[place, packed[variant]].sum() + mean[j] * r[listed].sum()


def add_columns(
    packed: NDArray[np.uint8],
    variants: Index,
    dosages: Array,
    starts: Index,
    missing: NDArray[np.int32],
    mean: Array,
    v: Array,
    out: Array,
) -> None:
    """out += Σ_j v_j x_j; ``dosages`` holds the four genotypes of each of the 256 bytes."""
    for j, variant in enumerate(variants):
        out += v[j] * dosages[packed[variant]].ravel()
        out[missing[starts[variant] : starts[variant + 1]]] += v[j] * mean[j]
