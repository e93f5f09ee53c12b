"""fig-shrinkage: the univariate solution of four methods as a function of the true weight (Fig. file5a)."""

from __future__ import annotations

import numpy as np

from garrote.paper.fixed_point import instances
from garrote.paper.item import Check, Item, Report, Row, Table
from garrote.paper.style import GREY, LOOKS, panels
from garrote.theory import garrote_shrinkage, lasso_shrinkage, ridge_shrinkage, vg_shrinkage

N_SAMPLES, VG_GAMMA, RIDGE_FACTOR, GARROTE_GAMMA, LASSO_GAMMA = 100, -10.0, 0.5, 0.25, 0.5
WEIGHTS = np.linspace(0, 2, 401)


def report(rows: list[Row]) -> Report:
    curves = {
        "vg": vg_shrinkage(WEIGHTS, VG_GAMMA, N_SAMPLES),
        "ridge": ridge_shrinkage(WEIGHTS, RIDGE_FACTOR),
        "garrote": garrote_shrinkage(WEIGHTS, GARROTE_GAMMA),
        "lasso": lasso_shrinkage(WEIGHTS, LASSO_GAMMA),
    }
    figure, axes = panels(1, 1, scale=1.3)
    axis = axes[0, 0]
    axis.plot(WEIGHTS, WEIGHTS, ":", color=GREY, label="least squares")
    for method, values in curves.items():
        axis.plot(WEIGHTS, values, color=LOOKS[method].color, label=LOOKS[method].name)
    axis.set(xlabel="$w$", ylabel="solution", xlim=(0, 2), ylim=(0, 2))
    axis.legend()
    numbers = [
        {"w": float(w)} | {method: float(values[i]) for method, values in curves.items()} for i, w in enumerate(WEIGHTS)
    ]
    lost = {method: WEIGHTS - values for method, values in curves.items()}
    strong, weak = WEIGHTS >= 1, (WEIGHTS > 0) & (WEIGHTS <= 0.25)
    checks = [
        Check("VG keeps weights ≥ 1 (largest shrinkage)", float(lost["vg"][strong].max()), "<", 1e-3),
        Check(
            "VG ignores weights ≤ ¼ (largest share kept)", float((curves["vg"][weak] / WEIGHTS[weak]).max()), "<", 0.05
        ),
        Check("the Lasso shrinks strong weights by γ = ½ (least)", float(lost["lasso"][strong].min()), "≥", 0.5),
        Check("ridge keeps a constant share (spread)", float(np.ptp(curves["ridge"][1:] / WEIGHTS[1:])), "<", 1e-12),
        Check(
            "the garrote shrinks weights ≥ 1 less than the Lasso (most)", float(lost["garrote"][strong].max()), "<", 0.5
        ),
    ]
    places = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0]
    table = Table(
        ["w", *(LOOKS[method].name for method in curves)],
        [[f"{w}", *(f"{np.interp(w, WEIGHTS, values):.3f}" for values in curves.values())] for w in places],
    )
    return Report(numbers, [table], checks, figure)


ITEM = Item(
    "fig-shrinkage",
    "Univariate solutions: VG with γ = −10, p = 100 and unit noise; ridge with λ = 0.5; garrote with γ = ¼; "
    "Lasso with γ = ½.",
    report=report,
    instances=instances,
)
