"""Finished instances on disk: one small sealed JSON file each, found again by everything that its numbers depend on."""

from __future__ import annotations

import hashlib
import inspect
import json
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import garrote
from garrote import sealed
from garrote.paper.item import Instance, Record

#: The distributions besides this one whose versions can change a result.
_NUMERICS = ("numpy", "scipy", "scikit-learn")


class Store:
    """The instances of one item below a directory."""

    def __init__(self, directory: Path, item: str) -> None:
        self.directory = directory / item

    def path(self, instance: Instance) -> Path:
        """Where the instance is kept; other parameters, code or library versions have another name."""
        digest = hashlib.sha256(json.dumps(identity(instance), sort_keys=True).encode()).hexdigest()
        return self.directory / f"{digest[:24]}.json"

    def load(self, instance: Instance) -> Record | None:
        """The kept record; None if there is none of this instance, or a damaged one, which is told in a warning."""
        kept = sealed.read(self.path(instance))
        if kept is None or kept.get("identity") != identity(instance):
            return None
        record = kept.get("record")
        return record if isinstance(record, dict) else None

    def save(self, instance: Instance, record: Record) -> None:
        """Keep a record, whole or not at all."""
        sealed.write(self.path(instance), {"identity": identity(instance), "record": record})


def identity(instance: Instance) -> dict[str, Any]:
    """Everything that the numbers of an instance depend on."""
    function = instance.experiment
    return {
        "experiment": f"{function.__module__}.{function.__qualname__}",
        "parameters": instance.parameters,
        "garrote": garrote.__version__,
        "code": _code(function.__module__, inspect.getfile(function)),
        "libraries": _versions(),
    }


@cache
def _code(module: str, file: str) -> str:
    """A digest of the library's source and of the experiment's module."""
    package = Path(garrote.__file__).parent
    files = [*package.glob("*.py"), *package.glob("*.pyx"), *package.glob("comparators/*.py")]
    files += [package / "paper" / "experiments" / "measures.py", Path(file)]
    digest = hashlib.sha256(module.encode())
    for path in sorted(files):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@cache
def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in _NUMERICS}
