"""What a table or figure is made of: instances to compute, and a report of them with checked claims."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: What an experiment returns: names → numbers, strings and (nested) lists, so that JSON holds it.
Record = dict[str, Any]
#: A record together with the parameters that it was computed from.
Row = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """What the user may choose."""

    seed: int = 2012
    quick: bool = False

    def runs(self, full: int, quick: int) -> range:
        """The numbers of the runs, fewer of them when in a hurry."""
        return range(quick if self.quick else full)


@dataclass(frozen=True)
class Instance:
    """One call of an experiment: a function of a module, and its keyword arguments."""

    experiment: Callable[..., Record]
    parameters: dict[str, Any]


_RELATIONS: dict[str, Callable[[float, float], bool]] = {
    "=": operator.eq,
    "<": operator.lt,
    "≤": operator.le,
    ">": operator.gt,
    "≥": operator.ge,
}


@dataclass(frozen=True)
class Check:
    """A claim about the paper's result, decided by a number: ``value relation bound``."""

    claim: str
    value: float
    relation: str
    bound: float

    @property
    def holds(self) -> bool:
        """The verdict."""
        return bool(_RELATIONS[self.relation](self.value, self.bound))

    @property
    def verdict(self) -> str:
        return "holds" if self.holds else "does not hold"

    @property
    def evidence(self) -> str:
        """The comparison in figures."""
        return f"{self.value:.4g} {self.relation} {self.bound:.4g}"


@dataclass(frozen=True)
class Table:
    """A table of strings."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str = ""


@dataclass(frozen=True)
class Report:
    """What is shown of an item."""

    #: Aggregated numbers: one dict per line of the CSV, all with the same keys.
    numbers: list[Row]
    tables: list[Table]
    checks: list[Check]
    figure: Figure
    #: Sentences below the figure.
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Item:
    """A table or figure of the paper."""

    name: str
    caption: str
    instances: Callable[[Settings], list[Instance]]
    report: Callable[[list[Row]], Report]


# ---- aggregation --------------------------------------------------------------------------------------------


def summarise(rows: Iterable[Row], by: Sequence[str], of: Sequence[str]) -> list[Row]:
    """Per group of equal ``by``: how many rows (``n``), and mean and standard deviation (``… sd``) of each ``of``.

    A quantity that a method does not have (None) has none in its group either.
    """
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[key] for key in by), []).append(row)
    return [dict(zip(by, key, strict=True)) | {"n": len(group)} | _moments(group, of) for key, group in groups.items()]


def _moments(group: list[Row], of: Sequence[str]) -> Row:
    moments: Row = {}
    for name in of:
        values = [row[name] for row in group]
        absent = any(value is None for value in values)
        moments[name] = None if absent else float(np.mean(values))
        moments[f"{name} sd"] = None if absent or len(values) < 2 else float(np.std(values, ddof=1))
    return moments


def pick(summary: Iterable[Row], **where: Any) -> list[Row]:
    """The rows with these values."""
    return [row for row in summary if all(row[key] == value for key, value in where.items())]


def curve(summary: Iterable[Row], x: str, y: str, **where: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """x, y and the standard error of y of the rows with these values, x ascending."""
    rows = sorted(pick(summary, **where), key=lambda row: float(row[x]))
    error = [(row[f"{y} sd"] or 0.0) / np.sqrt(row["n"]) for row in rows]
    return np.array([row[x] for row in rows], float), np.array([row[y] for row in rows], float), np.array(error)
