"""What fig-samples and fig-genetic have in common: AUC, ‖δv‖₁ and test error against p/n at two sparsities."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes

from garrote.paper.item import Instance, Record, Row, Settings, Table, curve, pick, summarise
from garrote.paper.style import LOOKS, plot_method

N_FEATURES = 500
ACTIVE = (0.10, 0.25)
METHODS = ("vg", "vg-default", "pmf", "lasso", "ridge", "true")
MEASURES = {"auc": "AUC", "l1_error": "$\\|\\delta v\\|_1$", "test": "test MSE"}


@dataclass(frozen=True)
class Plan:
    """Which instances an item has."""

    experiment: Callable[..., Record]
    #: p/p_v.
    validation_share: int
    fractions: tuple[float, ...]
    #: For each sparsity the few p/n of a quick look, the last of which is above the transition.
    quick_fractions: dict[float, tuple[float, ...]]
    runs: int
    #: Fewer of our default, which fits eighteen paths where the paper's protocol fits one.
    default_runs: int

    def instances(self, settings: Settings) -> list[Instance]:
        return [
            Instance(
                self.experiment,
                {
                    "n_features": N_FEATURES,
                    "active": active,
                    "n_train": round(fraction * N_FEATURES),
                    "n_validation": max(1, round(fraction * N_FEATURES / self.validation_share)),
                    "method": method,
                    "seed": settings.seed,
                    "run": run,
                },
            )
            for run in settings.runs(self.runs, 1)
            for active in ACTIVE
            for fraction in (self.quick_fractions[active] if settings.quick else self.fractions)
            for method in METHODS
            if method != "vg-default" or (run < self.default_runs and not settings.quick)
        ]


def summarised(rows: Iterable[Row]) -> list[Row]:
    named = [row | {"p/n": row["n_train"] / row["n_features"]} for row in rows]
    return summarise(named, ["active", "p/n", "method"], ["auc", "l1_error", "test", "nonzero", "seconds"])


def draw(axes: np.ndarray, summary: list[Row]) -> None:
    """Three rows of panels, one column per sparsity."""
    runs = {method: [row["n"] for row in pick(summary, method=method)] for method in METHODS}
    for column, active in enumerate(ACTIVE):
        for row, (measure, title) in enumerate(MEASURES.items()):
            axis: Axes = axes[row, column]
            for method in METHODS:
                if not runs[method] or (method == "true" and measure != "test"):
                    continue
                fewer = f" ({max(runs[method])} runs)" if max(runs[method]) < max(runs["vg"]) else ""
                x, y, error = curve(summary, "p/n", measure, active=active, method=method)
                plot_method(axis, method, x, y, error, LOOKS[method].name + fewer)
            axis.set(ylabel=title, xlim=(0, None))
            if measure == "test":
                axis.set(yscale="log", xlabel="$p/n$")
        axes[0, column].set(title=f"{active:.0%} active", ylim=(0.45, 1.02))


def table(summary: list[Row]) -> Table:
    fractions = sorted({row["p/n"] for row in summary})
    lines = []
    for active in ACTIVE:
        for method in METHODS[:-1]:
            found = {row["p/n"]: row for row in pick(summary, active=active, method=method)}
            if found:
                cells = [
                    f"{found[f]['auc']:.2f} / {found[f]['l1_error']:.3g}" if f in found else "–" for f in fractions
                ]
                lines.append([f"{active:.0%}", LOOKS[method].name, *cells])
    return Table(["active", "method", *(f"p/n = {f:g}" for f in fractions)], lines, "Mean AUC / mean ‖δv‖₁")


def crossing(summary: list[Row], active: float, method: str, level: float) -> float:
    """The p/n at which the mean AUC first reaches a level, linearly between grid points; infinity if never."""
    x, y, _ = curve(summary, "p/n", "auc", active=active, method=method)
    above = np.flatnonzero(y >= level)
    if not len(above):
        return float("inf")
    k = int(above[0])
    if k == 0:
        return float(x[0])
    return float(np.interp(level, y[k - 1 : k + 1], x[k - 1 : k + 1]))


def value(summary: list[Row], active: float, fraction: float, method: str, measure: str) -> float:
    """A mean at a grid point."""
    return float(pick(summary, active=active, method=method, **{"p/n": fraction})[0][measure])
