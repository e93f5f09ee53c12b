"""Pictures: an axes in, the axes out. Needs matplotlib, which is imported when a picture is drawn.

A path may be given as a :class:`~garrote.path.Path` or as the fitted estimator that traced it; an estimator also knows
the names of its features and the γ that it chose, which is then marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import norm

from garrote.plot._shared import (
    ACCENT,
    MOST_DOTS,
    MOST_LABELS,
    MUTED,
    SECOND,
    axes,
    faint,
    feature_lines,
    gamma_axis,
    legend,
    path_of,
    runs,
    short,
    widened,
)
from garrote.problem import as_problem
from garrote.select import choose
from garrote.summary import SELECTED, by_importance, check_fitted, feature_names, hysteresis
from garrote.theory import coexistence_gammas, gamma_star, rho_star

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "coefficient_path",
    "free_energy",
    "inclusion_path",
    "manhattan",
    "phase_diagram",
    "predicted_observed",
    "selected_features",
    "validation_curve",
]

# ---- over γ ------------------------------------------------------------------------------------------------


def coefficient_path(source: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Coefficients m·w over γ; the features that enter first are named, those of an estimator that it selected."""
    ax = axes(ax)
    path, names, gamma = path_of(source, names)
    feature_lines(ax, path, path.coefs, names, gamma)
    ax.axhline(0.0, color="0.5", linewidth=0.8, zorder=0)
    ax.set_ylabel("coefficient")
    return ax


def inclusion_path(source: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Inclusion probabilities m over γ, with the line of one half above which a feature counts as selected."""
    ax = axes(ax)
    path, names, gamma = path_of(source, names)
    ax.set_ylim(-0.03, 1.03)
    feature_lines(ax, path, path.inclusions, names, gamma)
    ax.axhline(SELECTED, color="0.5", linewidth=0.8, linestyle=":", zorder=0)
    ax.set_ylabel("inclusion probability")
    return ax


def free_energy(source: Any, *, ax: Axes | None = None) -> Axes:
    """F with γ rising and falling, and the lowest that was found; where the two directions differ is shaded."""
    ax = axes(ax)
    path, _, gamma = path_of(source, None)
    gammas, up, down = path.gammas, path.free_energy_up, path.free_energy_down
    differs = hysteresis(path)
    for k, (low, high) in enumerate(runs(differs)):
        left = gammas[max(low - 1, 0)]
        right = gammas[min(high, len(gammas) - 1)]
        ax.axvspan(left, right, color=SECOND, alpha=0.12, linewidth=0, label="hysteresis" if k == 0 else None)
    ax.fill_between(gammas, up, down, where=widened(differs), color=SECOND, alpha=0.3, linewidth=0)
    ax.plot(gammas, up, color=ACCENT, linewidth=1.6, label="γ rising")
    ax.plot(gammas, down, color=SECOND, linewidth=1.6, linestyle="--", label="γ falling")
    ax.plot(gammas, path.free_energies, color="0.15", linewidth=0.9, label="lowest found")
    gamma_axis(ax, gammas, gamma)
    ax.set_ylabel("free energy F")
    legend(ax)
    return ax


def validation_curve(model: Any, *, ax: Axes | None = None) -> Axes:
    """Validation error over γ at the chosen λ, one standard error wide; the chosen γ and its sparser partner.

    The partner is the sparsest γ whose error is within one standard error of the least. Other λ are thin lines.
    """
    if not hasattr(model, "mse_path_"):
        raise ValueError(f"{type(model).__name__} has no validation errors; give a fitted VariationalGarroteCV.")
    ax = axes(ax)
    gammas, errors = model.gammas_, model.mse_path_
    mean = errors.mean(axis=2)  # NaN where a fold's path had stopped
    row = int(np.flatnonzero(model.ridges_ == model.ridge_)[0])
    for other in np.delete(np.arange(len(mean)), row):
        ax.plot(gammas, mean[other], color=MUTED, linewidth=0.9, label=f"λ = {model.ridges_[other]:g}")
    if errors.shape[2] > 1:
        spread = errors[row].std(axis=1, ddof=1) / np.sqrt(errors.shape[2])
        ax.fill_between(gammas, mean[row] - spread, mean[row] + spread, color=ACCENT, alpha=0.18, linewidth=0)
    ax.plot(gammas, mean[row], color=ACCENT, linewidth=1.8, label=f"λ = {model.ridge_:g}, chosen")
    best = int(np.flatnonzero(gammas == model.gamma_)[0])
    partner = choose(errors[[row]], one_standard_error=True).gamma
    for k, style, what in ((best, "-", "chosen"), (partner, "--", "one standard error")):
        ax.axvline(
            gammas[k],
            color=SECOND,
            linestyle=style,
            linewidth=1.2,
            label=f"{what}: γ = {gammas[k]:.3g}{_count(model, k)}",
        )
        ax.plot(gammas[k], mean[row, k], "o", color=SECOND, markersize=5)
    shown = mean[np.isfinite(mean)]
    if shown.max() > 20.0 * shown.min() > 0.0:
        ax.set_yscale("log")
    gamma_axis(ax, gammas, None)
    ax.set_ylabel("squared error, held out")
    legend(ax)
    return ax


def _count(model: Any, k: int) -> str:
    return f" ({len(model.path_[k].selected)} features)" if k < len(model.path_) else ""


# ---- one fit -----------------------------------------------------------------------------------------------


def predicted_observed(model: Any, X: Any, y: Any, *, coverage: float = 0.95, ax: Axes | None = None) -> Axes:
    """Observed against predicted, each with its central predictive interval, and how many of them hold."""
    ax = axes(ax)
    mean, std = model.predict(X, return_std=True)
    y = np.asarray(y, dtype=np.float64).ravel()
    reach = norm.ppf(0.5 + coverage / 2.0) * std
    inside = np.abs(y - mean) <= reach
    ends = [min(mean.min(), y.min()), max(mean.max(), y.max())]
    ax.plot(ends, ends, color="0.5", linewidth=0.9, zorder=1)
    ax.vlines(mean, mean - reach, mean + reach, color=MUTED, linewidth=1.0, alpha=faint(len(y)), zorder=0)
    size = 16.0 if len(y) <= 1000 else 5.0
    ax.scatter(mean[inside], y[inside], size, color=ACCENT, linewidth=0, zorder=2, label="inside")
    ax.scatter(mean[~inside], y[~inside], size, color=SECOND, linewidth=0, zorder=3, label="outside")
    ax.set_xlabel("predicted")
    ax.set_ylabel("observed")
    legend(ax, title=f"{coverage:.0%} interval holds {inside.mean():.0%}")
    return ax


def selected_features(model: Any, *, ax: Axes | None = None) -> Axes:
    """The selected features: coefficient as the position of a dot, inclusion as its colour; the most certain on top."""
    check_fitted(model)
    ax = axes(ax)
    names = feature_names(model)
    chosen = by_importance(model.inclusion_, model.coef_)
    shown = chosen[:MOST_DOTS][::-1]
    height = np.arange(len(shown))
    ax.hlines(height, 0.0, model.coef_[shown], color=MUTED, linewidth=1.2, zorder=1)
    dots = ax.scatter(
        model.coef_[shown], height, 46, c=model.inclusion_[shown], cmap="viridis_r", vmin=SELECTED, vmax=1.0, zorder=2
    )
    ax.axvline(0.0, color="0.5", linewidth=0.8, zorder=0)
    ax.set_yticks(height, [short(names[i]) for i in shown])
    ax.set_ylim(-0.6, max(len(shown), 1) - 0.4)
    ax.set_xlabel("coefficient")
    ax.set_title(f"{_of(len(shown), len(chosen))}selected of {len(names)} features", fontsize="medium")
    ax.figure.colorbar(dots, ax=ax, label="inclusion probability")
    return ax


def _of(shown: int, chosen: int) -> str:
    return f"{shown} " if shown == chosen else f"{shown} shown of {chosen} "


def manhattan(
    source: Any, chromosome: Any, position: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None
) -> Axes:
    """Inclusion of each variant by its place in the genome, chromosome after chromosome; selected ones are named.

    ``source`` is a fitted estimator or an array of inclusions; ``chromosome`` and ``position`` have one entry for each.
    """
    inclusion = np.asarray(getattr(source, "inclusion_", source), dtype=np.float64)
    chromosome, position = np.asarray(chromosome).astype(str), np.asarray(position, dtype=np.float64)
    for what, values in (("chromosome", chromosome), ("position", position)):
        if values.shape != inclusion.shape:
            raise ValueError(f"{what} has shape {values.shape}; give {len(inclusion)} entries, one for each inclusion.")
    if names is None:
        names = feature_names(source, len(inclusion))
    ax = axes(ax)
    order = sorted(set(chromosome), key=_genome_order)
    place, middles = np.empty(len(position)), []
    offset = 0.0
    for k, label in enumerate(order):
        here = chromosome == label
        first, last = position[here].min(), position[here].max()
        place[here] = offset + position[here] - first
        middles.append(offset + (last - first) / 2.0)
        size = np.where(inclusion[here] > SELECTED, 26.0, 6.0)
        colour = ("#0b5fa5", "#7fa8cc")[k % 2]
        ax.scatter(place[here], inclusion[here], size, color=colour, linewidth=0, rasterized=True)
        offset += 1.02 * (last - first) + 1.0
    labelled: list[int] = []
    for i in by_importance(inclusion, inclusion)[: 4 * MOST_LABELS]:
        near = [
            k for k in labelled if abs(place[k] - place[i]) < 0.12 * offset and abs(inclusion[k] - inclusion[i]) < 0.05
        ]
        if near or len(labelled) == MOST_LABELS:  # its name would cover that of a more probable one
            continue
        labelled.append(i)
        right = place[i] > 0.85 * offset
        ax.annotate(
            short(names[i]),
            (place[i], inclusion[i]),
            (-5 if right else 5, -2),
            textcoords="offset points",
            fontsize="small",
            ha="right" if right else "left",
            va="top",
        )
    ax.axhline(SELECTED, color="0.5", linewidth=0.8, linestyle=":", zorder=0)
    crowded = len(order) > 14  # then every second of the short chromosomes has a label
    ax.set_xticks(middles, ["" if crowded and k > 10 and k % 2 else label for k, label in enumerate(order)])
    ax.tick_params(axis="x", length=0, labelsize="small" if crowded else "medium")
    ax.set_ylim(-0.03, 1.06)
    ax.set_xlabel("chromosome")
    ax.set_ylabel("inclusion probability")
    return ax


def _genome_order(label: str) -> tuple[int, str]:
    """1, 2, …, 22, X, Y, XY, MT, and what else there is."""
    name = label.removeprefix("chr")
    rest = ("X", "Y", "XY", "MT", "M")
    number = int(name) if name.isdecimal() else 1000 + (rest.index(name) if name in rest else len(rest))
    return number, label


def phase_diagram(model: Any, X: Any, y: Any, *, names: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """The phase diagram of one feature, with each feature of the data at its squared correlation ρ and the model's γ.

    Left of the line a feature that were alone is out, right of it in; in the shaded wedge both are stable, and which
    one a path finds depends on where it comes from. Features are placed by their own correlation with y; in a model
    with others, a feature may do better or worse than its place.
    """
    check_fitted(model)
    problem = as_problem(X, y)
    rho = np.zeros(problem.n_features)
    use = problem.varying
    rho[use] = problem.b[use] ** 2 / (problem.chi[use] * problem.sigma2_y)
    n_samples, gamma = problem.n_samples, model.gamma_
    ax = axes(ax)
    critical = rho_star(n_samples)
    furthest = min(0.995, max(1.15 * rho.max(), 1.6 * critical))
    _wedge(ax, n_samples, critical, furthest)
    inside = model.inclusion_ > SELECTED
    ax.scatter(
        rho[~inside], np.full((~inside).sum(), gamma), 14, color="0.45", linewidth=0, label="not selected", zorder=3
    )
    ax.scatter(rho[inside], np.full(inside.sum(), gamma), 34, color=SECOND, linewidth=0, label="selected", zorder=4)
    names = feature_names(model) if names is None else names
    strongest = np.flatnonzero(inside)[np.argsort(-rho[inside], kind="stable")][:MOST_LABELS]
    together = np.split(strongest, np.flatnonzero(-np.diff(rho[strongest]) > 0.035 * furthest) + 1)
    for group in together if len(strongest) else []:  # neighbours share a label
        text, place = short(", ".join(names[i] for i in group)), (rho[group].mean(), gamma)
        ax.annotate(text, place, (-3, 7), textcoords="offset points", rotation=50, fontsize="small", va="bottom")
    bottom = min(1.35 * gamma, 2.2 * gamma_star(n_samples))
    ax.set_xlim(0.0, furthest)
    ax.set_ylim(bottom, max(2.0, gamma - 0.3 * (bottom - max(gamma, 0.0))))
    ax.set_xlabel("squared correlation with y, ρ")
    ax.set_ylabel("γ")
    legend(ax)
    return ax


def _wedge(ax: Axes, n_samples: float, critical: float, furthest: float) -> None:
    """Where the two solutions coexist, and below ρ* the line on which m is one half."""
    single = np.linspace(0.0, critical, 50)
    ax.plot(single, -0.5 * n_samples * single / (1.0 - 0.5 * single), color=ACCENT, linewidth=1.2)
    rho = np.linspace(critical, furthest, 200)[1:]
    lower, upper = np.array([coexistence_gammas(float(r), n_samples) for r in rho]).T
    ax.fill_between(rho, lower, upper, color=ACCENT, alpha=0.2, linewidth=0, label="both stable")
    ax.plot(rho, lower, color=ACCENT, linewidth=1.2)
    ax.plot(rho, upper, color=ACCENT, linewidth=1.2)
    ax.plot(critical, gamma_star(n_samples), "o", color=ACCENT, markersize=4)
    for x, y, text in ((0.04, 0.06, "out"), (0.96, 0.55, "in")):
        ax.text(x, y, text, transform=ax.transAxes, ha="left" if x < 0.5 else "right", color="0.35", style="italic")
