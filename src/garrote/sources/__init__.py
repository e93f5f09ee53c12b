"""Data on disk → inputs, outputs and feature names. CSV only, for the time being."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from garrote.arrays import Array


@dataclass(frozen=True)
class Table:
    """Inputs, outputs and the names of the inputs."""

    X: Any
    y: Array | None
    names: list[str]
    covariates: list[str] | None = None
    ignored: tuple[str, ...] = ()


def read(
    path: str | os.PathLike[str], target: str | None = None, *, covariates: Any = None, columns: Any = None
) -> Table:
    """The columns of a CSV file: all inputs, but for the target."""
    import pandas as pd

    with open(path, encoding="utf-8") as file:
        if not file.read(1):
            raise ValueError(f"{os.fspath(path)} is empty; give a table with a header line.")
    frame = pd.read_csv(path)
    if not len(frame):
        raise ValueError(f"{os.fspath(path)} has a header but no rows; give at least two.")
    for name in columns or []:
        if name not in frame:
            raise ValueError(f"{os.fspath(path)} has no column {name!r}.")
    frame = frame if columns is None else frame[columns]
    if target is None:
        return Table(frame, None, list(frame.columns))
    if target not in frame:
        raise ValueError(
            f"{os.fspath(path)} has no column {target!r}; choose one of {', '.join(map(str, frame.columns[:10]))}."
        )
    X = frame.drop(columns=target)
    return Table(X, frame[target].to_numpy(float), list(X.columns), covariates)
