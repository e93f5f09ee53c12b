"""Files that are there whole or not at all."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: what a killed process leaves behind stays there
    fcntl = None  # type: ignore[assignment]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path``; what was written there gets its name when the block ends without error.

    A full disk, or a folder that cannot be written, is an OSError that names ``path``.
    """
    path = Path(path)
    temporary = path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_abandoned(path)
        handle, name = tempfile.mkstemp(prefix=_prefix(path), suffix=path.suffix, dir=path.parent)
        temporary = Path(name)
        try:
            _lock(handle)  # held until the end: it tells others that somebody is writing
            yield temporary
            with temporary.open("rb") as written:
                os.fsync(written.fileno())
            temporary.chmod(0o666 & ~_umask())
            temporary.replace(path)
        finally:
            os.close(handle)
            temporary.unlink(missing_ok=True)
    except OSError as error:
        if error.errno is None or error.filename not in (None, str(temporary)):
            raise
        raise OSError(error.errno, os.strerror(error.errno), str(path)) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _prefix(path: Path) -> str:
    return f".{path.name}.garrote-"


def _remove_abandoned(path: Path) -> None:
    """Remove the temporary files of killed writers of the same path: those on which nobody holds a lock."""
    name = re.compile(re.escape(_prefix(path)) + "[a-z0-9_]{8}" + re.escape(path.suffix))
    for left in [entry for entry in path.parent.iterdir() if name.fullmatch(entry.name)]:
        with suppress(OSError), left.open("rb") as file:  # already removed by another
            if _lock(file.fileno()):
                left.unlink()


def _lock(handle: int) -> bool:
    """Take the lock of an open file; False if somebody has it, or where there are no locks."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (OSError, AttributeError):
        return False
    return True


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
