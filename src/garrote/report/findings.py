"""What the report says, before it is laid out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from garrote.arrays import Array, Index
from garrote.path import Path
from garrote.problem import Problem
from garrote.report.columns import Columns
from garrote.report.folds import Result

#: Rows of the table of selected features, and curves in a panel, at most.
MOST_ROWS = 1000
MOST_CURVES = 60

#: Significant digits of the numbers that the panels draw.
DIGITS = 5


@dataclass(frozen=True)
class Report:
    """All findings about one fit."""

    title: str
    command: str
    seed: int | None
    names: list[str]
    model: Any
    problem: Problem
    rows: Index  #: the selected features that are listed, the strongest first
    columns: Columns
    results: list[Result]  #: the model first, then its rivals on the same folds; empty without samples
    path: dict[str, Any]  #: what the panels draw

    @property
    def n_selected(self) -> int:
        return int((self.model.inclusion_ > 0.5).sum())


def effects(v: Array, features: Index, problem: Problem) -> Array:
    """v_i √χ_ii: how much one standard deviation of each feature moves the prediction."""
    return (v.T * np.sqrt(problem.chi[features])).T


def selection(model: Any, problem: Problem) -> Index:
    """The selected features by falling strength, MOST_ROWS of them at most."""
    selected = np.flatnonzero(model.inclusion_ > 0.5)
    return selected[_strongest(effects(model.coef_[selected], selected, problem))][:MOST_ROWS]


def _strongest(effect: Array) -> Index:
    """Positions by falling |effect|."""
    return np.argsort(-np.abs(effect), kind="stable")


def path_data(
    path: Path, chosen: int, rows: Index, problem: Problem, names: list[str], errors: Array | None
) -> dict[str, Any]:
    """The panels' data: one number per γ and curve."""
    curves = _curves(path, rows, problem)
    coefs, inclusions = (part.tocsr()[curves].toarray() for part in (path.coefs, path.inclusions))
    moved = effects(coefs, curves, problem)
    return {
        "gammas": _numbers(path.gammas),
        "chosen": chosen,
        "n_selected": [len(solution.selected) for solution in path],
        "noise": _numbers(np.array([solution.beta**-0.5 for solution in path])),
        "curves": [
            {"name": names[i], "effect": _numbers(effect), "inclusion": _numbers(inclusion)}
            for i, effect, inclusion in zip(curves, moved, inclusions, strict=True)
        ],
        "free_energy": {
            "lowest": _numbers(path.free_energies, 9),
            "up": _numbers(path.free_energy_up, 9),
            "down": _numbers(path.free_energy_down, 9),
        },
        "error": None if errors is None else _numbers(errors.mean(axis=1)),
        "error_spread": None if errors is None else _numbers(standard_error(errors)),
    }


def _curves(path: Path, rows: Index, problem: Problem) -> Index:
    """The features that are drawn: the selected ones, then the strongest that are selected at some other γ."""
    elsewhere = np.unique(np.concatenate([solution.selected for solution in path]))
    others = np.setdiff1d(elsewhere, rows)
    largest = np.abs(path.coefs.tocsr()[others].toarray()).max(axis=1, initial=0.0)
    order = _strongest(effects(largest, others, problem))
    return np.concatenate([rows, others[order]])[:MOST_CURVES]


def standard_error(errors: Array) -> Array:
    """Standard error of the mean over the folds (last axis); NaN for a single one."""
    n_folds = errors.shape[-1]
    if n_folds < 2:
        return np.full(errors.shape[:-1], np.nan)
    return np.asarray(errors.std(axis=-1, ddof=1) / np.sqrt(n_folds))


def _numbers(values: Array, digits: int = DIGITS) -> list[float | None]:
    """Rounded to significant digits, for JSON; None for what is not finite."""
    return [float(f"{value:.{digits}g}") if np.isfinite(value) else None for value in values]
