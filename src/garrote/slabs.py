"""Parts of a matrix, or of arrays with an element per feature, that are worked on one after the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from garrote.arrays import Array, Index

#: A pass visits X in slabs of columns with about so many elements (8 MB in float64).
SLAB_ELEMENTS = 1_000_000

#: Slabs that are looked at several times are smaller, so that they stay in the cache.
CACHED_ELEMENTS = 200_000

#: Arrays with an element per feature are worked on in slabs of so many, where that needs arrays of its own.
SLAB_FEATURES = 1 << 15


def row_slabs(n_samples: int, n_columns: int, elements: int | None = None) -> list[slice]:
    """Slices of rows, each several times as many as columns, whose float64 copy stays in the cache, if it can."""
    step = max(4 * n_columns, (elements or CACHED_ELEMENTS) // max(1, n_columns))
    return [slice(start, min(start + step, n_samples)) for start in range(0, n_samples, step)]


def column_slabs(shape: tuple[int, int], elements: int | None = None) -> list[slice]:
    """Slices of columns with about so many elements each."""
    n_samples, n_features = shape
    step = max(1, (elements or SLAB_ELEMENTS) // max(1, n_samples))
    return [slice(start, min(start + step, n_features)) for start in range(0, n_features, step)]


def feature_slabs(n_features: int) -> list[slice]:
    """Slices of the features, so that what is computed of each on the way stays in the cache."""
    return column_slabs((1, n_features), SLAB_FEATURES)


def largest(values: Callable[[slice], Array], n_features: int, most: int, above: float = -np.inf) -> Index:
    """The features with values above a bound, or so many of the largest; ``values`` are asked for slab by slab."""
    features, found = np.empty(0, dtype=np.intp), np.empty(0)
    for part in feature_slabs(n_features):
        value = values(part)
        higher = np.flatnonzero(value > above)
        features, found = np.append(features, part.start + higher), np.append(found, value[higher])
        if len(features) > most:
            top = np.sort(np.argpartition(found, -most)[-most:])
            features, found = features[top], found[top]
            above = float(found.min())
    return features
