"""One look for all figures: size, fonts, and for each method a colour, marker and name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: Inches of one panel.
PANEL = (3.4, 2.7)

_RC: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "lines.linewidth": 1.4,
    "lines.markersize": 4,
    "savefig.dpi": 150,
    "svg.hashsalt": "garrote",  # the same figure is the same file
    "mathtext.fontset": "dejavusans",
}


class Look(NamedTuple):
    """How a method appears. The colours are Okabe and Ito's, which colour-blind readers can tell apart."""

    name: str
    color: str
    marker: str
    line: str


LOOKS = {
    "vg": Look("VG", "#0072B2", "o", "-"),
    "vg-default": Look("VG, our default", "#56B4E9", "s", "--"),
    "pmf": Look("PMF", "#D55E00", "^", "-"),
    "lasso": Look("Lasso", "#009E73", "v", "-"),
    "ridge": Look("Ridge", "#CC79A7", "D", "-"),
    "garrote": Look("Garrote", "#E69F00", "P", "-"),
    "vg-occam": Look("VG, Occam's γ", "#CC79A7", "P", "-"),
    "exact": Look("exact posterior", "#000000", "x", ":"),
    "exact-flat": Look("exact, flat slab", "#666666", "*", ":"),
    "true": Look("True", "#000000", "x", ":"),
}
#: For curves that are not methods.
FIRST, SECOND, THIRD, GREY = "#0072B2", "#D55E00", "#009E73", "#666666"


@contextmanager
def styled() -> Iterator[None]:
    """Draw and save in this style."""
    with rc_context(_RC):  # type: ignore[arg-type]  # matplotlib names its keys one by one
        yield


def panels(n_rows: int, n_columns: int, *, scale: float = 1.0, **options: Any) -> tuple[Figure, np.ndarray]:
    """A figure with a grid of panels, two-dimensional whatever its shape."""
    width, height = PANEL
    figure = Figure(figsize=(scale * width * n_columns, scale * height * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False, **options)


def letter(axes: np.ndarray) -> None:
    """(a), (b), … in reading order."""
    for axis, label in zip(axes.ravel(), "abcdefghijkl", strict=False):
        axis.set_title(f"({label})", loc="left", fontweight="bold")


def plot_method(axis: Axes, method: str, x: Any, y: Any, error: Any = None, label: str | None = None) -> None:
    """The curve of a method, with its standard errors."""
    look = LOOKS[method]
    axis.errorbar(
        x,
        y,
        yerr=error,
        color=look.color,
        marker=look.marker,
        linestyle=look.line,
        label=look.name if label is None else label,
        capsize=2,
        elinewidth=0.8,
    )


def legend_below(figure: Figure, axis: Axes) -> None:
    """One legend for all panels, below them."""
    handles, labels = axis.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(len(labels), 6))
