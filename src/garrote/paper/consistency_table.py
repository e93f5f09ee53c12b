"""table-consistency: ridge, Lasso and VG on Zhao & Yu's examples (Table zhao2)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from garrote.paper.experiments.consistency import least_squares, one_fit, ridge_of_error
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table, pick, summarise
from garrote.paper.published import CONSISTENCY, CONSISTENCY_INSTANCES, CONSISTENCY_MAX_V3
from garrote.paper.style import LOOKS, panels

METHODS = ("ridge", "lasso", "vg", "vg-default")
NAMES = {method: LOOKS[method].name for method in METHODS} | {"ols": "least squares, support known"}


def instances(settings: Settings) -> list[Instance]:
    runs = [
        {"example": example, "seed": settings.seed, "run": run}
        for example in "ab"
        for run in settings.runs(CONSISTENCY_INSTANCES, 15)
    ]
    fits = [Instance(one_fit, {**run, "method": method}) for run in runs for method in METHODS]
    published = CONSISTENCY["a"]["ridge"]["l1_error"][0]
    ridge = [Instance(ridge_of_error, {**run, "error": published}) for run in runs if run["example"] == "a"]
    return fits + [Instance(least_squares, run) for run in runs] + ridge


def report(rows: list[Row]) -> Report:
    ridge = pick(rows, method="ridge of the paper")
    rows = [row for row in rows if row["method"] in NAMES]
    summary = summarise(rows, ["example", "method"], ["l1_error", "right"])
    for line in summary:
        line["max v3"] = max(row["v3"] for row in pick(rows, example=line["example"], method=line["method"]))

    def value(example: str, method: str, name: str) -> float:
        return float(pick(summary, example=example, method=method)[0][name])

    checks = [
        *(
            Check(f"VG finds the right support in example {e} (share of instances)", value(e, "vg", "right"), "=", 1)
            for e in "ab"
        ),
        *(Check(f"VG: largest |v₃| in example {e}", value(e, "vg", "max v3"), "<", 0.005) for e in "ab"),
        Check("the Lasso does not in example a (share of instances)", value("a", "lasso", "right"), "<", 0.9),
        Check(
            "example a: ‖δv‖₁ of the Lasso relative to VG",
            value("a", "lasso", "l1_error") / value("a", "vg", "l1_error"),
            ">",
            1,
        ),
        Check(
            "example a: VG relative to least squares that knows the support",
            value("a", "vg", "l1_error") / value("a", "ols", "l1_error"),
            "<",
            1.05,
        ),
    ]
    table = Table(
        ["", *(f"{e}: {title}" for e in "ab" for title in ("‖δv‖₁", "max |v₃|", "right support"))],
        [[name, *(cell for e in "ab" for cell in _cells(e, method, value))] for method, name in NAMES.items()],
        f"{pick(summary, method='vg')[0]['n']} instances, the paper's figures in parentheses",
    )
    figure, axes = panels(1, 2, sharey=True)
    for axis, example in zip(axes[0], "ab", strict=True):
        lines = [[row["l1_error"] for row in pick(rows, example=example, method=method)] for method in NAMES]
        axis.boxplot(lines, orientation="horizontal", tick_labels=list(NAMES.values()), medianprops={"color": "black"})
        axis.set(xlabel="$\\|\\delta v\\|_1$", title=f"Example {example}", xlim=(0, None))
    axes[0, 0].invert_yaxis()
    penalty, cost = (float(np.mean([row[name] for row in ridge])) for name in ("lambda", "cost"))
    notes = [
        f"The paper's 0.64 for ridge in example a is reached at λ = {penalty:.3f} (in χ + λ), which raises the "
        f"validation error by only {cost - 1:.1%}: a grid of λ that starts there explains it.",
        "x₃ = ⅔x₁ + ⅔x₂ + ⅓ξ as in Zhao & Yu; with the printed unit ξ the Lasso would be consistent in both examples.",
        "Least squares on the two true inputs alone has a ‖δv‖₁ of "
        f"{value('b', 'ols', 'l1_error'):.3f} in example b, so the paper's 0.00 and 0.02 there cannot come from unit "
        "noise.",
    ]
    return Report(summary, [table], checks, figure, notes)


def _cells(example: str, method: str, value: Callable[[str, str, str], float]) -> list[str]:
    error = f"{value(example, method, 'l1_error'):.3f} ± {value(example, method, 'l1_error sd'):.3f}"
    largest = f"{value(example, method, 'max v3'):.2f}"
    if method in CONSISTENCY[example]:
        mean, spread = CONSISTENCY[example][method]["l1_error"]
        error += f" ({mean:.2f} ± {spread:.2f})"
        largest += f" ({CONSISTENCY_MAX_V3[example][method]:.2f})"
    return [error, largest, f"{value(example, method, 'right'):.0%}"]


ITEM = Item(
    "table-consistency",
    "Zhao & Yu's examples a (weights 2, 3, 0) and b (−2, 3, 0): 1000 training and 1000 validation samples.",
    instances,
    report,
)
