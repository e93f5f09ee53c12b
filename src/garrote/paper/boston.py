"""table-boston: VG and PMF on the Boston housing data from random starts (Table housing)."""

from __future__ import annotations

import numpy as np

from garrote.paper.experiments.boston import from_starts, ground_truth
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table
from garrote.paper.published import BOSTON
from garrote.paper.style import LOOKS, letter, panels

METHODS = ("pmf", "vg")
STARTS = ("soft", "extreme")
#: Starts of one instance: a few seconds' work.
BATCH = 50


def instances(settings: Settings) -> list[Instance]:
    runs = settings.runs(300, 50)
    batches = [list(runs[first : first + BATCH]) for first in runs[::BATCH]]
    starts = [
        Instance(from_starts, {"method": method, "start": start, "seed": settings.seed, "runs": batch})
        for method in METHODS
        for start in STARTS
        for batch in batches
    ]
    truth = Instance(ground_truth, {"seed": settings.seed, "n_draws": 5000 if settings.quick else 50_000})
    return [truth, *starts]


def report(rows: list[Row]) -> Report:
    truth, *batches = rows
    errors = {(m, s): _gather(batches, m, s, "errors") for m in METHODS for s in STARTS}
    bounds = np.concatenate([_gather(batches, "pmf", s, "bounds") for s in STARTS])
    pmf = np.concatenate([errors["pmf", s] for s in STARTS])
    vg = np.concatenate([errors["vg", s] for s in STARTS])
    optima = np.unique(pmf.round(3))
    bad = {s: float((errors["pmf", s] > 0.2).mean()) for s in STARTS}
    figure, axes = panels(1, 2, sharey=True)
    for axis, start in zip(axes[0], STARTS, strict=True):
        for offset, method in enumerate(METHODS):
            look = LOOKS[method]
            values, counts = np.unique(errors[method, start].round(3), return_counts=True)
            axis.bar(values + 0.012 * (2 * offset - 1), counts / counts.sum(), 0.022, color=look.color, label=look.name)
        axis.set(xlabel="$\\|\\delta v\\|_1$", title=f"{start} starts", xlim=(-0.05, 0.55), ylim=(0, 1.05))
        axis.legend()
    axes[0, 0].set_ylabel("share of starts")
    letter(axes)
    numbers = [
        {
            "method": m,
            "start": s,
            "starts": len(e),
            "mean": float(e.mean()),
            "2.5 %": float(np.percentile(e, 2.5)),
            "97.5 %": float(np.percentile(e, 97.5)),
        }
        for (m, s), e in errors.items()
    ]
    checks = [
        Check("VG: ‖δv‖₁ from the worst start, to three digits", round(float(vg.max()), 3), "=", 0.006),
        Check("VG: spread over all starts", float(np.ptp(vg)), "<", 1e-6),
        Check("PMF: number of optima", len(optima), "=", 2),
        Check("PMF: the better one, distance from the paper's 0.001", abs(float(pmf.min()) - 0.001), "<", 0.001),
        Check("PMF: the worse one, distance from the paper's 0.454", abs(float(pmf.max()) - 0.454), "<", 0.003),
        *(
            Check(
                f"PMF, {s} starts: the share that ends in the worse one is near ½ (distance)",
                abs(share - 0.5),
                "<",
                3 * 0.5 / np.sqrt(len(errors["pmf", s])),
            )
            for s, share in bad.items()
        ),
        Check(
            "the worse optimum has the lower bound (difference)",
            float(bounds[pmf < 0.2].min() - bounds[pmf > 0.2].max()),
            ">",
            0,
        ),
        Check("Gibbs against enumeration: ‖difference‖₁ of the posterior means", truth["distance"], "<", 0.02),
    ]
    table = Table(
        ["", *(f"{s} starts: {whose}" for s in STARTS for whose in ("ours", "paper"))],
        [
            [LOOKS[m].name, *(cell for s in STARTS for cell in (_interval(errors[m, s]), _published(m, s)))]
            for m in METHODS
        ],
        "Mean ‖δv‖₁ and its 95 % interval over the starts, against the exact posterior mean",
    )
    good, poor = bounds[pmf < 0.2], bounds[pmf > 0.2]
    notes = [
        f"PMF's bounds at its two optima are {good.mean():.2f} and {poor.mean():.2f}.",
        "There is no choice to make here (β, π and σ_w are given), so our default does not apply.",
    ]
    return Report(numbers, [table], checks, figure, notes)


def _gather(batches: list[Row], method: str, start: str, name: str) -> np.ndarray:
    return np.concatenate([b[name] for b in batches if b["method"] == method and b["start"] == start])


def _interval(errors: np.ndarray) -> str:
    low, high = np.percentile(errors, [2.5, 97.5])
    return f"{errors.mean():.3f} [{low:.3f}, {high:.3f}]"


def _published(method: str, start: str) -> str:
    mean, low, high = BOSTON[method][start]
    return f"{mean:.3f} [{low:.3f}, {high:.3f}]"


ITEM = Item(
    "table-boston",
    "Boston housing, 455 rows and 13 inputs: distance from the exact posterior mean after random starts.",
    instances,
    report,
)
