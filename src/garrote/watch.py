"""Watching a cross-validation: whoever asked is told of each fold, and may supply those of an interrupted run."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from garrote.arrays import Array
from garrote.files import write_text


class Watch:
    """What a cross-validation tells. This watch does nothing with it; the command line shows it."""

    live = False  #: whether parts must be told as they end; not every joblib backend can do that

    def begin(self, n_parts: int, identity: str) -> list[Array | None]:
        """The run begins; returns the results that are known already. Equal identities have equal results."""
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
    """Small results of finished parts, each a JSON file in a folder, so that an interrupted run can go on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def recall(self, key: str) -> Any:
        """The result that was kept under a key, or None."""
        try:
            return json.loads(self._file(key).read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError:  # not ours, or damaged: as good as absent
            return None

    def keep(self, key: str, result: Any) -> None:
        """Keep a result that JSON can hold."""
        write_text(self._file(key), json.dumps(result))

    def clear(self) -> None:
        """The run is complete: remove what was kept, and the folder."""
        if self.folder.is_dir():
            for file in self.folder.glob("*.json"):
                file.unlink()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _file(self, key: str) -> Path:
        return self.folder / f"{key}.json"
