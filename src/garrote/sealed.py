"""JSON objects that say whether they are whole: ``checksum`` is the SHA-256 of all other entries."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from garrote.files import write_text


def parse(text: str | bytes, *, finite: bool) -> dict[str, Any]:
    """The object that a JSON text is; with ``finite`` NaN and infinities are refused.

    Anything else is a ValueError: other JSON, a key that is there twice, nesting too deep to be ours.
    """
    try:
        content = json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse if finite else None)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    return content


def checksum(content: Mapping[str, Any]) -> str:
    """What belongs under ``checksum``."""
    rest = {key: value for key, value in content.items() if key != "checksum"}
    return "sha256:" + hashlib.sha256(json.dumps(rest, sort_keys=True).encode()).hexdigest()


def is_whole(content: Mapping[str, Any]) -> bool:
    """Whether the checksum fits."""
    try:
        return bool(content.get("checksum") == checksum(content))
    except RecursionError:
        return False


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write an object with its checksum, whole or not at all."""
    write_text(path, json.dumps({**content, "checksum": checksum(content)}))


def read(path: Path) -> dict[str, Any] | None:
    """What was written there; None if there is nothing, or something damaged, which is told in a warning."""
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        content = parse(text, finite=False)
    except ValueError:
        content = {}
    if is_whole(content):
        return content
    warn_damaged(path)
    return None


def warn_damaged(path: Path) -> None:
    """Say that a kept result cannot be used."""
    warnings.warn(f"{path} is damaged or was edited; what it held is computed again.", stacklevel=2)


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key is there twice")
    return content


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not a finite number")
