"""fig-example1: the garrote along γ on one instance of Example 1 (Fig. file7a)."""

from __future__ import annotations

import numpy as np

from garrote.paper.experiments.examples import vg_path
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table
from garrote.paper.style import FIRST, LOOKS, SECOND, letter, panels


def instances(settings: Settings) -> list[Instance]:
    return [Instance(vg_path, {"seed": settings.seed, "n_gammas": 50})]


def report(rows: list[Row]) -> Report:
    (path,) = rows
    gamma, m, v = np.array(path["gamma"]), np.array(path["m"]), np.array(path["v"])
    up, down = np.array(path["up"]), np.array(path["down"])
    others = np.abs(v[:, 1:]).max(axis=1)
    right = (m[:, 0] > 0.5) & (m[:, 1:] <= 0.5).all(axis=1)
    best = int(np.argmin(path["val"]))
    figure, axes = panels(2, 2)
    (top_left, top_right), (bottom_left, bottom_right) = axes
    top_left.plot(gamma, up, "-", color=FIRST, label="forward")
    top_left.plot(gamma, down, "--", color=SECOND, label="backward")
    # Beyond the stop X interpolates y and F falls without bound; it would hide all the rest.
    shown = np.concatenate([curve[: path["n_before_stop"]] for curve in (up, down)])
    margin = 0.1 * np.ptp(shown)
    top_left.set(ylabel="$F$", ylim=(shown.min() - margin, shown.max() + margin))
    top_right.plot(gamma, path["train"], color=FIRST, label="train")
    top_right.plot(gamma, path["val"], color=SECOND, label="validation")
    top_right.plot(
        gamma[best], path["val"][best], "*", color="black", markersize=9, clip_on=False, label="optimal $\\gamma$"
    )
    top_right.set(ylabel="MSE", ylim=(0, None))
    bottom_left.plot(gamma, v[:, 0], color=FIRST, label="$v_1$")
    bottom_left.plot(gamma, others, color=SECOND, label="$\\max_{i=2:n}|v_i|$")
    bottom_left.set(ylabel="$v_i$")
    position = np.arange(1, m.shape[1] + 1)
    look = LOOKS["vg-default"]
    bottom_right.plot(position, path["best_v"], "o", color=FIRST, label="VG")
    default = np.array(path["default_v"])
    used = np.abs(default) > 0.01
    label = f"{look.name}, $|v_i| > 0.01$"
    bottom_right.plot(position[used], default[used], look.marker, color=look.color, mfc="none", ms=9, label=label)
    bottom_right.set(xlabel="$i$", ylabel="$v_i$")
    for axis in (top_left, top_right, bottom_left):
        axis.set(xlabel="$\\gamma$", xlim=(gamma[0], gamma[-1]))
    for axis in axes.ravel():
        axis.legend()
    letter(axes)
    numbers = [
        {"gamma": g, "F forward": u, "F backward": d, "train": t, "val": e, "v1": float(x), "max others": float(o)}
        for g, u, d, t, e, x, o in zip(
            path["gamma"], path["up"], path["down"], path["train"], path["val"], v[:, 0], others, strict=True
        )
    ]
    width = float(np.ptp(gamma[right])) if right.any() else 0.0
    checks = [
        Check("hysteresis: F forward exceeds F backward somewhere (most, nats)", float((up - down).max()), ">", 0.1),
        Check("only the first feature is selected over a wide range of γ", width, "≥", 10),
        Check("the γ chosen by validation selects the first feature only", float(right[best]), "=", 1),
        Check("v₁ at that γ is near 1 (distance)", abs(path["best_v"][0] - 1), "<", 0.4),
    ]
    table = Table(
        ["", "ours", "paper"],
        [
            ["optimal γ", f"{path['best_gamma']:.1f}", "≈ −21"],
            ["σ = 1/√β there", f"{path['best_sigma']:.2f}", "1.05"],
            [
                "correct solution between γ",
                f"{gamma[right].min():.1f} and {gamma[right].max():.1f}" if width else "–",
                "−20 and −5",
            ],
        ],
    )
    notes = [
        f"Above γ = {gamma[path['n_before_stop'] - 1]:.1f} the features begin to interpolate the 50 samples and F "
        "falls without bound; (a) cuts that off.",
        "One random instance, as in the paper, and not the same one: positions on the γ axis differ.",
    ]
    return Report(numbers, [table], checks, figure, notes)


ITEM = Item(
    "fig-example1",
    "Example 1. (a) Free energy, γ increasing (forward) and decreasing (backward); (b) training and validation error; "
    "(c) the weight of the true feature and the largest other; (d) the solution at the optimal γ.",
    instances,
    report,
)
