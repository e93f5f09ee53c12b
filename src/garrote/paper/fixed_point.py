"""fig-fixed-point: f(m) against m at γ = −10 and −30 (Fig. file4b)."""

from __future__ import annotations

import numpy as np
from matplotlib import colormaps
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize

from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table
from garrote.paper.style import GREY, letter, panels
from garrote.theory import fixed_point_map, univariate_solutions

N_SAMPLES = 100
GAMMAS = (-10.0, -30.0)
RHOS = np.linspace(0.025, 0.975, 39)
#: Where solutions are counted.
FINE_RHOS = np.linspace(0.005, 0.995, 199)


def instances(settings: Settings) -> list[Instance]:
    """Nothing random."""
    return []


def report(rows: list[Row]) -> Report:
    figure, axes = panels(1, 2, sharey=True)
    m = np.linspace(0, 1, 401)
    shades = ScalarMappable(Normalize(0, 1), colormaps["cividis"])
    for axis, gamma in zip(axes[0], GAMMAS, strict=True):
        for rho in RHOS:
            color = shades.to_rgba(rho)
            axis.plot(m, fixed_point_map(m, rho, gamma, N_SAMPLES), color=color, linewidth=1)
            solutions = univariate_solutions(rho, gamma, N_SAMPLES)
            axis.plot(solutions.stable, solutions.stable, "o", color=color)
            axis.plot(solutions.m[1:-1], solutions.m[1:-1], "o", mfc="white", color=color)
        axis.plot([0, 1], [0, 1], "--", color=GREY, linewidth=1)
        axis.set(xlabel="$m$", xlim=(0, 1), ylim=(-0.02, 1.02), title=f"$p = {N_SAMPLES}$, $\\gamma = {gamma:g}$")
    axes[0, 0].set_ylabel("$f(m)$")
    figure.colorbar(shades, ax=axes[0, 1], label="$\\rho$")
    letter(axes)
    counts = {gamma: [len(univariate_solutions(rho, gamma, N_SAMPLES).m) for rho in FINE_RHOS] for gamma in GAMMAS}
    numbers = [
        {"gamma": gamma, "rho": float(rho), "solutions": count}
        for gamma in GAMMAS
        for rho, count in zip(FINE_RHOS, counts[gamma], strict=True)
    ]
    three = FINE_RHOS[np.array(counts[GAMMAS[1]]) == 3]
    checks = [
        Check("γ = −10: one solution at every ρ (most found)", max(counts[GAMMAS[0]]), "=", 1),
        Check("γ = −30: one solution at some ρ (fewest found)", min(counts[GAMMAS[1]]), "=", 1),
        Check("γ = −30: three solutions at some ρ (most found)", max(counts[GAMMAS[1]]), "=", 3),
    ]
    table = Table(
        ["γ", "solutions of f(m) = m", "three at ρ"],
        [["−10", "1", "nowhere"], ["−30", "1 or 3", f"{three.min():.3f} … {three.max():.3f}"]],
    )
    return Report(numbers, [table], checks, figure, ["Open circles are maxima of F, filled ones minima."])


ITEM = Item(
    "fig-fixed-point", "f(m) against m for ρ between 0 and 1; the diagonal has the solutions.", instances, report
)
