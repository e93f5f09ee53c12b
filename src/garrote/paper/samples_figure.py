"""What fig-samples and fig-genetic have in common: AUC, ‖δv‖₁ and test error against p/n at two sparsities."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from matplotlib.axes import Axes

from garrote.paper.item import Instance, Record, Row, Settings, Table, curve, pick, summarise
from garrote.paper.style import LOOKS, plot_method

N_FEATURES = 500
ACTIVE = (0.10, 0.25)
METHODS = ("vg", "vg-default", "pmf", "lasso", "ridge", "true")
MEASURES = {"auc": "AUC", "l1_error": "$\\|\\delta v\\|_1$", "test": "test MSE"}
#: p/n, and the few of them, below and above each transition, for a quick look.
FRACTIONS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0)
QUICK_FRACTIONS = {0.10: (0.2, 0.5), 0.25: (0.4, 0.8)}
#: Runs in all, and of our default, which fits eighteen paths where the paper's protocol fits one.
RUNS, DEFAULT_RUNS = 20, 5


def instances(experiment: Callable[..., Record], validation_share: int, settings: Settings) -> list[Instance]:
    """The long ones first, so that the processes finish together."""
    grid = [
        Instance(
            experiment,
            {
                "n_features": N_FEATURES,
                "active": active,
                "n_train": round(fraction * N_FEATURES),
                "n_validation": max(1, round(fraction * N_FEATURES / validation_share)),
                "method": method,
                "seed": settings.seed,
                "run": run,
            },
        )
        for run in settings.runs(RUNS, 1)
        for active in ACTIVE
        for fraction in (QUICK_FRACTIONS[active] if settings.quick else FRACTIONS)
        for method in METHODS
        if _wanted(method, run, settings)
    ]
    return sorted(grid, key=lambda instance: -_weight(instance))


def _wanted(method: str, run: int, settings: Settings) -> bool:
    return method != "vg-default" or (run < DEFAULT_RUNS and not settings.quick)


def _weight(instance: Instance) -> float:
    """Larger for instances that take longer."""
    given = instance.parameters
    return {"vg-default": 18.0, "vg": 1.0}.get(given["method"], 0.0) * given["n_train"]


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
            axis.set(ylabel=title, xlim=(0, 1.05))
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
                cells = [f"{found[f]['auc']:.2f} / {found[f]['l1_error']:.3g}" if f in found else "–" for f in fractions]
                lines.append([f"{active:.0%}", LOOKS[method].name, *cells])
    return Table(["active", "method", *(f"p/n = {f:g}" for f in fractions)], lines, "Mean AUC / mean ‖δv‖₁")


def crossing(summary: list[Row], active: float, method: str, level: float) -> float:
    """The p/n at which the mean AUC first reaches a level, between grid points by a straight line; infinity if never."""
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
