"""fig-genetic: performance against the number of samples on simulated SNPs, with their correlations (Fig. correl)."""

from __future__ import annotations

import numpy as np

from garrote.paper.experiments.samples import correlations, genetic
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings
from garrote.paper.samples_figure import ACTIVE, N_FEATURES, Plan, draw, summarised, table, value
from garrote.paper.style import LOOKS, legend_below, panels

PLAN = Plan(
    genetic,
    validation_share=10,
    fractions=(0.2, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0),
    quick_fractions={0.10: (0.4, 2.0), 0.25: (0.8, 2.0)},
    runs=20,
    default_runs=1,
)
#: SNPs this far apart count as distant, and as near.
DISTANT, NEAR = 100, 5


def _instances(settings: Settings) -> list[Instance]:
    matrix = Instance(correlations, {"n_features": N_FEATURES, "seed": settings.seed, "run": 0})
    return [matrix, *PLAN.instances(settings)]


def report(rows: list[Row]) -> Report:
    matrix, *fits = rows
    correlation = np.array(matrix["correlation"])
    summary = summarised(fits)
    figure, axes = panels(3, 3, width_ratios=[1.3, 1, 1])
    grid = axes[0, 0].get_gridspec()
    for axis in axes[:, 0]:
        axis.remove()
    left = figure.add_subplot(grid[:, 0])
    image = left.imshow(np.abs(correlation), vmin=0, vmax=1, cmap="viridis", interpolation="nearest")
    left.set(xlabel="SNP", ylabel="SNP", title="input correlations $|r|$")
    figure.colorbar(image, ax=left, shrink=0.35, label="correlation")
    draw(axes[:, 1:], summary)
    legend_below(figure, axes[2, 1])
    distance = np.abs(np.subtract.outer(np.arange(N_FEATURES), np.arange(N_FEATURES)))
    size = np.abs(correlation)
    near, distant = size[(distance > 0) & (distance <= NEAR)].mean(), size[distance >= DISTANT].mean()
    checks = [
        Check("correlations are local: mean |r| of near SNPs relative to distant ones", float(near / distant), ">", 3)
    ]
    for active in ACTIVE:
        _, after = PLAN.quick_fractions[active]
        for rival in ("lasso", "ridge"):
            checks.append(
                Check(
                    f"{active:.0%} active, p/n = {after}: ‖δv‖₁ of {LOOKS[rival].name} relative to VG",
                    value(summary, active, after, rival, "l1_error") / value(summary, active, after, "vg", "l1_error"),
                    ">",
                    1,
                )
            )
        checks.append(
            Check(
                f"{active:.0%} active, p/n = {after}: ‖δv‖₁ of VG relative to PMF (better or comparable)",
                value(summary, active, after, "vg", "l1_error") / value(summary, active, after, "pmf", "l1_error"),
                "<",
                1.2,
            )
        )
    notes = [
        f"Mean |r| is {near:.2f} within {NEAR} SNPs and {distant:.3f} beyond {DISTANT}. Genotypes come from a "
        "coalescent simulation with recombination hotspots (msprime): common SNPs (minor allele above 5 %), thinned "
        "to r² ≤ 0.9. The paper prints no range of p/n, and calls VG and PMF preferable for sufficiently large "
        "p: the checks are made at the largest.",
        "Our default fits eighteen paths, which is dear on these inputs: it has fewer runs.",
    ]
    return Report(summary, [table(summary)], checks, figure, notes)


ITEM = Item(
    "fig-genetic",
    "Simulated SNPs with values 0, 1, 2: correlation matrix (left) and performance as in fig-samples (right); p/10 "
    "validation samples.",
    _instances,
    report,
)
