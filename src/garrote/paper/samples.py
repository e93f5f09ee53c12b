"""fig-samples: performance against the number of samples, independent inputs (Fig. toy)."""

from __future__ import annotations

from garrote.paper.experiments.samples import independent
from garrote.paper.item import Check, Item, Report, Row
from garrote.paper.samples_figure import ACTIVE, Plan, crossing, draw, summarised, table, value
from garrote.paper.style import LOOKS, legend_below, panels

PLAN = Plan(
    independent,
    validation_share=30,
    fractions=(0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0),
    quick_fractions={0.10: (0.2, 0.5), 0.25: (0.4, 0.8)},
    runs=20,
    default_runs=1,
)
#: Where the paper sees the transition.
TRANSITION = {0.10: 0.35, 0.25: 0.60}
#: Recovery is nearly perfect from this AUC on, and below this test error relative to that of the true weights.
RECOVERED_AUC, RECOVERED_TEST = 0.95, 2.0


def report(rows: list[Row]) -> Report:
    summary = summarised(rows)
    figure, axes = panels(3, 2, sharex=True)
    draw(axes, summary)
    legend_below(figure, axes[2, 0])
    checks = []
    for active in ACTIVE:
        before, after = PLAN.quick_fractions[active]
        for method in ("vg", "pmf", "lasso", "ridge"):
            name = f"{LOOKS[method].name}, {active:.0%} active"
            relation, bound = ("<", RECOVERED_TEST) if method in ("vg", "pmf") else (">", RECOVERED_TEST)
            claim = f"{name}, p/n = {after}: test error relative to the optimum"
            checks.append(Check(claim, _excess(summary, active, after, method), relation, bound))
        for method in ("vg", "pmf"):
            name = f"{LOOKS[method].name}, {active:.0%} active"
            place = crossing(summary, active, method, RECOVERED_AUC)
            checks += [
                Check(
                    f"{name}, p/n = {before}: the same", _excess(summary, active, before, method), ">", RECOVERED_TEST
                ),
                Check(
                    f"{name}: p/n where AUC reaches {RECOVERED_AUC}, distance from the paper's {TRANSITION[active]}",
                    abs(place - TRANSITION[active]),
                    "<",
                    0.15,
                ),
            ]
    return Report(
        summary,
        [table(summary)],
        checks,
        figure,
        ["Bars are standard errors. “True” is the error of the weights that made the data."],
    )


def _excess(summary: list[Row], active: float, fraction: float, method: str) -> float:
    return value(summary, active, fraction, method, "test") / value(summary, active, fraction, "true", "test")


ITEM = Item(
    "fig-samples",
    "Independent inputs: area under the ROC curve, reconstruction error and test error against the number of training "
    "samples p, for n = 500 features; p/30 validation samples.",
    PLAN.instances,
    report,
)
