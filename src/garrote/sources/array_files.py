"""Arrays on disk: NumPy's .npy and .npz, scipy's sparse .npz, Zarr."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from garrote.arrays import Array, Index
from garrote.checks import brief, some
from garrote.design import as_dense
from garrote.sources.tables import (
    FRAMES,
    UNREADABLE,
    Table,
    needed,
    read_frame,
    refuse_bomb,
    suffix_of,
    unreadable,
)

#: A Zarr array of more bytes than this is not read but becomes a dask array.
IN_MEMORY = 2**30

#: The array of column names that may lie beside X.
NAMES = "feature_names"

#: Rows or columns of a sparse matrix beyond its number of entries: a shape costs nothing to claim.
MOST_EMPTY = 20_000_000


def read(path: Path, target: str | None) -> Table:
    """X and y of a file of arrays."""
    try:
        arrays = _load(path)
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    if isinstance(arrays, Mapping):
        return _of_named(path, arrays, target)
    X = _check_inputs(path, arrays)
    if target is None:
        return Table(X, None, [])
    companion = _companion(path, target)
    if companion is not None:
        return Table(X, _check_target(path, target, _one_column(companion), X), [], target)
    return _split_off(path, X, target)


def _load(path: Path) -> Any:
    """An array, or a mapping of names to arrays."""
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    if path.suffix.lower() == ".zarr":
        return _load_zarr(path)
    archive = _Archive(path)
    return _sparse(path, archive) if {"format", "shape", "data"} <= set(archive) else archive


class _Archive(Mapping[str, Any]):
    """The arrays of an .npz file, each read when it is asked for, and only if it is as large as it says."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with zipfile.ZipFile(path) as file:
            self.members = {info.filename.removesuffix(".npy"): info for info in file.infolist()}
        refuse_bomb(sum(info.file_size for info in self.members.values()), path)

    def __getitem__(self, name: str) -> Any:
        with zipfile.ZipFile(self.path) as file:
            info = self.members[name]
            with file.open(info) as member:
                _check_size(name, member, info.file_size)
            with file.open(info) as member:
                return np.lib.format.read_array(member, allow_pickle=False)

    def __contains__(self, name: object) -> bool:
        return name in self.members  # without reading it

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)


def _check_size(name: str, member: Any, n_bytes: int) -> None:
    """NumPy makes room for the shape that a header claims before it reads: refuse one that the file does not hold."""
    version = np.lib.format.read_magic(member)
    if version not in ((1, 0), (2, 0)):
        raise ValueError(f"the array {name!r} has the format {version}, which is not for plain numbers")
    readers = {1: np.lib.format.read_array_header_1_0, 2: np.lib.format.read_array_header_2_0}
    shape, _, dtype = readers[version[0]](member)
    claimed = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and claimed != n_bytes - member.tell():
        raise ValueError(f"the array {name!r} claims {claimed} bytes, but holds {n_bytes - member.tell()}")


def _sparse(path: Path, archive: _Archive) -> Any:
    """A matrix that scipy.sparse.save_npz wrote, whose indices are all within its shape."""
    sizes = {name: np.size(archive[name]) for name in archive}  # checked, because scipy reads them without
    shape, most = np.ravel(archive["shape"]), MOST_EMPTY + sizes["data"]
    if shape.dtype.kind not in "iu" or (shape > most).any():
        raise ValueError(f"its shape is {brief(str(shape.tolist()))}, but its entries allow for at most {most:,}")
    matrix: Any = sparse.load_npz(path)
    matrix = matrix if matrix.format in ("csc", "csr") else matrix.tocsc()
    matrix.check_format(full_check=True)
    return matrix


def _load_zarr(path: Path) -> Any:
    zarr = needed("zarr", "tables", f"reading {path}")
    try:
        store = zarr.open(str(path), mode="r")
        if hasattr(store, "arrays"):
            return {name: _of_zarr(path, array) for name, array in store.arrays()}
        return _of_zarr(path, store)
    except _metadata_errors(zarr) as error:
        raise ValueError("its metadata are not those of a Zarr array") from error


def _metadata_errors(zarr: Any) -> tuple[type[Exception], ...]:
    """What unexpected JSON, or chunks of no size, raise in Zarr beside ValueError; the last only in older versions."""
    return AttributeError, ZeroDivisionError, getattr(zarr.errors, "MetadataError", AttributeError)


def _of_zarr(path: Path, array: Any) -> Any:
    if array.nbytes <= IN_MEMORY:
        return np.asarray(array[...])
    return needed("dask.array", "dask", f"reading {path}, of more than {IN_MEMORY / 2**30:g} GB,").from_zarr(array)


def _of_named(path: Path, arrays: Mapping[str, Any], target: str | None) -> Table:
    """X and y as arrays of their own."""
    for name in ("X", *([] if target is None else [target])):
        if name not in arrays:
            found = some([repr(brief(key)) for key in arrays]) or "nothing"
            raise ValueError(
                f"{path}: there is no array {name!r}, only {found}; save the inputs as X, and name the array of "
                "outputs as the target."
            )
    X = _check_inputs(path, _of_name(path, arrays, "X"))
    names = _column_names(path, arrays) if NAMES in arrays else []
    if names and len(names) != X.shape[1]:
        raise ValueError(f"{path}: {NAMES} has {len(names)} names, but X {X.shape[1]} columns; give one for each.")
    y = None if target is None else _check_target(path, target, _of_name(path, arrays, target), X)
    ignored = tuple(name for name in arrays if name not in ("X", NAMES, target))
    return Table(X, y, names, target, ignored=ignored)


def _of_name(path: Path, arrays: Mapping[str, Any], name: str) -> Any:
    try:
        return arrays[name]
    except UNREADABLE as error:
        raise unreadable(path, error) from error


def _column_names(path: Path, arrays: Mapping[str, Any]) -> list[str]:
    values = np.ravel(_of_name(path, arrays, NAMES))
    try:
        return [str(name).encode().decode() for name in values]
    except UNREADABLE:
        raise ValueError(f"{path}: {NAMES} holds what is no text; save a name for each column.") from None


def _split_off(path: Path, X: Any, target: str) -> Table:
    """One column as y, the others as X."""
    n_features = X.shape[1]
    try:
        column = int(target)
    except ValueError:
        column = n_features
    if not -n_features <= column < n_features or n_features < 2:
        raise ValueError(
            f"{path}: target is {target!r}, but its {n_features} columns have no names; give the number of one, from 0 "
            f"to {n_features - 1} (-1 is the last), or a file that holds the outputs."
        )
    column %= n_features
    y = _check_target(path, target, X[:, np.array([column])], X)
    inputs: slice | Index = np.delete(np.arange(n_features), column)
    if column in (0, n_features - 1):  # a memory map stays one
        inputs = slice(1, None) if column == 0 else slice(None, -1)
    return Table(X[:, inputs], y, [], target)


def _companion(path: Path, target: str) -> Path | None:
    """The file that is named as target: as it is, or beside the inputs."""
    for candidate in (Path(target), path.parent / target):
        if candidate.suffix and candidate.exists():
            return candidate
    return None


def _one_column(path: Path) -> Any:
    """The values of a file with a single column."""
    if suffix_of(path) in FRAMES:
        frame, _ = read_frame(path)
        if frame.shape[1] != 1:
            raise ValueError(f"{path}: it has {frame.shape[1]} columns; a file named as target must have one.")
        return frame.to_numpy()
    values = _load(path)
    if isinstance(values, Mapping):
        raise ValueError(f"{path}: it holds several arrays; a file named as target must hold one.")
    return values


def _check_inputs(path: Path, X: Any) -> Any:
    if X.ndim != 2 or 0 in X.shape:
        raise ValueError(f"{path}: X has shape {X.shape}; save an array of samples × features.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"{path}: X has dtype {brief(str(X.dtype))}; save real numbers.")
    return X


def _check_target(path: Path, target: str, values: Any, X: Any) -> Array:
    values = as_dense(values)
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{path}: the target {target!r} has dtype {brief(str(values.dtype))}; give real numbers.")
    if values.size != X.shape[0] or max(values.shape, default=0) != values.size:
        raise ValueError(
            f"{path}: the target {target!r} has shape {values.shape}, but X has {X.shape[0]} rows; give one output for "
            "each."
        )
    return np.asarray(values.ravel(), dtype=np.float64)
