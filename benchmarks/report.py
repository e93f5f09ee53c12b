"""The results as tables and as a picture of how cost scales."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import EngFormatter
from methods import METHODS
from problems import BY_FEATURES, BY_SAMPLES, NOISE, PROBLEMS, Problem

#: The scaling grids: axis label, problems, their size, and the sizes over which the exponent is fitted.
GRIDS = {
    "features": ("features (100 samples)", BY_FEATURES, "n_features", (10_000, 1_000_000)),
    "samples": ("samples (10 000 features)", BY_SAMPLES, "n_samples", (100, 3200)),
}

METRICS = [
    "gemv",
    "seconds",
    "gemv_seconds",
    "memory",
    "extra_mb",
    "cold_seconds",
    "points",
    "selected",
    "l1_error",
    "f1",
]

#: Below this size of X (MB) a ratio of memory to it says nothing.
SMALL_MB = 8.0

NOTES = f"""\
Processor time on one thread, float64 in Fortran order, noise variance {NOISE:g}, weights 0 or 1. Lasso paths have 100 λ
down to 0.01 λ_max, on small and tall problems 0.001; L0 paths go up to 20 features, on small problems half the samples.

- *gemv*: the time in passes Xᵀr over X, timed in the same process.
- *memory*: peak size of the process relative to X, including X (1 is no memory but X), or above it where X is small.
- *start*: imports and a first fit of a tiny problem; not part of the time.
- *points*: fits on the path. The columns after it: where the error on infinitely many new samples is smallest."""


def write_report(rows: pd.DataFrame, out: Path) -> str:
    """Write the tables and the picture into a folder; returns the text to print."""
    out.mkdir(parents=True, exist_ok=True)
    rows = rows.reindex(columns=["problem", "method", "version", *METRICS, "failure"])
    rows.to_csv(out / "table.csv", index=False)
    fitted = exponents(rows)
    text = "\n\n".join(
        [
            "# Benchmark",
            NOTES,
            *(section(part) for _, part in rows.groupby("problem", sort=False)),
            scaling_text(fitted),
        ]
    )
    (out / "table.md").write_text(text + "\n")
    plot_scaling(rows, fitted, out)
    return f"{text}\n\nWritten to {out}: table.csv, table.md, scaling.png, scaling.svg"


# ---- tables -----------------------------------------------------------------------------------------------


def markdown(header: list[str], lines: list[list[str]]) -> str:
    """A Markdown table; the first column is text, the others are numbers."""
    widths = [max(map(len, column)) for column in zip(header, *lines, strict=True)]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(cells, widths) for cells in (header, rule, *lines))


def _line(cells: list[str], widths: list[int]) -> str:
    aligned = (
        cell.rjust(width) if i else cell.ljust(width) for i, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return f"| {' | '.join(aligned)} |"


def section(part: pd.DataFrame) -> str:
    """The table of one problem, fastest method first, and the methods that failed."""
    problem = PROBLEMS[part["problem"].iloc[0]]
    header = ["method", "gemv", "time", "memory", "start", "points", "selected", "‖δv‖₁", "F1"]
    done, failed = part[part.failure.isna()], part[part.failure.notna()]
    table = markdown(header, [cells(row, problem) for row in done.sort_values("seconds").itertuples()])
    reasons = "".join(f"\n- {row.method} {row.version}: {row.failure}" for row in failed.itertuples())
    return f"## {title(problem)}\n\n{table}" + (f"\n{reasons}" if reasons else "")


def title(problem: Problem) -> str:
    zeta = f", ζ = {problem.zeta:g}" if problem.zeta else ""
    return f"{problem.n_features:,} features × {problem.n_samples:,} samples, {problem.n_nonzero} non-zero{zeta}"


def cells(row: Any, problem: Problem) -> list[str]:
    """One line of a problem's table."""
    megabytes = 8e-6 * problem.n_features * problem.n_samples
    return [
        f"{row.method} {row.version}",
        f"{row.gemv:,.0f}",
        duration(row.seconds),
        f"{row.memory:.2f}" if megabytes > SMALL_MB else f"+{row.extra_mb:.0f} MB",
        duration(row.cold_seconds),
        f"{row.points:.0f}",
        f"{row.selected:.0f}",
        f"{row.l1_error:.2f}",
        f"{row.f1:.2f}",
    ]


def duration(seconds: float) -> str:
    return f"{seconds:.3g} s" if seconds >= 1 else f"{1e3 * seconds:.3g} ms"


# ---- scaling ----------------------------------------------------------------------------------------------


def on_grid(rows: pd.DataFrame, grid: str) -> pd.DataFrame:
    """The rows of a scaling grid that have a result, by size."""
    _, problems, size, _ = GRIDS[grid]
    part = rows[rows.problem.isin(problems) & rows.failure.isna()]
    return part.assign(size=[getattr(problems[name], size) for name in part.problem]).sort_values("size")


def curve(rows: pd.DataFrame, method: str, grid: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and seconds of a method on a scaling grid."""
    part = on_grid(rows, grid)
    part = part[part.method == method]
    return part["size"].to_numpy(dtype=float), part.seconds.to_numpy(dtype=float)


def one_pass(rows: pd.DataFrame, grid: str) -> tuple[np.ndarray, np.ndarray]:
    """Sizes and seconds of one pass over X on a scaling grid, the median over methods."""
    seconds = on_grid(rows, grid).groupby("size").gemv_seconds.median()
    return seconds.index.to_numpy(dtype=float), seconds.to_numpy(dtype=float)


def exponents(rows: pd.DataFrame) -> dict[tuple[str, str], float]:
    """(grid, method) → the power of the size that its time grows with, by least squares of the logarithms."""
    fitted = {}
    for grid, (*_, (lowest, highest)) in GRIDS.items():
        for method in METHODS:
            sizes, seconds = curve(rows, method, grid)
            use = (sizes >= lowest) & (sizes <= highest)
            if use.sum() >= 3:
                fitted[grid, method] = float(np.polyfit(np.log(sizes[use]), np.log(seconds[use]), 1)[0])
    return fitted


def scaling_text(fitted: dict[tuple[str, str], float]) -> str:
    """The fitted exponents as a table."""
    methods = [method for method in METHODS if any((grid, method) in fitted for grid in GRIDS)]
    if not methods:
        return "Too few sizes for an exponent."
    header = ["time ∝ size^k", *(f"{grid} {low:,}–{high:,}" for grid, (*_, (low, high)) in GRIDS.items())]
    lines = [[m, *(f"{fitted[grid, m]:.2f}" if (grid, m) in fitted else "–" for grid in GRIDS)] for m in methods]
    return "## Scaling\n\n" + markdown(header, lines)


def plot_scaling(rows: pd.DataFrame, fitted: dict[tuple[str, str], float], out: Path) -> None:
    """Time against size on both grids, with the cost of one pass over X as the floor."""
    figure, axes = plt.subplots(1, len(GRIDS), figsize=(12, 6), sharey=True, layout="constrained")
    for axis, (grid, (label, *_)) in zip(axes, GRIDS.items(), strict=True):
        for index, method in enumerate(METHODS):
            sizes, seconds = curve(rows, method, grid)
            power = f" ({fitted[grid, method]:.2f})" if (grid, method) in fitted else ""
            style = {"lw": 3.0, "zorder": 5, "color": "black"} if method == "VG" else {"lw": 1.4, "color": f"C{index}"}
            if len(sizes):
                axis.plot(sizes, seconds, marker="o", ms=4, label=method + power, **style)
        sizes, seconds = one_pass(rows, grid)
        axis.plot(sizes, seconds, ":", color="grey", label="one pass over X")
        axis.set_xlabel(label)
        if len(sizes):  # an empty axis has no logarithm
            axis.set(xscale="log", yscale="log")
            axis.set_xticks(sizes, minor=False)
            axis.xaxis.set_major_formatter(EngFormatter(sep=""))
            axis.minorticks_off()
        axis.grid(alpha=0.3)
        axis.legend(ncols=2, fontsize=8, loc="upper left", title="method (fitted power of the size)", title_fontsize=8)
        axis.margins(y=0.25)
    axes[0].set_ylabel("seconds for a whole path, one thread")
    for suffix in ("png", "svg"):
        figure.savefig(out / f"scaling.{suffix}", dpi=150)
    plt.close(figure)
