"""What the pictures share: axes, the γ axis, labels that do not cover each other, colours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from garrote.arrays import Array, Index
from garrote.path import Path
from garrote.summary import feature_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Features that are named in a picture, and characters of a name, at most.
MOST_LABELS = 12
MOST_DOTS = 30
MOST_CHARACTERS = 28

#: Ticks of a logarithmic axis.
_ROUND = np.outer(10.0 ** np.arange(7), [1.0, 3.0]).ravel()

MUTED, ACCENT, SECOND = "0.72", "#0b5fa5", "#d1495b"


def axes(ax: Axes | None) -> Axes:
    """The given axes, or new ones."""
    if ax is not None:
        return ax
    try:
        from matplotlib import pyplot
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            "garrote.plot needs matplotlib; install it with: pip install 'garrote[plot]'"
        ) from None
    return pyplot.subplots(layout="constrained")[1]


def path_of(source: Any, names: Sequence[str] | None) -> tuple[Path, Sequence[str], float | None]:
    """A path, the names of its features and, for an estimator, its γ."""
    path = getattr(source, "path_", source)
    if not isinstance(path, Path):
        raise TypeError(f"{type(source).__name__} is neither a Path nor a fitted garrote; fit it first.")
    if names is None:
        names = feature_names(source, path[0].n_features)
    return path, names, getattr(source, "gamma_", None)


def feature_lines(ax: Axes, path: Path, values: sparse.csc_array, names: Sequence[str], gamma: float | None) -> None:
    """A line for each feature that is selected anywhere; the first to enter in colour, with their names."""
    gammas, table = path.gammas, values.tocsr()
    entered = _in_order_of_entry(path)
    named = _to_be_named(path, entered, gamma)
    others = np.setdiff1d(entered, named).astype(np.intp)
    if len(others):
        ax.plot(gammas, table[others].toarray().T, color=MUTED, linewidth=0.7, zorder=1)
    colours = [f"C{k % 10}" for k in range(len(named))]
    rows = table[named].toarray()
    for row, colour in zip(rows, colours, strict=True):
        ax.plot(gammas, row, color=colour, linewidth=1.6, zorder=2)
    gamma_axis(ax, gammas, gamma)
    _name_at_the_right(ax, rows[:, -1] if len(rows) else np.empty(0), [short(names[i]) for i in named], colours)


def _in_order_of_entry(path: Path) -> list[int]:
    """Every feature that is selected anywhere, the first to be selected first."""
    return list(dict.fromkeys(int(i) for solution in path for i in solution.selected))


def _to_be_named(path: Path, entered: list[int], gamma: float | None) -> Index:
    """The first MOST_LABELS; of those that are selected at γ, if it is given."""
    if gamma is not None:
        there = set(path[int(np.argmin(np.abs(path.gammas - gamma)))].selected.tolist())
        entered = [i for i in entered if i in there]
    return np.array(entered[:MOST_LABELS], dtype=np.intp)


def gamma_axis(ax: Axes, gammas: Array, chosen: float | None) -> None:
    """γ to the right, logarithmic where the grid is; the chosen one is marked."""
    steps = np.diff(gammas)
    if len(steps) and gammas[0] < -60.0 and steps.max() > 20.0 * steps.min():  # a grid of equal ratios
        ax.set_xscale("symlog", linthresh=1.0, linscale=0.5)
        ticks = np.concatenate([-_ROUND[::-1], [0.0], _ROUND])
        ticks = ticks[(ticks >= gammas[0]) & (ticks <= gammas[-1])]
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    if chosen is not None:
        ax.axvline(chosen, color=SECOND, linewidth=1.0, linestyle="-", zorder=1.5)
    ax.margins(x=0.01)
    ax.set_xlabel("γ (log prior odds of a feature; sparser to the left)")


def _name_at_the_right(ax: Axes, heights: Array, labels: list[str], colours: list[str]) -> None:
    """Names beside the ends of their lines, pushed apart where they would overlap."""
    low, high = ax.get_ylim()
    size = ax.get_window_extent().height * 72.0 / ax.figure.dpi  # in points
    gap = 10.0 / max(size, 1.0) * (high - low)
    for where, k in zip(_apart(np.sort(heights), gap, low, high), np.argsort(heights, kind="stable"), strict=True):
        ax.annotate(
            labels[k],
            (1.0, where),
            (4, 0),
            xycoords=("axes fraction", "data"),
            textcoords="offset points",
            color=colours[k],
            fontsize="small",
            va="center",
            annotation_clip=False,
        )


def _apart(heights: Array, gap: float, low: float, high: float) -> Array:
    """Ascending numbers as near to the given ones as leaves a gap between neighbours (least squares), low to high."""
    steps = gap * np.arange(len(heights))
    groups: list[list[float]] = []  # [mean, size]: neighbours that touch move together
    for value in heights - steps:
        groups.append([float(value), 1.0])
        while len(groups) > 1 and groups[-2][0] > groups[-1][0]:
            mean, size = groups.pop()
            before, count = groups[-1]
            groups[-1] = [(before * count + mean * size) / (count + size), count + size]
    apart = np.repeat([mean for mean, _ in groups], [int(size) for _, size in groups]) + steps
    return np.maximum(np.minimum(apart, high - steps[::-1]), low + steps)


def legend(ax: Axes, title: str | None = None) -> None:
    """A small legend through which the lines still shine."""
    ax.legend(title=title, fontsize="small", title_fontsize="small", framealpha=0.85, edgecolor="none")


def runs(flags: Any) -> list[tuple[int, int]]:
    """Ranges [low, high) of positions where the flag is set."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], flags, [False]]).astype(int)))
    return [(int(low), int(high)) for low, high in edges.reshape(-1, 2)]


def widened(flags: Any) -> Any:
    """Each run with the point before and after it, where the two lines meet."""
    wide = np.array(flags)
    wide[:-1] |= flags[1:]
    wide[1:] |= flags[:-1]
    return wide


def faint(count: int) -> float:
    """The opacity of so many overlapping lines."""
    return float(np.clip(200.0 / max(count, 1), 0.15, 0.9))


def short(name: str) -> str:
    """A name, cut where it is too long for a label."""
    return name if len(name) <= MOST_CHARACTERS else name[: MOST_CHARACTERS - 1] + "…"
