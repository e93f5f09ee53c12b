"""fig-noise: ‖δv‖₁ against the noise variance (Fig. plot_sigma)."""

from __future__ import annotations

import numpy as np

from garrote.paper.experiments.noise import one_fit
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table, curve, pick, summarise
from garrote.paper.style import LOOKS, legend_below, letter, panels, plot_method

METHODS = ("vg", "vg-default", "pmf", "lasso")
ZETAS = (0.5, 0.95)
EXPONENTS = (-4.0, -3.5, -3.0, -2.5, -2.0, -1.5, -1.0, -0.5, 0.0, 0.5, 1.0)
QUICK_EXPONENTS = (-4.0, -2.0, 0.0, 1.0)
#: Where "the noise goes to zero" is measured: from 10⁻² to 10⁻⁴ an error proportional to σ falls tenfold.
LOW, LOWER = -2.0, -4.0


def instances(settings: Settings) -> list[Instance]:
    exponents = QUICK_EXPONENTS if settings.quick else EXPONENTS
    return [
        Instance(one_fit, {"zeta": zeta, "log10_noise": x, "method": method, "seed": settings.seed, "run": run})
        for run in settings.runs(10, 2)
        for zeta in ZETAS
        for x in exponents
        for method in METHODS
    ]


def report(rows: list[Row]) -> Report:
    summary = summarise(rows, ["zeta", "log10_noise", "method"], ["l1_error", "nonzero"])
    figure, axes = panels(1, 2, sharey=True)
    for axis, zeta in zip(axes[0], ZETAS, strict=True):
        for method in METHODS:
            x, y, error = curve(summary, "log10_noise", "l1_error", zeta=zeta, method=method)
            plot_method(axis, method, 10**x, y, np.minimum(error, 0.9 * y))
        axis.set(xscale="log", yscale="log", xlabel="$\\hat\\sigma^2$", title=f"$\\zeta = {zeta}$")
    axes[0, 0].set_ylabel("$\\|\\delta v\\|_1$")
    letter(axes)
    legend_below(figure, axes[0, 0])

    def error_at(method: str, zeta: float, exponent: float) -> float:
        return float(pick(summary, method=method, zeta=zeta, log10_noise=exponent)[0]["l1_error"])

    def fall(method: str, zeta: float) -> float:
        return error_at(method, zeta, LOWER) / error_at(method, zeta, LOW)

    low = [e for e in sorted({row["log10_noise"] for row in summary}) if e <= LOW]
    excess = np.mean([np.log(error_at("pmf", 0.95, e) / error_at("vg", 0.95, e)) for e in low])
    checks = [
        *(
            Check(f"{LOOKS[m].name}, ζ = {z}: error at σ² = 10⁻⁴ relative to 10⁻² (∝ σ: 0.1)", fall(m, z), "<", 0.3)
            for m, z in (("vg", 0.5), ("vg", 0.95), ("vg-default", 0.5), ("vg-default", 0.95), ("pmf", 0.5))
        ),
        *(Check(f"the Lasso saturates, ζ = {z}: the same ratio", fall("lasso", z), ">", 0.3) for z in ZETAS),
        *(
            Check(
                f"ζ = {z}, σ² = 10⁻⁴: error of the Lasso relative to VG",
                error_at("lasso", z, LOWER) / error_at("vg", z, LOWER),
                ">",
                1,
            )
            for z in ZETAS
        ),
        Check("ζ = 0.95, σ² ≤ 10⁻²: PMF relative to VG (geometric mean)", float(np.exp(excess)), ">", 1),
    ]
    shown = QUICK_EXPONENTS
    table = Table(
        ["ζ", "method", *(f"σ² = 10^{e:g}" for e in shown)],
        [[f"{z}", LOOKS[m].name, *(f"{error_at(m, z, e):.3g}" for e in shown)] for z in ZETAS for m in METHODS],
        "Mean ‖δv‖₁",
    )
    return Report(
        summary,
        [table],
        checks,
        figure,
        [
            f"{pick(summary, method='vg')[0]['n']} instances; bars are standard errors. PMF is the best of 10 restarts "
            "by its bound. The Lasso's coordinate descent is run to a tolerance of 1e-7; with scikit-learn's 1e-4 its "
            "error would stop falling at more noise."
        ],
    )


ITEM = Item(
    "fig-noise",
    "Accuracy against the noise: 100 features, 20 of weight 1, 100 training and 20 validation samples; "
    "(a) weakly, (b) strongly correlated inputs.",
    instances,
    report,
)
