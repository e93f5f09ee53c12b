"""Tall matrices, reduced to square ones with the same products: R, upper triangular, with RᵀR = AᵀA.

Where the columns are well conditioned, products and their Cholesky factor lose no digits that matter. Otherwise
reflections take several times as long, and lose none at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from scipy import linalg

from garrote.arrays import Array

Slab = TypeVar("Slab")

#: Columns are well conditioned where the reciprocal condition number of their correlations is above this.
WELL_CONDITIONED = 1e-4

#: The squares of columns that are shorter or longer than these are not exact.
SHORTEST, LONGEST = 1e-140, 1e150


def triangle_of_products(products: Array) -> Array | None:
    """R from the upper part of AᵀA; None where that has lost digits. Columns of zeros stay what they are."""
    scale = np.sqrt(products.diagonal())
    unit = np.where(scale == 0.0, 1.0, scale)
    if not ((unit > SHORTEST) & (unit < LONGEST)).all():
        return None
    correlations = np.triu(products / unit / unit[:, None], 1)
    correlations += correlations.T
    np.fill_diagonal(correlations, 1.0)
    norm = float(np.abs(correlations).sum(axis=0).max())
    root, failed = linalg.lapack.dpotrf(correlations)
    if failed or linalg.lapack.dpocon(root, norm)[0] < WELL_CONDITIONED:
        return None
    return np.asfortranarray(root * scale)


def triangle_of_rows(part: Callable[[Slab], Array], slabs: Sequence[Slab]) -> Array:
    """R by reflections, of the rows that ``part`` gives for each slab."""
    root = np.empty((0, 0))
    for slab in slabs:
        rows = part(slab)
        tall = np.vstack([root, rows]) if len(root) else rows
        root = np.array(linalg.qr(tall, mode="r", overwrite_a=True, check_finite=False)[0][: rows.shape[1]])
    return np.pad(root, ((0, root.shape[1] - len(root)), (0, 0)))
