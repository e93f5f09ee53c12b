"""The paper's tables and figures, each regenerated from nothing but a seed by ``garrote paper NAME``.

``experiments/`` holds what is computed: pure functions of their parameters and a seed. One module here per table or
figure holds what is shown and checked. ``runner`` does the work, ``output`` writes it down.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from garrote.paper.item import Item

#: Every item by its name → its module and one line about it, in the order of the page.
ITEMS = {
    "fig-fixed-point": ("fixed_point", "f(m) against m, one or three solutions"),
    "fig-phase": ("phase", "phase plot of ρ and γ, with the solutions at two γ"),
    "fig-shrinkage": ("shrinkage", "univariate solutions of VG, ridge, garrote and Lasso"),
    "fig-example1": ("example1", "Example 1: free energy, errors, solution along γ"),
    "fig-example1-rivals": ("example1_rivals", "Example 1: Lasso and ridge on the same data"),
    "table1": ("table1", "Example 1: five methods, 20 instances"),
    "table2": ("table2", "Example 2: five methods, 20 instances"),
    "fig-noise": ("noise", "accuracy against the noise, weak and strong correlations"),
    "fig-consistency": ("consistency", "Zhao & Yu's example: Lasso and VG paths"),
    "table-consistency": ("consistency_table", "Zhao & Yu's examples: 100 instances"),
    "table-boston": ("boston", "Boston housing: VG and PMF from 300 starts"),
    "fig-samples": ("samples", "accuracy against the number of samples, independent inputs"),
    "fig-genetic": ("genetic", "accuracy against the number of samples, simulated SNPs"),
    "fig-scaling": ("scaling", "quality and time against the number of features"),
}

#: Our own studies in the same form, which are made only when they are named.
EXTRA = {
    "calibration": ("calibration", "not in the paper: inclusions, false discoveries, predictive intervals"),
}


def load(name: str) -> Item:
    """The item of that name."""
    item: Item = import_module(f"garrote.paper.{(ITEMS | EXTRA)[name][0]}").ITEM
    return item
