"""The front door: ``read(path, target=...)`` gives X and y of a file, whatever its format.

======================================  ============================  =================================================
file                                    X                             target
======================================  ============================  =================================================
``.csv``, ``.tsv`` (also ``.gz`` etc.)  data frame                    a column's name
``.parquet``, ``.feather``              data frame                    a column's name
``.npy``                                memory-mapped array           a column's number (-1: the last), or a file
``.npz`` with named arrays              its array ``X``               the name of an array beside ``X``, such as ``y``
``.npz`` by ``scipy.sparse.save_npz``   sparse matrix                 a column's number, or a file
``.zarr``, an array                     array; dask array, if large   a column's number, or a file
``.zarr``, a group                      its array ``X``, likewise     the name of an array beside ``X``, such as ``y``
``.bed`` of PLINK 1                     genotypes, 2-bit packed       a phenotype file (FID, IID, phenotype)
======================================  ============================  =================================================

A file that is named as target holds a single column, as a table or an array; it is looked for as named, and beside the
inputs. Without a target everything is X. An array ``feature_names`` beside ``X`` names its columns.
"""

from __future__ import annotations

import bz2
import difflib
import errno
import gzip
import lzma
import os
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from garrote.arrays import Array
from garrote.checks import brief, check_numeric_columns, plural, some

#: Compressions that are undone on the way.
OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}

#: What readers raise when a file is not what its name says, or was cut off.
UNREADABLE = (
    *(OSError, ValueError, EOFError, KeyError, IndexError, TypeError, OverflowError, RuntimeError, SyntaxError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, tokenize.TokenError),
    SystemError,  # NumPy, of a text with characters that Unicode does not have
)

#: A file that unpacks to more bytes than this, and to more than RATIO times its own, is taken for a trap.
MOST_UNPACKED, RATIO = 2**28, 100

#: Cells of a table for each byte of its file, and beyond, before it is taken for a trap.
MOST_CELLS = 10_000_000


@dataclass(frozen=True)
class Table:
    """Inputs and outputs of a file."""

    X: Any  #: data frame, array, sparse matrix, dask array or Design
    y: Array | None  #: None without a target
    names: list[str]  #: of the features; empty where the file has none
    target: str | None = None
    covariates: list[str] | None = None  #: the names in X that are always in the model
    ignored: tuple[str, ...] = ()  #: what is in the file but not in X, y or the covariates


def read(
    path: str | os.PathLike[str],
    target: str | None = None,
    *,
    covariates: Any = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
) -> Table:
    """Inputs X and outputs y of a file.

    Parameters
    ----------
    path : the file (or the directory of a Zarr store); its suffix says which format it has
    target : what to predict: a column, an array or a file, see ``garrote.sources.tables``; None for inputs alone
    covariates : names of columns that are always in the model; of a .bed, a covariate file
    columns : the features to use; all but the target, if not given
    drop : columns to leave out
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
    suffix = suffix_of(path)
    if suffix == ".bed":
        return _read_genotypes(path, target, covariates)
    if suffix in FRAMES:
        return _frame_table(path, target, _names(covariates), columns, _names(drop))
    if suffix in (".npy", ".npz", ".zarr"):
        if columns is not None or len(drop) or covariates is not None:
            raise ValueError(
                f"{path}: its columns have no names, so that columns=, drop= and covariates= cannot choose among them; "
                "use a table such as CSV or Parquet."
            )
        from garrote.sources import array_files

        return array_files.read(path, target)
    known = ", ".join([*FRAMES, ".npy", ".npz", ".zarr", ".bed"])
    raise ValueError(f"{path}: its format is not known by the name; the suffixes that are: {known}.")


def needed(module: str, extra: str, what: str) -> Any:
    """An optional package, or how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(f"{what} needs {package}; install it with: pip install 'garrote[{extra}]'") from error


def unreadable(path: Path, error: Exception) -> Exception:
    """What to raise when a reader gave up: its first line, with the file's name."""
    if isinstance(error, OSError) and error.filename is not None:
        return error
    reason = brief((str(error) or type(error).__name__).splitlines()[0].rstrip("."), 200)
    return ValueError(f"{path}: it cannot be used as {suffix_of(path)[1:]}: {reason}.")


def suffix_of(path: Path) -> str:
    """The suffix that tells the format, without that of a compression."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in OPENERS:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _names(names: Any) -> list[str]:
    return [names] if isinstance(names, str) else list(() if names is None else names)


# Tables


def _frame_table(
    path: Path, target: str | None, covariates: list[str], columns: Sequence[str] | None, drop: list[str]
) -> Table:
    pandas = needed("pandas", "tables", f"reading {path}")
    frame, ignored = read_frame(path)
    if not len(frame):
        raise ValueError(f"{path}: there are column names but no rows; give at least two.")
    wanted = [*_names(columns), *covariates, *drop, *([] if target is None else [target])]
    _refuse_unknown(path, list(frame.columns), wanted)
    if target is not None and target in drop:
        raise ValueError(f"{path}: the target {target!r} is among the columns to drop.")
    left_out = {*drop, target}
    names = list(frame.columns) if columns is None else list(dict.fromkeys([*columns, *covariates]))
    names = [name for name in names if name not in left_out]
    if not names:
        raise ValueError(f"{path}: beside the target there is no column to predict from; give at least one.")
    used = frame[names if target is None else [*names, target]]
    check_numeric_columns(str(path), used)
    _refuse_missing(path, used)
    used = used.astype({name: np.int8 for name, dtype in used.dtypes.items() if pandas.api.types.is_bool_dtype(dtype)})
    used = used.astype({name: np.float64 for name, dtype in used.dtypes.items() if not isinstance(dtype, np.dtype)})
    return Table(
        X=used[names],
        y=None if target is None else used[target].to_numpy(dtype=np.float64),
        names=names,
        target=target,
        covariates=covariates or None,
        ignored=(*ignored, *(name for name in frame.columns if name not in names and name != target)),
    )


def read_frame(path: Path) -> tuple[Any, list[str]]:
    """All columns of a table, and what was left aside."""
    needed("pandas", "tables", f"reading {path}")
    try:
        frame, ignored = FRAMES[suffix_of(path)](path)
        frame.columns = frame.columns.map(str)
        _refuse_twice(frame.columns)
    except UNREADABLE as error:
        raise unreadable(path, error) from error
    return frame, ignored


def refuse_bomb(n_bytes: int, path: Path) -> None:
    """Refuse a small file that would fill the memory."""
    if n_bytes > MOST_UNPACKED and n_bytes > RATIO * path.stat().st_size:
        raise ValueError(f"it unpacks to more than {RATIO} times its size; unpack it first, if that is what you want")


def _refuse_gaps(path: Path, n_columns: int) -> None:
    """Refuse lines so short that the table, filled up with missing values, would be far larger than the file."""
    n_bytes, n_lines = 0, 1
    with OPENERS.get(path.suffix.lower(), open)(path, "rb") as file:
        while chunk := file.read(2**20):
            n_bytes += len(chunk)
            n_lines += max(chunk.count(b"\n"), chunk.count(b"\r"))
            refuse_bomb(n_bytes, path)
    if n_columns * n_lines > n_bytes + MOST_CELLS:
        raise ValueError(f"it has {n_columns} columns, but most of its {n_lines} lines have far fewer values")


def _read_delimited(path: Path) -> tuple[Any, list[str]]:
    import pandas as pd

    opener = OPENERS.get(path.suffix.lower(), open)
    with opener(path, "rt", encoding="utf-8-sig") as file:
        first = file.readline(MOST_UNPACKED)
    if not first.strip():
        raise ValueError("it is empty; give a line of column names, and rows")
    options = {"sep": "\t" if suffix_of(path) == ".tsv" else max(",;\t", key=first.count), "encoding": "utf-8-sig"}
    _refuse_gaps(path, first.count(options["sep"]) + 1)
    # The header is read by itself: pandas renames columns that are there twice.
    header = pd.read_csv(path, header=None, nrows=1, dtype=str, keep_default_na=False, **options).iloc[0]
    _refuse_twice(pd.Index(header[header.str.strip() != ""]))
    frame = pd.read_csv(path, low_memory=False, **options)
    unnamed = [name for name, given in zip(frame.columns, header, strict=False) if not given.strip()]
    # Row labels, as data frames write them; or nothing at all, behind a delimiter at the end of the lines.
    ignored = [name for name in unnamed if name == frame.columns[0] or frame[name].isna().all()]
    labels = [] if isinstance(frame.index, pd.RangeIndex) else ["row labels"]
    return frame.drop(columns=ignored), labels + ignored


def _read_parquet(path: Path) -> tuple[Any, list[str]]:
    import pandas as pd

    return _by_pyarrow(pd.read_parquet, path)


def _read_feather(path: Path) -> tuple[Any, list[str]]:
    import pandas as pd

    return _by_pyarrow(pd.read_feather, path)


def _by_pyarrow(reader: Callable[[Path], Any], path: Path) -> tuple[Any, list[str]]:
    needed("pyarrow", "tables", f"reading {path}")
    try:
        return reader(path), []
    except MemoryError as error:  # it makes room for as much as each part of a file claims to hold
        raise ValueError("a part of it claims to hold more than the memory") from error


#: How each kind of table is read: all of its columns, and the names of what was left aside.
FRAMES: dict[str, Callable[[Path], tuple[Any, list[str]]]] = {
    ".csv": _read_delimited,
    ".tsv": _read_delimited,
    ".parquet": _read_parquet,
    ".feather": _read_feather,
}


def _refuse_twice(names: Any) -> None:
    twice = list(names[names.duplicated()].unique())
    if twice:
        raise ValueError(f"the column name {some(_quoted(twice))} is there more than once; rename or remove it")


def _refuse_unknown(path: Path, names: list[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            remedy = f"did you mean {close[0]!r}?" if close else f"its columns are {some(_quoted(names), most=10)}."
            raise ValueError(f"{path}: there is no column {name!r}; {remedy}")


def _refuse_missing(path: Path, frame: Any) -> None:
    """Missing and infinite values, counted."""
    bad = frame.isna() | np.isinf(frame.select_dtypes("float").reindex(columns=frame.columns, fill_value=0.0))
    counts = bad.sum()
    counts = counts[counts > 0]
    if len(counts):
        rows = int(bad.any(axis=1).sum())
        where = some([f"{brief(name)!r} ({count})" for name, count in counts.items()])
        raise ValueError(
            f"{path}: {plural(int(counts.sum()), 'value')} missing or infinite, in {plural(rows, 'row')}: {where}; "
            "remove those rows, leave out those columns, or impute them first."
        )


def _quoted(names: Sequence[str]) -> list[str]:
    return [repr(brief(name)) for name in names]


# Genotypes


def _read_genotypes(path: Path, target: str | None, covariates: Any) -> Table:
    plink = needed("garrote.sources.plink", "plink", f"reading {path}")
    cohort = plink.open(path, pheno=target, covar=covariates)
    left_out = {"monomorphic variants": cohort.n_monomorphic, "samples without values": cohort.n_without_values}
    return Table(
        X=cohort,
        y=cohort.y,
        names=list(cohort.feature_names),
        target=target,
        covariates=cohort.covariate_names or None,
        ignored=tuple(f"{count} {what}" for what, count in left_out.items() if count),
    )
