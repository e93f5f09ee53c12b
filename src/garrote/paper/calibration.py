"""Our own study, not in the paper: what inclusion probabilities, selections and predictive intervals are worth."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from garrote.arrays import Array
from garrote.paper.experiments.calibration import LARGE, N_ACTIVE, SMALL, large_problem, small_problem
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table
from garrote.paper.style import GREY, LOOKS, legend_below, letter, panels, plot_method

ZETAS = (0.0, 0.5, 0.95)
#: Bins of the predicted inclusion, equally wide.
N_BINS = 10
#: A bin with fewer features than this is not drawn.
LEAST = 10

NAMES = {
    "exact": "exact posterior",
    "exact-flat": "exact, flat slab",
    "pmf": "PMF",
    "vg": "VG, the prior's γ",
    "vg-occam": "VG, Occam's γ",
    "vg-default": "VG, our default",
    "vg-folds": "VG, our default, error of folds",
    "lasso": "Lasso-CV",
}
RELIABLE = ("exact", "exact-flat", "pmf", "vg", "vg-occam", "vg-default")
DISCOVERING = ("vg", "vg-occam", "vg-default", "pmf", "lasso")
COVERING = ("exact", "pmf", "vg", "vg-occam", "vg-default", "vg-folds", "lasso")


def instances(settings: Settings) -> list[Instance]:
    small = [
        Instance(small_problem, {"zeta": zeta, "seed": settings.seed, "run": run})
        for run in settings.runs(60, 4)
        for zeta in ZETAS
    ]
    large = [
        Instance(large_problem, {"zeta": zeta, "n_active": n_active, "seed": settings.seed, "run": run})
        for run in settings.runs(20, 1)
        for n_active in (0, N_ACTIVE)
        for zeta in ZETAS
    ]
    return small + large


# ---- reliability -----------------------------------------------------------------------------------------------


def reliability(inclusion: Array, active: Array) -> tuple[Array, Array, Array]:
    """Per bin of the predicted inclusion that is not empty: its mean, the share of active features, their number."""
    bins = np.minimum((inclusion * N_BINS).astype(int), N_BINS - 1)
    count = np.bincount(bins, minlength=N_BINS)
    some = count > 0
    predicted = np.bincount(bins, inclusion, N_BINS)[some] / count[some]
    share = np.bincount(bins, active, N_BINS)[some] / count[some]
    return predicted, share, count[some].astype(np.float64)


def calibration_error(inclusion: Array, active: Array) -> float:
    """The expected calibration error: |mean inclusion − share of active features|, averaged over all features."""
    predicted, share, count = reliability(inclusion, active)
    return float(np.average(np.abs(predicted - share), weights=count))


def pooled(rows: list[Row], method: str) -> tuple[Array, Array]:
    """All inclusions of a method, and whether the features were active."""
    inclusion = np.concatenate([row["inclusion"][method] for row in rows])
    return inclusion, np.concatenate([row["active"] for row in rows]).astype(float)


def reliability_measures(rows: list[Row], method: str) -> dict[str, float]:
    inclusion, active = pooled(rows, method)
    sure, likely = inclusion > 0.95, inclusion > 0.5
    return {
        "calibration error": calibration_error(inclusion, active),
        "mean inclusion": float(inclusion.mean()),
        "share active": float(active.mean()),
        "active among m > 0.5": _mean(active[likely]),
        "active among m > 0.95": _mean(active[sure]),
    }


def _mean(values: Any) -> float:
    return float(np.mean(values)) if len(values) else float("nan")


def draw_reliability(axis: Axes, rows: list[Row], zeta: float) -> None:
    axis.plot([0, 1], [0, 1], color=GREY, linewidth=0.8)
    for method in RELIABLE:
        predicted, share, count = reliability(*pooled(rows, method))
        shown = count >= LEAST
        error = np.sqrt(share * (1 - share) / count)
        plot_method(axis, method, predicted[shown], share[shown], error[shown], NAMES[method])
    axis.set(xlabel="inclusion $m$", ylabel=f"share of active features, ζ = {zeta:g}", xlim=(0, 1), ylim=(0, 1.02))


# ---- false discoveries -------------------------------------------------------------------------------------------


def discovery_measures(rows: list[Row], method: str) -> dict[str, float]:
    false = np.array([row[method]["false"] for row in rows])
    true = np.array([row[method]["true"] for row in rows])
    stand_ins = sum(row[method]["stand_ins"] for row in rows)
    return {
        "false discoveries": float(false.mean()),
        "data sets with any": float((false > 0).mean()),
        "false discovery rate": float((false / np.maximum(false + true, 1)).mean()),
        "found": float(true.mean()),
        "false ones that stand in": float(stand_ins / false.sum()) if false.any() else 0.0,
    }


# ---- report --------------------------------------------------------------------------------------------------------


def report(rows: list[Row]) -> Report:
    small = {zeta: [r for r in rows if "active" in r and r["zeta"] == zeta] for zeta in ZETAS}
    large = {
        (n_active, zeta): [r for r in rows if r.get("n_active") == n_active and r["zeta"] == zeta]
        for n_active in (0, N_ACTIVE)
        for zeta in ZETAS
    }
    inclusion = {(z, m): reliability_measures(small[z], m) for z in ZETAS for m in RELIABLE}
    found = {(n, z, m): discovery_measures(large[n, z], m) for n, z in large for m in DISCOVERING}
    intervals = {
        (z, m): {k: float(np.mean([r[k][m] for r in small[z]])) for k in ("coverage", "width")}
        for z in ZETAS
        for m in COVERING
    }
    numbers = [
        {"study": study, "active": n, "zeta": z, "method": m, "measure": measure, "value": value}
        for study, table in (
            ("reliability", {("", *key): entry for key, entry in inclusion.items()}),
            ("discoveries", found),
            ("intervals", {("", *key): entry for key, entry in intervals.items()}),
        )
        for (n, z, m), entry in table.items()
        for measure, value in entry.items()
    ]
    tables = [
        _reliability_table(inclusion),
        *(_discovery_table(found, n) for n in (0, N_ACTIVE)),
        _interval_table(intervals),
    ]
    return Report(
        numbers,
        tables,
        _checks(
            reliability_measures([row for rows in small.values() for row in rows], "exact"), inclusion, found, intervals
        ),
        _figure(small, found, intervals),
        list(NOTES),
    )


NOTES = (
    "Not in the paper. “Exact posterior” knows the prior that generated the data, so that it is calibrated, and its "
    "calibration error shows what is chance. “Exact, flat slab” enumerates VG's own model, weights and noise at their "
    "maximum for each subset. “The prior's γ” is the log odds of a feature under that prior. “Occam's γ” is that, less "
    "½ log(1 + n_samples σ_w²/σ²), which averaging over a weight of a Gaussian slab costs.",
    "PMF is told σ², σ_w² and π in the small problems and learns them in the larger ones.",
)


def _reliability_table(inclusion: dict[Any, dict[str, float]]) -> Table:
    measures = list(next(iter(inclusion.values())))
    return Table(
        ["ζ", "method", *measures],
        [[f"{z:g}", NAMES[m], *(f"{value:.3f}" for value in entry.values())] for (z, m), entry in inclusion.items()],
        f"Inclusions of {SMALL[1]} features, {SMALL[0]} samples",
    )


def _discovery_table(found: dict[Any, dict[str, float]], n_active: int) -> Table:
    measures = list(next(iter(found.values())))
    return Table(
        ["ζ", "method", *measures],
        [
            [f"{z:g}", NAMES[m], *(f"{value:.2f}" for value in entry.values())]
            for (n, z, m), entry in found.items()
            if n == n_active
        ],
        f"m > ½, or the Lasso's non-zeros, with {n_active} of {LARGE[1]} features active, {LARGE[0]} samples",
    )


def _interval_table(intervals: dict[Any, dict[str, float]]) -> Table:
    return Table(
        ["ζ", "method", "coverage", "mean std / σ"],
        [
            [f"{z:g}", NAMES[m], f"{entry['coverage']:.3f}", f"{entry['width']:.3f}"]
            for (z, m), entry in intervals.items()
        ],
        "New responses within the 95 % predictive interval",
    )


def _checks(
    exact: dict[str, float],
    inclusion: dict[Any, dict[str, float]],
    found: dict[Any, dict[str, float]],
    intervals: dict[Any, dict[str, float]],
) -> list[Check]:
    def error(zeta: float, method: str) -> float:
        return inclusion[zeta, method]["calibration error"]

    def over_all(n_active: int, method: str, measure: str) -> float:
        return float(np.mean([found[n_active, z, method][measure] for z in ZETAS]))

    def covered(method: str) -> float:
        return float(np.mean([intervals[z, method]["coverage"] for z in ZETAS]))

    independent = inclusion[0.0, "vg"]
    return [
        Check(
            "the exact posterior is calibrated, over all ζ: mean inclusion less the share of active features",
            abs(exact["mean inclusion"] - exact["share active"]),
            "<",
            0.05,
        ),
        Check(
            "the exact posterior can be believed, over all ζ: active features among those with m > 0.95",
            exact["active among m > 0.95"],
            ">",
            0.9,
        ),
        Check(
            "VG at the prior's γ is too sure, ζ = 0: mean inclusion less the share of active features",
            independent["mean inclusion"] - independent["share active"],
            ">",
            0.1,
        ),
        Check(
            "VG's own model is as sure, so it is not the approximation: difference of the two errors, ζ = 0",
            abs(error(0.0, "vg") - error(0.0, "exact-flat")),
            "<",
            0.1,
        ),
        Check(
            "Occam's γ calibrates VG for independent features: error relative to that at the prior's γ",
            error(0.0, "vg-occam") / error(0.0, "vg"),
            "<",
            0.5,
        ),
        Check(
            "ζ = 0.95: VG, our default, is sure of wrong features, active ones among those with m > 0.95",
            inclusion[0.95, "vg-default"]["active among m > 0.95"],
            "<",
            0.9,
        ),
        Check(
            "VG, our default, makes fewer false discoveries than Lasso-CV: rate relative to it",
            over_all(N_ACTIVE, "vg-default", "false discovery rate")
            / over_all(N_ACTIVE, "lasso", "false discovery rate"),
            "<",
            1.0,
        ),
        Check("VG's 95 % interval, our default, holds fewer new responses", covered("vg-default"), "<", 0.95),
        Check("the exact posterior's holds 95 %: deviation", abs(covered("exact") - 0.95), "<", 0.03),
    ]


def _figure(small: dict[float, list[Row]], found: Any, intervals: Any) -> Any:
    figure, axes = panels(2, 3)
    for axis, zeta in zip(axes[0], ZETAS, strict=True):
        draw_reliability(axis, small[zeta], zeta)
    for method in DISCOVERING:
        for axis, n_active, measure in (
            (axes[1, 0], 0, "false discoveries"),
            (axes[1, 1], N_ACTIVE, "false discovery rate"),
        ):
            plot_method(axis, method, ZETAS, [found[n_active, z, method][measure] for z in ZETAS], None, NAMES[method])
    axes[1, 0].set(xlabel="ζ", ylabel="false discoveries, pure noise", yscale="symlog", ylim=(0, None))
    axes[1, 1].set(xlabel="ζ", ylabel=f"false discovery rate, {N_ACTIVE} active")
    for method in (m for m in COVERING if m in LOOKS):
        plot_method(axes[1, 2], method, ZETAS, [intervals[z, method]["coverage"] for z in ZETAS], None, NAMES[method])
    axes[1, 2].axhline(0.95, color=GREY, linewidth=0.8)
    axes[1, 2].set(xlabel="ζ", ylabel="coverage of the 95 % interval")
    letter(axes)
    axes[0, 0].plot([], [], color=LOOKS["lasso"].color, marker=LOOKS["lasso"].marker, label=NAMES["lasso"])
    legend_below(figure, axes[0, 0])
    return figure


ITEM = Item(
    "calibration",
    "Not in the paper: (a)–(c) of the features with inclusion m, the share that is active, data drawn from a "
    "spike-and-slab prior; (d) features selected from pure noise; (e) the share of false ones among those selected; "
    "(f) new responses within the 95 % predictive interval.",
    instances,
    report,
)
