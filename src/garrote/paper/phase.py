"""fig-phase: which solutions exist where in the plane of ρ and γ (Fig. file4c)."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes

from garrote.paper.fixed_point import N_SAMPLES, instances
from garrote.paper.item import Check, Item, Report, Row, Table
from garrote.paper.published import RHO_STAR
from garrote.paper.style import FIRST, SECOND, THIRD, panels
from garrote.theory import (
    coexistence_gammas,
    gamma_star,
    gamma_star_large_sample,
    rho_star,
    rho_star_large_sample,
    switch_gammas,
    univariate_solutions,
)

INSET_GAMMAS = (-10.0, -40.0)
RHOS = np.linspace(0.001, 0.999, 999)


def halfway(rho: float) -> float:
    """γ at which m = ½ solves Eq. univ1."""
    return -N_SAMPLES / 2 * rho / (1 - rho / 2)


def solutions_along(gamma: float) -> tuple[np.ndarray, np.ndarray]:
    """The lowest-F solution at each ρ, and the other stable one where there is one (else not a number)."""
    best, other = np.empty(len(RHOS)), np.full(len(RHOS), np.nan)
    for i, rho in enumerate(RHOS):
        found = univariate_solutions(float(rho), gamma, N_SAMPLES)
        best[i] = found.minimum
        if len(found.stable) == 2:
            other[i] = found.stable.sum() - best[i]
    return best, other


def report(rows: list[Row]) -> Report:
    critical = rho_star(N_SAMPLES)
    below, above = RHOS[critical > RHOS], RHOS[critical <= RHOS]
    edges = np.array([coexistence_gammas(float(rho), N_SAMPLES) for rho in above])
    middle = [halfway(float(rho)) for rho in below]
    figure, axes = panels(1, 1, scale=1.7)
    axis = axes[0, 0]
    axis.plot(below, middle, color=FIRST, label="$m = 1/2$, unique")
    axis.plot(above, edges[:, 1], "-.", color=SECOND, label="$\\gamma_1$: $m\\approx 0$ ends")
    axis.plot(above, edges[:, 0], "--", color=THIRD, label="$\\gamma_2$: $m\\approx 1$ begins")
    axis.plot(RHOS, -N_SAMPLES * RHOS / 2, ":", color="black", label="exact, $\\gamma = -p\\rho/2$")
    axis.plot([critical], [gamma_star(N_SAMPLES)], "o", color="black")
    axis.annotate(f"$\\rho^* = {critical:.4f}$", (critical, gamma_star(N_SAMPLES)), (8, 4), textcoords="offset points")
    axis.set(xlabel="$\\rho$", ylabel="$\\gamma$", xlim=(0, 1), ylim=(-80, 0), title=f"$p = {N_SAMPLES}$")
    axis.legend(loc="lower left", bbox_to_anchor=(0.0, 0.0))
    along = {gamma: solutions_along(gamma) for gamma in INSET_GAMMAS}
    _inset(axis, (0.62, 0.68, 0.36, 0.28), INSET_GAMMAS[0], *along[INSET_GAMMAS[0]])
    _inset(axis, (0.12, 0.33, 0.30, 0.24), INSET_GAMMAS[1], *along[INSET_GAMMAS[1]])
    numbers = [
        {"rho": float(rho), "gamma_2": float(low), "gamma_1": float(high), "exact": -N_SAMPLES * float(rho) / 2}
        for rho, (low, high) in zip(above, edges, strict=True)
    ]
    switches = [float(switch_gammas([rho**0.5], 1.0, N_SAMPLES)[0]) + N_SAMPLES * rho / 2 for rho in RHOS]
    exact = -N_SAMPLES * above / 2
    checks = [
        Check("ρ* at 100 samples, exactly, is 0.2457 (distance)", abs(critical - 0.2457), "<", 5e-5),
        Check(
            "the paper's 0.28 is 2√(2/p), right for many samples", abs(rho_star_large_sample(100) - RHO_STAR), "<", 5e-3
        ),
        Check("the exact line is γ = −pρ/2 (largest distance)", float(np.max(np.abs(switches))), "<", 1e-9),
        Check(
            "at every ρ > ρ* both solutions exist between γ₂ and γ₁ (narrowest)",
            float(np.ptp(edges, axis=1).min()),
            "≥",
            0,
        ),
        Check("the exact line lies above γ₂ (least distance)", float((exact - edges[:, 0]).min()), ">", 0),
        Check("γ = −10: a second stable solution (number of ρ)", int(np.isfinite(along[-10.0][1]).sum()), "=", 0),
        Check("γ = −40: a second stable solution (number of ρ)", int(np.isfinite(along[-40.0][1]).sum()), ">", 0),
    ]
    table = Table(
        ["at p = 100", "exact", "for many samples", "paper"],
        [
            ["ρ*", f"{critical:.4f}", f"{rho_star_large_sample(100):.4f}", f"{RHO_STAR}"],
            ["γ*", f"{gamma_star(N_SAMPLES):.2f}", f"{gamma_star_large_sample(N_SAMPLES):.2f}", "–"],
        ],
    )
    note = (
        f"The caption's ρ* = 0.28 is the approximation 2√(2/p) = {rho_star_large_sample(100):.4f} for many samples; "
        f"Eq. rhostar itself gives {critical:.4f} at p = 100. Insets: lowest free energy solid, the other "
        "minimum dashed."
    )
    return Report(numbers, [table], checks, figure, [note])


def _inset(
    axis: Axes, place: tuple[float, float, float, float], gamma: float, best: np.ndarray, other: np.ndarray
) -> None:
    inset = axis.inset_axes(place)
    jump = np.flatnonzero(np.abs(np.diff(best)) > 0.5)  # the lowest F changes branch: no line between
    inset.plot(RHOS, _broken(best, jump), color=FIRST)
    inset.plot(RHOS, _broken(other, jump), "--", color=FIRST, linewidth=1)
    inset.set(xlim=(0, 1), ylim=(-0.05, 1.05), xticks=[0, 1], yticks=[0, 1])
    inset.set_xlabel("$\\rho$", labelpad=-8)
    inset.set_ylabel("$m$", labelpad=-4)
    inset.set_title(f"$\\gamma = {gamma:g}$", fontsize=8)


def _broken(values: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The values with gaps, across which no line is drawn."""
    values = values.copy()
    values[after] = np.nan
    return values


ITEM = Item("fig-phase", "Phase plot of ρ and γ for 100 samples; insets show m against ρ.", instances, report)
