"""What Tables 1 and 2 have in common: five methods and the truth, 20 instances, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure

from garrote.paper.experiments.examples import one_fit
from garrote.paper.item import Check, Instance, Report, Row, Settings, Table, summarise
from garrote.paper.published import EXAMPLE_INSTANCES, Figures
from garrote.paper.style import GREY, LOOKS, panels

METHODS = ("ridge", "lasso", "pmf", "vg", "vg-default", "true")
MEASURES = {"train": "Train", "val": "Val", "test": "Test", "nonzero": "# non-zero", "l1_error": "‖δv‖₁"}
#: Differences that count.
STANDARD_ERRORS = 2.0


class Cell(NamedTuple):
    """Our mean and the paper's, and their distance in standard errors of the difference."""

    method: str
    measure: str
    ours: float
    ours_sd: float
    paper: float
    paper_sd: float
    distance: float


def instances(example: int) -> Callable[[Settings], list[Instance]]:
    def of(settings: Settings) -> list[Instance]:
        return [
            Instance(one_fit, {"example": example, "method": method, "seed": settings.seed, "run": run})
            for run in range(EXAMPLE_INSTANCES)  # cheap, and fewer would say little about two standard errors
            for method in METHODS
        ]

    return of


def compare(summary: list[Row], paper: Figures) -> list[Cell]:
    """Every cell that the paper prints and that is not known beforehand."""
    cells = []
    for row in summary:
        for measure, (mean, spread) in paper.get(row["method"], {}).items():
            if spread == 0:
                continue
            ours, sd = row[measure], row[f"{measure} sd"]
            error = np.sqrt(sd**2 / row["n"] + spread**2 / EXAMPLE_INSTANCES)
            cells.append(Cell(row["method"], measure, ours, sd, mean, spread, float(abs(ours - mean) / error)))
    return cells


def explanations(rows: list[Row], paper: Figures) -> dict[tuple[str, str], str]:
    """Why cells differ, as far as a measurement tells."""
    best = [row["best_test"] for row in rows if row["method"] == "ridge"]
    mean, spread = paper["ridge"]["test"]
    error = np.sqrt(np.var(best, ddof=1) / len(best) + spread**2 / EXAMPLE_INSTANCES)
    if np.mean(best) - mean <= STANDARD_ERRORS * error:
        return {}
    return {
        (
            "ridge",
            "test",
        ): f"Even the λ that is best on the test set itself gives {np.mean(best):.2f}, so the choice of λ "
        "is not the reason: the paper's data, or what its ridge regression did with them, must differ."
    }


def report(rows: list[Row], paper: Figures) -> Report:
    summary = summarise(rows, ["method"], list(MEASURES))
    cells = compare(summary, paper)
    explained = explanations(rows, paper)
    far = [cell for cell in cells if cell.distance > STANDARD_ERRORS]
    means = {row["method"]: row for row in summary}
    unexplained = [cell for cell in far if (cell.method, cell.measure) not in explained]
    garrote = [cell for cell in cells if cell.method == "vg"]
    checks = [
        Check(
            "cells beyond two standard errors of the paper's and without an explanation (number)",
            len(unexplained),
            "=",
            0,
        ),
        Check("VG: the farthest cell (standard errors)", max(cell.distance for cell in garrote), "≤", STANDARD_ERRORS),
        Check("VG against Lasso: ratio of ‖δv‖₁", means["vg"]["l1_error"] / means["lasso"]["l1_error"], "<", 1),
        Check("VG against Lasso: ratio of the test errors", means["vg"]["test"] / means["lasso"]["test"], "<", 1),
        Check(
            "our default against VG: ratio of ‖δv‖₁", means["vg-default"]["l1_error"] / means["vg"]["l1_error"], "<", 1
        ),
    ]
    notes = [
        f"{LOOKS[c.method].name}, {MEASURES[c.measure]}: {c.ours:.2f} against {c.paper:.2f}, {c.distance:.1f} standard "
        f"errors apart. {explained.get((c.method, c.measure), 'Unexplained.')}"
        for c in far
    ]
    return Report(summary, [_table(summary, paper, cells)], checks, _figure(summary, cells), notes)


def _table(summary: list[Row], paper: Figures, cells: list[Cell]) -> Table:
    distance = {(cell.method, cell.measure): cell.distance for cell in cells}
    rows = []
    for row in summary:
        method = row["method"]
        line = [f"{LOOKS[method].name}"]
        for measure in MEASURES:
            if row[measure] is None:
                line.append("–")
                continue
            text = f"{row[measure]:.2f} ± {row[f'{measure} sd'] or 0:.2f}"
            if measure in paper.get(method, {}):
                mean, spread = paper[method][measure]
                text += f" (paper {mean:.2f} ± {spread:.2f})"
            if distance.get((method, measure), 0) > STANDARD_ERRORS:
                text += " *"
            line.append(text)
        rows.append(line)
    return Table(
        ["", *MEASURES.values()], rows, "Mean ± spread over instances; * differs by more than two standard errors"
    )


def _figure(summary: list[Row], cells: list[Cell]) -> Figure:
    """One panel per measure, ours above the paper's, with two standard errors."""
    figure, axes = panels(1, len(MEASURES), scale=0.75, sharey=True)
    order = {method: len(METHODS) - i for i, method in enumerate(METHODS)}
    for axis, (measure, title) in zip(axes[0], MEASURES.items(), strict=True):
        for row in summary:
            if row[measure] is not None:
                error = 2 * (row[f"{measure} sd"] or 0.0) / np.sqrt(row["n"])
                look = LOOKS[row["method"]]
                axis.errorbar(row[measure], order[row["method"]] + 0.12, xerr=error, fmt=look.marker, color=look.color)
        for cell in cells:
            if cell.measure == measure:
                error = 2 * cell.paper_sd / np.sqrt(EXAMPLE_INSTANCES)
                axis.errorbar(cell.paper, order[cell.method] - 0.18, xerr=error, fmt="o", color=GREY, mfc="white")
        axis.set(title=title, xlim=(0, None))
    axes[0, 0].set_yticks(list(order.values()), [LOOKS[method].name for method in order])
    figure.supxlabel("mean and two standard errors; coloured: ours, grey: the paper's", fontsize=8)
    return figure
