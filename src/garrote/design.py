"""Storage: the three things that a solver asks of a matrix of inputs.

A :class:`Design` answers, for a matrix X of shape (n_samples, n_features) that may be dense, memory-mapped or
sparse, and in any numeric type:

- ``transpose_dot(r)``, the pass Xᵀr over all features;
- ``columns(features)``, a few columns as a float64 array;
- ``moments(weights)``, each column's mean and variance.

X itself is never centred, scaled or copied as a whole. A new storage subclasses :class:`Design` and adds one line to
the contract test.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from garrote import slabs
from garrote._loops import COMPILED, column_moments
from garrote.arrays import Array, Index, Split
from garrote.slabs import column_slabs
from garrote.threads import over_threads, sum_over_threads

#: So many columns are looked at together at least.
FEW_COLUMNS = 16

#: So few vectors are multiplied one by one while a slab is in the cache: BLAS takes longer for a matrix of so few.
FEW = 4


class Respond(Protocol):
    """v of some features, given their products with a residual."""

    def __call__(self, products: Array, part: slice) -> Array: ...

    def to_columns(self, columns: NDArray[Any], r: NDArray[Any], part: slice) -> Array:
        """The columns' product with their v, for a residual r, compiled."""


class Design(ABC):
    """A matrix of inputs, asked only for passes, a few columns, and column moments."""

    shape: tuple[int, int]
    remote = False  #: whether other processes make the passes, so that folds had better wait for each other

    #: The names of the columns, where they are known.
    feature_names: NDArray[Any] | None = None

    #: Columns that are always in the model, unless whoever fits says otherwise.
    unpenalized: Index = np.empty(0, dtype=np.intp)

    @abstractmethod
    def transpose_dot(self, r: Array) -> Array:
        """Xᵀr for one vector or a few (n_samples × k), as a new float64 array: a pass over the whole matrix."""

    @abstractmethod
    def columns(self, features: Index) -> Array:
        """X[:, features] as a new float64 array in Fortran order."""

    @abstractmethod
    def moments(self, weights: Array) -> tuple[Array, Array]:
        """Weighted mean and variance of each column; weights sum to one."""

    def first_look(self, weights: Array, e: Array | None) -> tuple[Array, Array, Array | None]:
        """These moments, and the centred columns' products with e where they take no other pass."""
        return (*self.moments(weights), None)

    @abstractmethod
    def take(self, rows: Index | slice) -> Design:
        """The design of some of the samples."""

    def part(self, rows: Index, features: Index) -> Array:
        """Some rows of some columns, as ``columns``."""
        return np.asfortranarray(self.columns(features)[rows])

    def in_double(self) -> Design:
        """A design whose passes are computed in float64 even where X is stored in less; itself where they are."""
        return self

    def dot(self, features: Index, v: Array) -> Array:
        """X[:, features] @ v."""
        total = np.zeros(self.shape[0])
        for part in column_slabs((self.shape[0], len(features))):
            total += self.columns(features[part]) @ v[part]
        return total

    def round_trip(self, r: Array, respond: Respond) -> Array:
        """X·v with v = respond((Xᵀr)[part], part) for slices ``part`` of the features: a pass there and back."""
        everything = np.arange(self.shape[1])
        return self.dot(everything, respond(self.transpose_dot(r), slice(0, self.shape[1])))

    def outer(self, features: Index, centre: Array, scale: Array) -> Array:
        """Σ_i scale_i (x_i − centre_i)(x_i − centre_i)ᵀ of some features, n_samples × n_samples."""

        def one_slab(part: slice) -> Array:
            columns = self.columns(features[part]) - centre[part]
            return (columns * scale[part]) @ columns.T

        n_samples = self.shape[0]
        parts = over_threads(one_slab, column_slabs((n_samples, len(features))))
        return sum(parts, np.zeros((n_samples, n_samples)))

    def condensed(self, y: Any, sample_weight: Any, splits: Sequence[Split]) -> tuple[Any, Any, Any, Sequence[Split]]:
        """Inputs, outputs, weights and splits with the same moments in every part: where they are smaller, others."""
        if not splits:
            return self, y, sample_weight, splits
        from garrote.sources.reduction import condense

        return condense(self, y, sample_weight, splits)


class DenseDesign(Design):
    """A NumPy array or memmap of any real dtype, in C or Fortran order.

    float32 stays float32 in the passes, at half the memory traffic, unless ``double``.
    """

    def __init__(self, X: NDArray[Any], *, double: bool = False) -> None:
        self.X = X
        self.shape = X.shape
        self.double = double
        #: Whether passes are computed in the dtype of X.
        self.floating = X.dtype == np.float64 or (X.dtype == np.float32 and not double)
        self.by_columns = X.flags.f_contiguous and X.dtype in (np.float64, np.float32)  #: for the compiled loops
        #: Whether slabs are of rows: slabs of few columns would read whole rows, or much of them, each.
        self.by_rows = X.shape[0] > X.shape[1] and abs(X.strides[1]) < abs(X.strides[0])

    def in_double(self) -> Design:
        single = self.floating and self.X.dtype == np.float32
        return DenseDesign(self.X, double=True) if single else self

    def transpose_dot(self, r: Array) -> Array:
        if r.ndim == 1 and self.X.dtype == np.float64 and self.X.size <= slabs.SLAB_ELEMENTS:
            return self.X.T @ r  # one slab: a small fit does not want to prepare for more
        size = 1.0 if self.X.dtype == np.float64 else _magnitude(r)  # any r fits into float32 when it is about one
        r = (r / size).astype(self.X.dtype, copy=False) if self.floating else r / size
        if self.by_rows:
            return size * self._sum_over_rows(lambda slab, rows: slab.T @ r[rows], single=self.floating)
        out = np.empty((self.shape[1], *r.shape[1:]))
        few = r.ndim == 2 and r.shape[1] <= FEW

        def one_slab(part: slice) -> None:
            slab = self.X[:, part]
            slab = (slab if self.floating else slab.astype(np.float64)).T
            if few:
                for j, vector in enumerate(r.T):
                    out[part, j] = slab @ vector
            else:
                out[part] = slab @ r

        over_threads(one_slab, column_slabs(self.shape, slabs.CACHED_ELEMENTS if few else None))
        return out if size == 1.0 else out * size

    def columns(self, features: Index) -> Array:
        if self._are_all(features):
            return np.array(self.X, dtype=np.float64, order="F")
        if self.X.flags.f_contiguous:  # several times as fast where columns are long
            return np.asarray(np.take(self.X.T, features, axis=0).T, dtype=np.float64)
        return np.asfortranarray(self.X[:, features], dtype=np.float64)

    def part(self, rows: Index, features: Index) -> Array:
        if self._are_all(features):
            some = np.take(self.X.T, rows, axis=1).T if self.X.flags.f_contiguous else self.X[rows]
            return np.asfortranarray(some, dtype=np.float64)
        return np.asfortranarray(self.X[np.ix_(rows, features)], dtype=np.float64)

    def _are_all(self, features: Index) -> bool:
        """Whether these are all the features in their order, so that there is nothing to gather."""
        return len(features) == self.shape[1] and bool((features[:-1] < features[1:]).all())

    def moments(self, weights: Array) -> tuple[Array, Array]:
        return self.first_look(weights, None)[:2]

    def first_look(self, weights: Array, e: Array | None) -> tuple[Array, Array, Array | None]:
        if self.by_rows:
            return self._first_look_by_rows(weights, e)
        mean, variance = np.empty((2, self.shape[1]))
        products = None if e is None else np.empty(self.shape[1])
        compiled = COMPILED and self.by_columns  # in chunks of rows, so that a few columns stay in the cache
        elements = max(slabs.CACHED_ELEMENTS, FEW_COLUMNS * self.shape[0] if compiled else 0)

        def one_slab(part: slice) -> None:
            its_products = None if products is None else products[part]
            if compiled:
                column_moments(self.X[:, part], weights, e, mean[part], variance[part], its_products)
                return
            slab = np.asarray(self.X[:, part], dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # the problem refuses what is not finite
                first = weights @ slab
                centred = slab - first
                rest = weights @ centred  # the second look removes the rounding of a large mean
                mean[part] = first + rest
                centred -= rest
                if e is not None and its_products is not None:
                    its_products[:] = e @ centred
                variance[part] = weights @ np.square(centred, out=centred)

        over_threads(one_slab, column_slabs(self.shape, elements))
        return mean, variance, products

    def _first_look_by_rows(self, weights: Array, e: Array | None) -> tuple[Array, Array, Array | None]:
        first = self._sum_over_rows(lambda slab, rows: weights[rows] @ slab)

        def about_first(slab: Array, rows: slice) -> Array:
            centred = slab - first
            rest, w = np.zeros((3, self.shape[1])), weights[rows]
            rest[0] = w @ centred
            if e is not None:
                rest[1] = e[rows] @ centred
            rest[2] = w @ np.square(centred, out=centred)
            return rest

        rest, products, square = self._sum_over_rows(about_first)
        with np.errstate(over="ignore", invalid="ignore"):
            if e is not None:
                products -= e.sum() * rest
            return first + rest, square - rest**2, None if e is None else products

    def _sum_over_rows(self, function: Callable[[Array, slice], Array], *, single: bool = False) -> Array:
        """Σ function(slab, rows) over slabs of rows, which are in float64 unless ``single``."""

        def one_slab(rows: slice) -> Array:
            slab = self.X[rows] if single else np.asarray(self.X[rows], dtype=np.float64)
            with np.errstate(over="ignore", invalid="ignore"):  # the problem refuses what is not finite
                return np.asarray(function(slab, rows), dtype=np.float64)

        return sum_over_threads(one_slab, column_slabs(self.X.T.shape, slabs.CACHED_ELEMENTS))

    def dot(self, features: Index, v: Array) -> Array:
        if not self.floating or len(features) < self.shape[1] // 16:
            return super().dot(features, v)
        spread = np.zeros(self.shape[1], dtype=self.X.dtype)  # for so many columns a whole pass beats gathering them
        spread[features] = v
        if self.by_rows:
            products = over_threads(lambda rows: self.X[rows] @ spread, column_slabs(self.X.T.shape))
            return np.concatenate(products, dtype=np.float64)
        return sum(over_threads(lambda part: self.X[:, part] @ spread[part], column_slabs(self.shape)), np.zeros(1))

    def round_trip(self, r: Array, respond: Respond) -> Array:
        """Column by column where they are contiguous, so that X is read from memory once."""
        if not self.floating or self.by_rows:
            return super().round_trip(r, respond)
        r = r.astype(self.X.dtype, copy=False)

        def one_slab(part: slice) -> Array:
            slab = self.X[:, part]
            if COMPILED and self.by_columns:
                return respond.to_columns(slab, r, part)
            v = respond((slab.T @ r).astype(np.float64, copy=False), part)
            return slab @ v.astype(self.X.dtype, copy=False)

        return sum(over_threads(one_slab, column_slabs(self.shape)), np.zeros(1))

    def take(self, rows: Index | slice) -> Design:
        if isinstance(rows, slice) or self.X.size <= slabs.SLAB_ELEMENTS:
            return DenseDesign(self.X[rows], double=self.double)
        return Rows(self, rows)


class SparseDesign(Design):
    """A scipy.sparse matrix, kept as it is and never densified as a whole."""

    def __init__(self, X: Any) -> None:
        X = X if X.format in ("csc", "csr") else X.tocsc()
        if not X.has_canonical_format:  # entries that are stored twice count as their sum
            X = X.copy()
            X.sum_duplicates()
        self.X = X
        self.shape = X.shape

    @cached_property
    def _by_rows(self) -> Any:
        """X in the format in which slabs of rows are found at once."""
        return self.X.tocsr()

    def transpose_dot(self, r: Array) -> Array:
        return np.asarray(self.X.T @ r, dtype=np.float64)

    def columns(self, features: Index) -> Array:
        return np.asfortranarray(self.X[:, features].toarray(), dtype=np.float64)

    def part(self, rows: Index, features: Index) -> Array:
        if len(features) == self.shape[1]:
            some = self._by_rows[rows][:, features]
        else:
            some = self.X[rows][:, features] if self.X.format == "csr" else self.X[:, features][rows]
        return np.asfortranarray(some.toarray(), dtype=np.float64)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        # Σ w (x − x̄)² = Σ_stored w ((x − x̄)² − x̄²) + x̄² Σ w: only stored entries are visited
        mean, present, count, rest, stored = np.zeros((5, self.shape[1]))
        for row, column, x in self._entries():
            w = weights[row]
            present += np.bincount(column, w, len(mean))
            count += np.bincount(column, w > 0, len(mean))
            mean += np.bincount(column, w * x, len(mean))
        absent = np.maximum(weights.sum() - present, 0.0)
        absent[count == np.count_nonzero(weights)] = 0.0  # not only up to rounding
        for row, column, x in self._entries():
            rest += np.bincount(column, weights[row] * (x - mean[column]), len(mean))
        mean += rest - absent * mean  # the second look removes the rounding of a large mean
        with np.errstate(over="ignore"):
            for row, column, x in self._entries():
                stored += np.bincount(column, weights[row] * (x - mean[column]) ** 2, len(mean))
            return mean, stored + absent * mean**2

    def _entries(self) -> Iterator[tuple[Index, Index, Array]]:
        """Rows, columns and values of the stored entries, some at a time."""
        groups = np.arange(len(self.X.indptr) - 1)
        for first in range(0, self.X.nnz, slabs.SLAB_ELEMENTS):
            part = slice(first, min(first + slabs.SLAB_ELEMENTS, self.X.nnz))
            minor = self.X.indices[part]
            major = np.repeat(groups, np.diff(np.clip(self.X.indptr, part.start, part.stop)))
            row, column = (minor, major) if self.X.format == "csc" else (major, minor)
            yield row, column, self.X.data[part].astype(np.float64)

    def dot(self, features: Index, v: Array) -> Array:
        if len(features) < self.shape[1] // 16:
            return np.asarray(self.X[:, features] @ v, dtype=np.float64)
        everywhere = np.zeros(self.shape[1])
        everywhere[features] = v
        return np.asarray(self.X @ everywhere, dtype=np.float64)

    def take(self, rows: Index | slice) -> Design:
        if isinstance(rows, slice) or self.X.nnz <= slabs.SLAB_ELEMENTS:
            return SparseDesign(self._by_rows[rows])
        return Rows(self, rows)


class Rows(Design):
    """Some samples of a large design, without a copy: a vector over them is one over all samples, with zeros."""

    def __init__(self, whole: Design, rows: Index) -> None:
        self.whole, self.rows = whole, np.asarray(rows)
        if self.rows.dtype == bool:
            self.rows = np.flatnonzero(self.rows)
        self.shape = (len(self.rows), whole.shape[1])

    def transpose_dot(self, r: Array) -> Array:
        return self.whole.transpose_dot(self._everywhere(r))

    def columns(self, features: Index) -> Array:
        return self.whole.part(self.rows, features)

    def part(self, rows: Index, features: Index) -> Array:
        return self.whole.part(self.rows[rows], features)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        return self.whole.moments(self._everywhere(weights))

    def first_look(self, weights: Array, e: Array | None) -> tuple[Array, Array, Array | None]:
        return self.whole.first_look(self._everywhere(weights), None if e is None else self._everywhere(e))

    def take(self, rows: Index | slice) -> Design:
        return Rows(self.whole, self.rows[rows])

    def in_double(self) -> Design:
        whole = self.whole.in_double()
        return self if whole is self.whole else Rows(whole, self.rows)

    def dot(self, features: Index, v: Array) -> Array:
        return self.whole.dot(features, v)[self.rows]

    def round_trip(self, r: Array, respond: Respond) -> Array:
        return self.whole.round_trip(self._everywhere(r), respond)[self.rows]

    def _everywhere(self, r: Array) -> Array:
        """A vector, or a few, over all samples; those that were taken twice count twice."""
        out = np.zeros((self.whole.shape[0], *r.shape[1:]))
        np.add.at(out, self.rows, r)
        return out


def _magnitude(r: Array) -> float:
    """The power of two at the largest |r|, so that a division by it is exact; 1 for zero."""
    largest = float(np.abs(r).max(initial=0.0))
    return math.ldexp(1.0, math.frexp(largest)[1]) if 0.0 < largest < 2.0**1023 else 1.0


def as_dense(X: Any) -> NDArray[Any]:
    """A small array or sparse matrix as an array."""
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X)


def is_dask(X: Any) -> bool:
    """Whether X is lazy, a dask array or DataFrame; without importing dask."""
    return hasattr(X, "__dask_graph__")


def as_design(X: Any) -> Design:
    """The Design of an array, memmap, sparse matrix, dask array or DataFrame, or Design."""
    if isinstance(X, Design):
        return X
    if is_dask(X):
        from garrote.sources.dask_arrays import dask_design

        return dask_design(X)
    if sparse.issparse(X):
        return SparseDesign(X)
    return DenseDesign(X)
