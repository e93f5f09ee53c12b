"""fig-scaling: quality and time against the number of features (Fig. scaling)."""

from __future__ import annotations

import numpy as np

from garrote.paper.experiments.scaling import SUPPORT, one_fit
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table, curve, pick, summarise
from garrote.paper.style import GREY, LOOKS, legend_below, letter, panels, plot_method

METHODS = ("vg", "vg-default", "pmf", "lasso")
SIZES = (100, 200, 500, 1000, 2000, 5000, 10_000)
QUICK_SIZES = (100, 1000, 5000)
#: PMF's starting point (every feature half in, with random weights) is lost in its own noise beyond this size.
PMF_LARGEST = 5000


def instances(settings: Settings) -> list[Instance]:
    return [
        Instance(one_fit, {"n_features": size, "method": method, "seed": settings.seed, "run": run})
        for run in settings.runs(10, 3)
        for size in (QUICK_SIZES if settings.quick else SIZES)
        for method in METHODS
    ]


def report(rows: list[Row]) -> Report:
    summary = summarise(rows, ["n_features", "method"], ["l1_error", "nonzero", "seconds"])
    figure, axes = panels(1, 3)
    for axis, measure, title in zip(
        axes[0], ("l1_error", "nonzero", "seconds"), ("$\\|\\delta v\\|_1$", "$L_0$", "CPU time (s)"), strict=True
    ):
        for method in METHODS:
            x, y, error = curve(summary, "n_features", measure, method=method)
            plot_method(axis, method, x, y, None if measure == "seconds" else error)
        axis.set(xscale="log", xlabel="$n$", ylabel=title)
    axes[0, 1].axhline(len(SUPPORT), linestyle=":", color=GREY)
    axes[0, 2].set(yscale="log")
    letter(axes)
    legend_below(figure, axes[0, 0])
    sizes = sorted({row["n_features"] for row in summary})

    def value(method: str, size: int, measure: str) -> float:
        return float(pick(summary, method=method, n_features=size)[0][measure])

    def growth(method: str, last: int) -> float:
        """‖δv‖₁ at the last size relative to the first."""
        return value(method, last, "l1_error") / value(method, sizes[0], "l1_error")

    largest, pmf_largest = sizes[-1], max(size for size in sizes if size <= PMF_LARGEST)
    exponent = float(np.polyfit(np.log(sizes), np.log([value("vg", s, "seconds") for s in sizes]), 1)[0])
    checks = [
        Check(f"VG: ‖δv‖₁ at n = {largest} relative to n = {sizes[0]}", growth("vg", largest), "<", 1.5),
        Check(f"PMF: ‖δv‖₁ at n = {pmf_largest} relative to n = {sizes[0]}", growth("pmf", pmf_largest), "<", 1.5),
        Check(
            f"the Lasso deteriorates: ‖δv‖₁ at n = {largest} relative to VG's",
            value("lasso", largest, "l1_error") / value("vg", largest, "l1_error"),
            ">",
            2,
        ),
        *(
            Check(f"{LOOKS[m].name}: distance of L0 from 5 at n = {s}", abs(value(m, s, "nonzero") - 5), "<", 1)
            for m, s in (("vg", largest), ("pmf", pmf_largest))
        ),
        Check("VG: CPU time grows no faster than linearly (exponent)", exponent, "<", 1.2),
        Check(
            f"VG is faster than PMF at n = {largest} (ratio)",
            value("vg", largest, "seconds") / value("pmf", largest, "seconds"),
            "<",
            1,
        ),
        Check(
            f"VG is faster than PMF at n = {sizes[0]} (ratio)",
            value("vg", sizes[0], "seconds") / value("pmf", sizes[0], "seconds"),
            "<",
            1,
        ),
    ]
    table = Table(
        ["n", *(LOOKS[method].name for method in METHODS)],
        [
            [
                str(s),
                *(
                    f"{value(m, s, 'l1_error'):.2f} / {value(m, s, 'nonzero'):.1f} / {value(m, s, 'seconds'):.3f} s"
                    for m in METHODS
                ),
            ]
            for s in sizes
        ],
        "Mean ‖δv‖₁ / L0 / CPU time",
    )
    notes = [
        "In the paper VG and PMF were both Matlab. Here both are compiled, VG traces fifty γ with branches and "
        "exchange moves, and PMF stops when nothing changes instead of after a fixed number of sweeps, so that at few "
        "features PMF is the faster one.",
    ]
    return Report(summary, [table], checks, figure, notes)


ITEM = Item(
    "fig-scaling",
    "Example 2's weights on n independent inputs, 100 training and 100 validation samples, β = 2: (a) reconstruction "
    "error, (b) number of non-zeros, (c) processor time of one fit.",
    instances,
    report,
)
