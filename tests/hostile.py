"""Hostile files: valid ones of each format, their mutants, and what a reader may do with them.

A mutant may be read, or refused by a ValueError or OSError of one line. Nothing else: no other exception, no warning
turned into noise, no large memory, no long time.
"""

from __future__ import annotations

import copy
import io
import json
import random
import shutil
import warnings
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import zarr
from interrupts import write_cohort
from scipy import sparse

from garrote import VariationalGarrote, sealed
from garrote.commands._progress import FoldWatch, bar
from garrote.compare import _recalled
from garrote.design import as_design
from garrote.model_file import dumps, load
from garrote.paper.item import Instance
from garrote.paper.store import Store
from garrote.sources import plink, read
from garrote.watch import Checkpoint

#: Characters of the longest message that counts as one sentence.
LONGEST = 600

NUMBERS = [b"0", b"-1", b"1e999", b"-1e-999", b"NaN", b"Infinity", b"9" * 30, b"9" * 5000, b"1000000000000", b"0x1p3"]
TOKENS = {
    "model.json": [b"null", b"{}", b"[" * 3000, b'{"a":' * 990, b'"\\ud800"', b'"checksum":', b"true", b'"../../x"'],
    "checkpoint": [b"null", b"{}", b"[", b'{"a":' * 990, b'"key":', b'"result":', b"[[[[", b"NaN"],
    "csv": [b",", b"\n", b"\r", b'"', b"\t", b";", b"\0", b"," * 20, b"=1", b"\xff\xfe", b"\xef\xbb\xbf", b"1e400,"],
    "npz": [b"PK\x03\x04", b"PK\x01\x02", b"\x93NUMPY", b"'descr': '|O'", b"(1000000000000, 3)", b"\xff" * 8, b"(-1,"],
    "npy": [
        b"\x93NUMPY",
        b"'|O'",
        b"(1000000000000, 3)",
        b"\xff" * 4,
        b"(-1, 3)",
        b"'fortran_order': 3",
        b"[('a','f8')]",
    ],
    "parquet": [
        b"PAR1",
        b"\x15\x00",
        b"\xff" * 5,
        b"\xff\xff\xff\x7f",
        b"\x19\x4c",
        b"\0" * 8,
        b"pandas",
        b'{"a":' * 990,
    ],
    "feather": [b"ARROW1", b"FEA1", b"\xff" * 4, b"\xff\xff\xff\x7f", b"\0" * 8, b"pandas", b'{"a":' * 990],
    "zarr": [b"null", b"{}", b"[" * 3000, b'"<f8"', b'"|O"', b"[1000000000000, 3]", b'"../../x"', b"\xff" * 8, b"\0"],
    "bed": [b"\x6c\x1b\x01", b"\x6c\x1b\x00", b"\n", b" ", b"NA", b"-9", b"\t", b"\0", b"\xff", b"v1", b"FID IID\n"],
}


# ---- mutants -------------------------------------------------------------------------------------------------


def mutate(data: bytes, rng: random.Random, tokens: list[bytes]) -> bytes:
    """Some changes of a valid file; now and then bytes that were never valid."""
    if rng.random() < 0.03:
        return rng.randbytes(rng.randrange(200))
    for _ in range(rng.choice((1, 1, 2, 3, 6))):
        data = _changed(data, rng, tokens)
    return data


def _changed(data: bytes, rng: random.Random, tokens: list[bytes]) -> bytes:
    start = rng.randrange(len(data) + 1)
    stop = min(len(data), start + rng.choice((1, 1, 2, 8, 64, 1000)))
    cut = data[start:stop]
    kind = rng.randrange(7)
    if kind == 0 and cut:
        cut = bytes([cut[0] ^ (1 << rng.randrange(8))]) + cut[1:]
    elif kind == 1:
        cut = b""
    elif kind == 2:
        cut *= rng.choice((2, 3, 50))
    elif kind == 3:
        cut = rng.choice(tokens) + cut
    elif kind == 4:
        cut = rng.choice(tokens)
    elif kind == 5:
        return _other_number(data, rng)
    elif kind == 6:
        return data[:start]
    return data[:start] + cut + data[stop:]


def _other_number(data: bytes, rng: random.Random) -> bytes:
    """Another number in place of one in a text."""
    digits = [k for k, byte in enumerate(data) if 48 <= byte <= 57]
    if not digits:
        return data
    first = last = rng.choice(digits)
    while first > 0 and data[first - 1 : first] in b"0123456789.-+e" and data[first - 1 : first]:
        first -= 1
    while last < len(data) and data[last : last + 1] in b"0123456789.-+e":
        last += 1
    return data[:first] + rng.choice(NUMBERS) + data[last:]


HOSTILE_VALUES: list[Any] = [
    None, True, 0, -1, 10**12, 10**400, 1e308, -1e308, "", "../../x", "\ud800", "=1+1", "<script>",
    [], {}, [[]], {"a": 1}, [None] * 3, ["a"] * 3,
]  # fmt: skip


def forge(text: bytes, rng: random.Random) -> bytes:
    """A sealed JSON with another value somewhere, and the checksum that belongs to it."""
    content = json.loads(text)
    for _ in range(rng.choice((1, 1, 2))):
        _replace_somewhere(content, rng)
    return json.dumps(content | {"checksum": sealed.checksum(content)}).encode()


def _replace_somewhere(content: Any, rng: random.Random) -> None:
    keys: list[Any] = list(content) if isinstance(content, dict) else list(range(len(content)))
    key = rng.choice(keys)
    if isinstance(content[key], dict | list) and content[key] and rng.random() < 0.8:
        _replace_somewhere(content[key], rng)
    elif rng.random() < 0.15:
        del content[key]
    else:
        content[key] = copy.deepcopy(rng.choice(HOSTILE_VALUES))


def rezip(data: bytes, rng: random.Random, tokens: list[bytes]) -> bytes:
    """An archive with a mutated member whose checksum in the archive is right."""
    out = io.BytesIO()
    warnings.filterwarnings("ignore", "Duplicate name", UserWarning)
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", rng.choice((0, 8))) as new:
        names = old.namelist()
        chosen = rng.choice(names)
        for name in names:
            member = old.read(name)
            new.writestr(
                rng.choice((name, name, name, "../../x.npy", "X.npy")) if name == chosen else name,
                mutate(member, rng, tokens) if name == chosen else member,
            )
    return out.getvalue()


# ---- formats -------------------------------------------------------------------------------------------------


class Format(ABC):
    """Valid files of one kind in a folder, their mutants, and the reader."""

    name: str

    def __init__(self, folder: Path) -> None:
        self.folder = folder / self.name
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.valid = self.make()
        self.last = next(iter(self.valid))
        for name, content in self.valid.items():
            (self.folder / name).write_bytes(content)

    @abstractmethod
    def make(self) -> dict[str, bytes]:
        """Valid files by name."""

    def mutant(self, name: str, rng: random.Random) -> bytes:
        return mutate(self.valid[name], rng, TOKENS[self.name])

    @abstractmethod
    def use(self, name: str) -> None:
        """Read the file of that name, and do with it what a user would."""

    def attempt(self, seed: int) -> str:
        """Read one mutant; what came of it."""
        rng = random.Random(f"{self.name} {seed}")
        name = rng.choice(list(self.valid))
        if self.last != name:  # the files of a format may belong together
            (self.folder / self.last).write_bytes(self.valid[self.last])
        self.last = name
        (self.folder / name).write_bytes(self.mutant(name, rng))
        return outcome(lambda: self.use(name))


def outcome(call: Callable[[], None]) -> str:
    """'read', 'recomputed' after a warning, or 'refused'; anything else is raised."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            call()
        except (ValueError, OSError) as error:
            message = str(error)
            assert message.strip(), type(error)
            assert "\n" not in message.strip(), message
            assert len(message) < LONGEST, message
            assert not isinstance(error, UnicodeError), message
            return "refused"
    return "recomputed" if any("computed again" in str(warning.message) for warning in caught) else "read"


def _table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.standard_normal((8, 3)).round(3), columns=["a", "b", "c"]).assign(y=range(8))


class ModelFile(Format):
    name = "model.json"

    def make(self) -> dict[str, bytes]:
        table = _table()
        X, y = table[["a", "b", "c"]], table["y"].to_numpy(dtype=float)
        named, bare = VariationalGarrote(-1.0).fit(X, y), VariationalGarrote(-1.0).fit(X.to_numpy(), y)
        variants = {"chromosome": list("112"), "position": [1, 2, 3], "counted": list("AAC"), "other": list("GTT")}
        return {
            "named.json": dumps(named, target="y", command="garrote fit", seed=1).encode(),
            "bare.json": dumps(bare).encode(),
            "variants.json": dumps(named, variants=variants, covariates=["c"]).encode(),
        }

    def mutant(self, name: str, rng: random.Random) -> bytes:
        return forge(self.valid[name], rng) if rng.random() < 0.6 else super().mutant(name, rng)

    def use(self, name: str) -> None:
        model = load(self.folder / name)
        with np.errstate(all="ignore"):
            str(model.summary()).encode()
            if model.n_features_in_ < 1000:
                model.predict(np.zeros((2, model.n_features_in_)), return_std=True)
        if model.variants_:
            model.variants()


class Checkpoints(Format):
    name = "checkpoint"

    def make(self) -> dict[str, bytes]:
        self.checkpoint = Checkpoint(self.folder)
        with bar("", quiet=True) as self.bar:
            watch = FoldWatch(self.bar, self.checkpoint)
            watch.begin(1, "identity", (2, 3))
            watch.done(0, np.array([[1.0, 2.0, np.nan], [0.1, 0.2, 0.3]]))
        self.checkpoint.keep("ridge-1", {"error": 0.5, "selected": [0, 2], "seconds": 0.1})
        self.store = Store(self.folder, "item")
        self.instance = Instance(write_cohort, {"x": 1, "seed": 2})
        self.store.save(self.instance, {"error": 0.25, "cpu": 1.0, "warnings": []})
        kept = self.store.path(self.instance)
        return {str(file.relative_to(self.folder)): file.read_bytes() for file in [*self.folder.glob("*.json"), kept]}

    def mutant(self, name: str, rng: random.Random) -> bytes:
        return forge(self.valid[name], rng) if rng.random() < 0.6 else super().mutant(name, rng)

    def use(self, name: str) -> None:
        if name.startswith("fold"):
            (known,) = FoldWatch(self.bar, self.checkpoint).begin(1, "identity", (2, 3))
            assert known is None or known.shape == (2, 3)
        elif name.startswith("ridge"):
            fold = _recalled(self.checkpoint, "ridge-1", 3)
            assert fold is None or set(fold.selected) <= {0, 1, 2}
        else:
            record = self.store.load(self.instance)
            assert record is None or isinstance(record, dict)


class Tables(Format):
    name = "csv"

    def make(self) -> dict[str, bytes]:
        table = _table()
        return {
            "a.csv": table.to_csv(index=False).encode(),
            "b.csv": table.to_csv().encode(),
            "c.csv": table.rename(columns={"a": 'with "quotes", and comma'}).to_csv(index=False).encode(),
            "d.tsv": table.to_csv(index=False, sep="\t").encode(),
        }

    def use(self, name: str) -> None:
        table = read(self.folder / name, target="y")
        as_design(table.X.to_numpy()).moments(np.full(len(table.X), 1.0 / len(table.X)))


class Npz(Format):
    name = "npz"

    def make(self) -> dict[str, bytes]:
        X = _table().to_numpy()
        np.savez(self.folder / "a.npz", X=X[:, :3], y=X[:, 3], feature_names=["a", "b", "c"])
        np.savez_compressed(self.folder / "b.npz", X=X[:, :3], y=X[:, 3])
        for kind in ("csc", "csr", "coo"):
            sparse.save_npz(self.folder / f"{kind}.npz", sparse.coo_array(X * (X > 0)).asformat(kind))
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}

    def mutant(self, name: str, rng: random.Random) -> bytes:
        if rng.random() < 0.7:
            return rezip(self.valid[name], rng, TOKENS[self.name])
        return super().mutant(name, rng)

    def use(self, name: str) -> None:
        table = read(self.folder / name, target="y" if len(name) == 5 else "-1")
        with np.errstate(all="ignore"):
            table.X.T @ np.ones(table.X.shape[0])


class Npy(Format):
    name = "npy"

    def make(self) -> dict[str, bytes]:
        X = _table().to_numpy()
        np.save(self.folder / "a.npy", X)
        np.save(self.folder / "b.npy", np.asfortranarray(X.astype(np.float32)))
        np.save(self.folder / "c.npy", np.arange(24, dtype=np.int8).reshape(8, 3))
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}

    def use(self, name: str) -> None:
        table = read(self.folder / name, target="-1")
        with np.errstate(all="ignore"):
            np.asarray(table.X).sum()


class Parquet(Tables):
    name = "parquet"

    def make(self) -> dict[str, bytes]:
        table = _table()
        table.to_parquet(self.folder / "a.parquet")
        table.astype({"a": "float32", "b": "category"}).to_parquet(self.folder / "b.parquet", compression="gzip")
        table.set_index("c").to_parquet(self.folder / "c.parquet", compression=None)
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}


class Feather(Tables):
    name = "feather"

    def make(self) -> dict[str, bytes]:
        _table().to_feather(self.folder / "a.feather")
        _table().to_feather(self.folder / "b.feather", compression="zstd")
        _table().to_feather(self.folder / "c.feather", compression="uncompressed")
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}


class Zarr(Format):
    name = "zarr"

    def make(self) -> dict[str, bytes]:
        X = _table().to_numpy()
        zarr.save_array(str(self.folder / "array.zarr"), X)
        zarr.save_group(str(self.folder / "group.zarr"), X=X[:, :3], y=X[:, 3])
        return {
            str(file.relative_to(self.folder)): file.read_bytes() for file in self.folder.rglob("*") if file.is_file()
        }

    def use(self, name: str) -> None:
        store = name.partition("/")[0]
        table = read(self.folder / store, target="-1" if store == "array.zarr" else "y")
        with np.errstate(all="ignore"):
            np.asarray(table.X).sum()


class Genotypes(Format):
    name = "bed"

    def make(self) -> dict[str, bytes]:
        write_cohort(self.folder, 9, 5)
        return {file.name: file.read_bytes() for file in self.folder.iterdir()}

    def use(self, name: str) -> None:
        cohort = plink.open(self.folder / "cohort")
        cohort.columns(np.arange(min(3, cohort.shape[1])))
        cohort.transpose_dot(np.ones(cohort.shape[0]))


FORMATS = {kind.name: kind for kind in (ModelFile, Checkpoints, Tables, Npz, Npy, Parquet, Feather, Zarr, Genotypes)}
