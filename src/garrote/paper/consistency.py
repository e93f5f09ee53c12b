"""fig-consistency: Lasso and garrote paths for Zhao & Yu's inconsistent example (Fig. zhao1)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from garrote.paper.experiments.consistency import paths
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table
from garrote.paper.style import FIRST, SECOND, THIRD, letter, panels

COLOURS = (FIRST, THIRD, SECOND)


def instances(settings: Settings) -> list[Instance]:
    return [
        Instance(paths, {"example": example, "seed": settings.seed, "run": run, "n_gammas": 50})
        for example in "ab"
        for run in settings.runs(100, 20)
    ]


def report(rows: list[Row]) -> Report:
    lasso = {e: float(np.mean([row["lasso_right"] for row in rows if row["example"] == e])) for e in "ab"}
    garrote = {e: float(np.mean([any(row["right"]) for row in rows if row["example"] == e])) for e in "ab"}
    shown = next(row for row in rows if row["example"] == "a" and not row["lasso_right"])
    gamma, right = np.array(shown["gamma"]), np.array(shown["right"])
    usual = right[gamma >= shown["gamma_min"]]
    figure, axes = panels(2, 2)
    _lines(axes[0, 0], shown["lambda"], shown["lasso_v"], "v", "$\\lambda$")
    axes[0, 0].set(title="Lasso", xlim=(0, None))
    for axis, key, name in ((axes[0, 1], "v", "v"), (axes[1, 0], "m", "m"), (axes[1, 1], "w", "w")):
        _lines(axis, gamma, shown[key], name, "$\\gamma$")
        axis.set(title="VG", xlim=(gamma[0], gamma[-1]))
    letter(axes)
    numbers = [
        {
            "example": row["example"],
            "run": row["run"],
            "Lasso path has the support": row["lasso_right"],
            "share of the VG grid that has it": float(np.mean(row["right"])),
        }
        for row in rows
    ]
    checks = [
        Check("example a: VG finds the right support at some γ (share of instances)", garrote["a"], "=", 1),
        Check("example b: VG finds the right support at some γ (share of instances)", garrote["b"], "=", 1),
        Check("example a, shown: share of the γ above γ_min with the right support", float(usual.mean()), ">", 0.5),
        Check("example a: Lasso paths with the right support at any λ (share of instances)", lasso["a"], "<", 0.75),
        Check("example b: Lasso paths with the right support at some λ (share of instances)", lasso["b"], "=", 1),
    ]
    table = Table(
        ["paths that contain the right support", "Lasso", "VG"],
        [[f"example {e}", f"{lasso[e]:.0%}", f"{garrote[e]:.0%}"] for e in "ab"],
    )
    notes = [
        "Inconsistent means that the Lasso path misses the right support with a probability that does not vanish: the "
        "condition fails towards one sign of the noise, about half of the instances. "
        f"Shown is run {shown['run']}, the first that misses it; in the others x₃ leaves for a short range of small λ.",
    ]
    return Report(numbers, [table], checks, figure, notes)


def _lines(axis: Axes, x: Any, curves: Any, symbol: str, label: str) -> None:
    values = np.array(curves)
    for i, (color, line) in enumerate(zip(COLOURS, ("-", "--", "-."), strict=True)):
        axis.plot(x, values[:, i], line, color=color, label=f"${symbol}_{i + 1}$")
    axis.set(xlabel=label, ylabel=f"${symbol}_i$")
    axis.legend()


ITEM = Item(
    "fig-consistency",
    "Zhao & Yu's example a (weights 2, 3, 0): (a) Lasso against λ; (b) VG against γ; (c) m; (d) w.",
    instances,
    report,
)
