"""Dask: inputs that live on the workers of a cluster.

:class:`DaskDesign` makes every pass over X on the workers, as an ordinary dask computation by the scheduler or Client
that is current. Only vectors travel, and the columns of the working set. Nothing is persisted: what should stay in the
workers' memory, the user persists.

Where there are many more rows than columns, one tree reduction finds the moments of the rows (of each fold, where there
are folds), and a few weighted rows with these moments stand for all the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed
from numpy.typing import NDArray

from garrote.arrays import Array, Index, Split
from garrote.checks import check_no_negative_weight, check_numeric_columns, check_outputs, check_weights, some
from garrote.design import Design, as_dense, as_design
from garrote.slabs import SLAB_ELEMENTS
from garrote.sources.reduction import (
    Spread,
    members_of,
    representatives,
    represented,
    roots,
    row_groups,
    spread_of_rows,
)

#: So many products of features, of all folds together, may be reduced to: 800 MB, as of 10⁴ features without folds.
MOST_PRODUCTS = 10_000**2

#: Parts that are merged at a time.
FAN_IN = 8


class DaskDesign(Design):
    """A dask array in chunks of any shape, or some of its rows."""

    remote = True

    def __init__(self, X: da.Array, rows: Index | None = None, feature_names: NDArray[Any] | None = None) -> None:
        self.X = X
        self.rows = rows
        self.feature_names = feature_names
        self.shape = (X.shape[0] if rows is None else len(rows), X.shape[1])

    def transpose_dot(self, r: Array) -> Array:
        vectors = self._at_all_rows(r).reshape(len(self.X), -1)
        few = da.from_array(vectors, chunks=(self.X.chunks[0], -1), name=False)
        parts = _over_blocks(_transpose_dot, "ijk", self.X, "ij", few, "ik", adjust_chunks={"i": 1})
        return _total(parts, axis=0).reshape(self.shape[1], *r.shape[1:])

    def columns(self, features: Index) -> Array:
        ascending, place = np.unique(features, return_inverse=True)
        columns = as_dense(self.X[:, ascending].compute())[:, place]
        return np.asfortranarray(columns if self.rows is None else columns[self.rows], dtype=np.float64)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        each = da.from_array(self._at_all_rows(weights), chunks=(self.X.chunks[0],), name=False)
        parts = _over_blocks(_squares, "ij", self.X, "ij", each, "i", adjust_chunks={"i": 1}, dtype=object)
        spreads: tuple[Spread, ...] = dask.compute(*(_tree_sum(blocks) for blocks in parts.to_delayed().T))
        mean = np.concatenate([spread.mean[0] for spread in spreads])
        self._refuse_missing(mean)
        return mean, np.concatenate([spread.about[0] / spread.weight for spread in spreads])

    def dot(self, features: Index, v: Array) -> Array:
        X, (coef,) = self._touched(features, v)
        total = _total(_over_blocks(_dot, "ij", X, "ij", coef, "j", adjust_chunks={"j": 1}), axis=1)
        return total if self.rows is None else total[self.rows]

    def outer(self, features: Index, centre: Array, scale: Array) -> Array:
        X, (centres, scales) = self._touched(features, centre, scale)
        options = {"adjust_chunks": {"j": 1}, "new_axes": {"k": len(X)}}
        parts = _over_blocks(_outer, "jik", X.rechunk({0: -1}), "ij", centres, "j", scales, "j", **options)
        total = _total(parts, axis=0)
        return total if self.rows is None else total[np.ix_(self.rows, self.rows)]

    def _touched(self, features: Index, *values: Array) -> tuple[da.Array, list[da.Array]]:
        """The column chunks that some features are in, and values of these features spread over them, else zero."""
        ends = np.cumsum(self.X.chunks[1])
        touched = np.unique(np.searchsorted(ends, features, side="right"))
        X = self.X.blocks[:, touched if len(touched) else [0]]
        inside = np.isin(np.searchsorted(ends, np.arange(self.shape[1]), side="right"), touched)
        lazy = []
        for value in values:
            spread = np.zeros(self.shape[1])
            np.add.at(spread, features, value)
            lazy.append(da.from_array(spread[inside], chunks=(X.chunks[1],), name=False))
        return X, lazy

    def take(self, rows: Index | slice) -> Design:
        here = np.arange(len(self.X)) if self.rows is None else self.rows
        return DaskDesign(self.X, here[rows], self.feature_names)

    def condensed(self, y: Any, sample_weight: Any, splits: Sequence[Split]) -> tuple[Any, Any, Any, Sequence[Split]]:
        n_samples, n_features = self.shape
        y, sample_weight = _as_vector("y", y, n_samples), _as_vector("sample_weight", sample_weight, n_samples)
        group, n_groups = row_groups(n_samples, splits)
        n_rows = n_features + 2  # that represent a group
        if self.rows is not None or n_samples <= n_groups * n_rows or n_groups * n_features**2 > MOST_PRODUCTS:
            y, sample_weight = dask.compute(y, sample_weight)
            return self, check_outputs(y, n_samples), sample_weight, splits
        spread = self._products(y, sample_weight, group, n_groups)
        rows, weights = representatives(spread.weight, spread.mean, roots(spread))
        return rows[:, :-1], rows[:, -1].copy(), weights, represented(splits, group, n_rows)

    def _products(self, y: Any, sample_weight: Any, group: Index, n_groups: int) -> Spread:
        """The spread of the columns of X and of y, in each group of rows: one pass over the data."""
        X = self.X if self.X.numblocks[1] == 1 else self.X.rechunk({0: "auto", 1: -1})
        sample_weight = da.ones(len(X), chunks=(X.chunks[0],)) if sample_weight is None else sample_weight
        vectors = []
        for vector in (y, sample_weight, group.astype(np.min_scalar_type(n_groups))):
            lazy = vector if isinstance(vector, da.Array) else da.from_array(vector, (X.chunks[0],), name=False)
            vectors += [lazy.rechunk((X.chunks[0],)), "i"]
        parts = _over_blocks(
            _products,
            "i",
            X,
            "ij",
            *vectors,
            adjust_chunks={"i": 1},
            dtype=object,
            concatenate=True,
            n_groups=n_groups,
        )
        with warnings.catch_warnings():  # a number for each row is little beside X
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            spread: Spread = _tree_sum(parts.to_delayed()).compute()
        if not np.isfinite(spread.weight).all():
            raise ValueError("sample_weight contains NaN or infinity; give each row a finite number, or drop the row.")
        self._refuse_missing(spread.mean[:, :-1].sum(axis=0))
        if not np.isfinite(spread.mean[:, -1]).all():
            raise ValueError("y contains NaN or infinity; drop those rows of X and y first.")
        overflowing = np.flatnonzero(~np.isfinite(spread.about.sum(axis=(0, 1))))
        if len(overflowing):
            what = "y" if overflowing[0] == self.shape[1] else f"X, in column {self._name(overflowing[0])},"
            raise ValueError(f"{what} has values whose squares overflow; divide it by a power of ten.")
        return spread

    def _refuse_missing(self, means: Array) -> None:
        """NaN and infinity come through in a column's mean."""
        bad = np.flatnonzero(~np.isfinite(means))
        if len(bad):
            where = some([self._name(feature) for feature in bad])
            raise ValueError(
                f"X contains NaN or infinity, in column {where}; drop those rows or columns, or impute them first."
            )

    def _name(self, feature: Any) -> str:
        return str(feature) if self.feature_names is None else repr(self.feature_names[feature])

    def _at_all_rows(self, values: Array) -> Array:
        """A value for each row of the whole array: zero for those that are not in this design."""
        if self.rows is None:
            return values
        spread = np.zeros((len(self.X), *values.shape[1:]))
        np.add.at(spread, self.rows, values)
        return spread


def dask_design(X: Any) -> DaskDesign:
    """The DaskDesign of a dask array or DataFrame; the row counts of a DataFrame's partitions are computed."""
    array = as_array("X", X, n_dims=2)
    names = np.array([str(name) for name in X.columns], dtype=object) if hasattr(X, "columns") else None
    if array.shape[0] < 2 or array.shape[1] < 1:
        raise ValueError(f"X has shape {array.shape}; give at least two samples and one feature.")
    return DaskDesign(array, feature_names=names)


def lazy_columns(X: Any, features: Index, n_features: int) -> da.Array:
    """Some columns of a dask array, which need not know its number of rows, or of a DataFrame."""
    array = as_array("X", X, n_dims=2, counted=False)
    if array.shape[1] != n_features:
        raise ValueError(f"X has {array.shape[1]} features, but the model was fitted to {n_features}.")
    return array[:, features].map_blocks(as_dense, dtype=array.dtype, meta=np.empty((0, 0), dtype=array.dtype))


def as_array(name: str, values: Any, n_dims: int, *, counted: bool = True) -> da.Array:
    """A numeric dask array of a dask array, DataFrame or Series; with known chunk sizes, if ``counted``."""
    if hasattr(values, "to_dask_array") and not isinstance(values, Delayed):  # which claims to have any attribute
        meta = values._meta if values.ndim == 2 else values._meta.to_frame()
        check_numeric_columns(name, meta)
        if any(not isinstance(dtype, np.dtype) for dtype in meta.dtypes):  # pandas' nullable and Arrow types
            values = values.astype(np.float64)
        values = values.to_dask_array(lengths=True)
    if not isinstance(values, da.Array):
        raise TypeError(f"{name} is a dask {type(values).__name__}; give a dask array or a dask DataFrame.")
    if n_dims == 1 and values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != n_dims:
        raise ValueError(f"{name} has shape {values.shape}; give {n_dims} dimension{'s' * (n_dims > 1)}.")
    if counted and np.isnan([size for sizes in values.chunks for size in sizes]).any():
        raise ValueError(
            f"{name} is a dask array with unknown chunk sizes; call {name}.compute_chunk_sizes() on it first."
        )
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{name} has dtype {values.dtype}; give real numbers.")
    return values


def _as_vector(name: str, values: Any, n_samples: int) -> Any:
    """y or weights, one for each sample; a dask vector stays lazy."""
    if not dask.is_dask_collection(values):
        if name == "y":
            return check_outputs(values, n_samples)
        return None if values is None else check_weights(values, np.empty(n_samples))
    vector = as_array(name, values, n_dims=1)
    if len(vector) != n_samples:
        raise ValueError(f"X has {n_samples} samples but {name} has {len(vector)}; give one for each row.")
    return vector


def _over_blocks(function: Callable[..., Any], out: str, *args: Any, dtype: Any = np.float64, **options: Any) -> Any:
    """The function of every block, with the blocks of the other arguments that belong to it."""
    meta = np.empty((0,) * len(out), dtype=dtype)
    return da.blockwise(function, out, *args, dtype=dtype, meta=meta, **options)


def _total(parts: da.Array, axis: int) -> Array:
    """The sum of all parts: on the workers, unless the parts are so small that the messages would cost more."""
    if parts.size > SLAB_ELEMENTS and parts.numblocks[axis] > 1:
        return np.asarray(parts.sum(axis=axis).compute())
    return np.asarray(parts.compute().sum(axis=axis))


def _tree_sum(parts: Sequence[Any]) -> Any:
    """The sum of delayed spreads, FAN_IN at a time."""
    parts, merge = list(parts), dask.delayed(_sum, pure=False)
    while len(parts) > 1:
        parts = [merge(parts[start : start + FAN_IN]) for start in range(0, len(parts), FAN_IN)]
    return parts[0]


# What the workers do


def _sum(spreads: list[Spread]) -> Spread:
    return reduce(add, spreads)


def _transpose_dot(block: Any, r: Array) -> Array:
    return as_design(block).transpose_dot(r)[None]


def _dot(block: Any, v: Array) -> Array:
    used = np.flatnonzero(v)
    return as_design(block).dot(used, v[used])[:, None]


def _outer(block: Any, centre: Array, scale: Array) -> Array:
    used = np.flatnonzero(scale)
    return as_design(block).outer(used, centre[used], scale[used])[None]


def _squares(block: Any, weights: Array) -> Spread:
    """The spread of each column of one block, as of one group."""
    weight = weights.sum(keepdims=True)
    if not weight.any():
        return Spread(weight, np.zeros((1, block.shape[1])), np.zeros((1, block.shape[1])))
    with np.errstate(invalid="ignore", over="ignore"):  # the design refuses NaN, the problem what overflows
        mean, variance = as_design(block).moments(weights / weight)
    return Spread(weight, mean[None], weight * variance[None])


def _products(block: Any, y: Array, weights: Array, group: NDArray[np.integer], *, n_groups: int) -> Spread:
    """The spread of all columns of some rows and of y."""
    check_no_negative_weight(weights)
    y, weights = (np.asarray(vector, dtype=np.float64) for vector in (y, weights))
    return spread_of_rows(as_design(block), y, weights, members_of(group, n_groups))
