"""Watching a cross-validation: whoever asked is told of each fold, and may supply those of an interrupted run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from garrote import sealed
from garrote.arrays import Array


class Watch:
    """What a cross-validation tells. This watch does nothing with it; the command line shows it."""

    live = False  #: whether parts must be told as they end; not every joblib backend can do that

    def begin(self, n_parts: int, identity: str, shape: tuple[int, ...]) -> list[Array | None]:
        """The run begins; returns the results of this shape that are known. Equal identities have equal results."""
        return [None] * n_parts

    def step(self, share: float) -> None:
        """So much of a part is done; told only where parts run in this process."""

    def done(self, part: int, result: Array) -> None:
        """A part is done."""


_current: ContextVar[Watch] = ContextVar("watch", default=Watch())  # noqa: B039 -- it has no state


def current_watch() -> Watch:
    """The watch that was asked for, or one that does nothing."""
    return _current.get()


@contextmanager
def watched_by(watch: Watch) -> Iterator[None]:
    """Cross-validations in this block tell ``watch``."""
    token = _current.set(watch)
    try:
        yield
    finally:
        _current.reset(token)


def identity_of(*arrays: Any) -> str:
    """A digest that differs when any number in the arrays does."""
    digest = hashlib.sha256()
    for array in arrays:
        values = np.ascontiguousarray(array, dtype=np.float64)
        digest.update(repr(values.shape).encode())
        digest.update(values.tobytes())
    return digest.hexdigest()


class Checkpoint:
    """Small results of finished parts, each a sealed JSON file in a folder, so that an interrupted run can go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def recall(self, key: str) -> Any:
        """The result that was kept under a key, or None; a damaged file is told in a warning."""
        kept = sealed.read(self._file(key))
        return kept.get("result") if kept is not None and kept.get("key") == key else None

    def refuse(self, key: str) -> None:
        """Say that what was recalled makes no sense."""
        sealed.warn_damaged(self._file(key))

    def keep(self, key: str, result: Any) -> None:
        """Keep a result that JSON can hold."""
        sealed.write(self._file(key), {"key": key, "result": result})

    def clear(self) -> None:
        """The run is complete: remove what was kept, and the folder."""
        if self.folder.is_dir():
            for file in self.folder.glob("*.json"):
                file.unlink()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"
