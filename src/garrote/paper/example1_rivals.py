"""fig-example1-rivals: Lasso and ridge along λ on the instance of fig-example1 (Fig. file7b)."""

from __future__ import annotations

import numpy as np

from garrote.paper.experiments.examples import rival_paths
from garrote.paper.item import Check, Instance, Item, Report, Row, Settings, Table
from garrote.paper.style import FIRST, LOOKS, SECOND, letter, panels


def instances(settings: Settings) -> list[Instance]:
    return [Instance(rival_paths, {"seed": settings.seed, "n_lambdas": 100})]


def report(rows: list[Row]) -> Report:
    (row,) = rows
    figure, axes = panels(2, 3)
    numbers = []
    optimal, others = {}, {}
    for line, method in zip(axes, ("lasso", "ridge"), strict=True):
        path = row[method]
        lambdas, v, best = np.array(path["lambda"]), np.array(path["v"]), path["best"]
        optimal[method] = v[best]
        others[method] = np.abs(v[:, 1:]).max(axis=1)
        line[0].semilogx(lambdas, path["train"], color=FIRST, label="train")
        line[0].semilogx(lambdas, path["val"], color=SECOND, label="validation")
        line[0].semilogx(lambdas[best], path["val"][best], "*", color="black", markersize=9, label="optimal $\\lambda$")
        line[0].set(ylabel=f"{LOOKS[method].name}: MSE", ylim=(0, None))
        line[1].semilogx(lambdas, v[:, 0], color=FIRST, label="$v_1$")
        line[1].semilogx(lambdas, others[method], color=SECOND, label="$\\max_{i=2:n}|v_i|$")
        line[1].set(ylabel="$v_i$")
        line[2].plot(np.arange(1, v.shape[1] + 1), v[best], "o", color=LOOKS[method].color, label=LOOKS[method].name)
        line[2].set(xlabel="$i$", ylabel="$v_i$", ylim=(-0.5, 1.2))
        for axis in line[:2]:
            axis.set(xlabel="$\\lambda$")
        for axis in line:
            axis.legend()
        numbers += [
            {"method": method, "lambda": x, "train": t, "val": e, "v1": float(a), "max others": float(b)}
            for x, t, e, a, b in zip(path["lambda"], path["train"], path["val"], v[:, 0], others[method], strict=True)
        ]
    letter(axes)
    lasso = np.array(row["lasso"]["v"])
    alone = (lasso[:, 0] != 0) & (lasso[:, 1:] == 0).all(axis=1)
    checks = [
        Check(
            "the Lasso's optimal λ selects wrong features as well (number)",
            int((optimal["lasso"][1:] != 0).sum()),
            "≥",
            1,
        ),
        Check("at some larger λ the Lasso has only v₁ (grid points)", int(alone.sum()), "≥", 1),
        Check("but shrunk (largest v₁ there)", float(lasso[alone, 0].max(initial=0.0)), "<", 0.8),
        Check("ridge is not sparse at any λ (zeros)", int((np.array(row["ridge"]["v"]) == 0).sum()), "=", 0),
        Check("ridge shrinks the true weight below ½", float(optimal["ridge"][0]), "<", 0.5),
    ]
    table = Table(
        ["at the optimal λ", "λ", "v₁", "largest other |vᵢ|", "non-zero"],
        [
            [
                LOOKS[method].name,
                f"{row[method]['lambda'][row[method]['best']]:.3f}",
                f"{v[0]:.2f}",
                f"{np.abs(v[1:]).max():.2f}",
                f"{np.count_nonzero(v)}",
            ]
            for method, v in optimal.items()
        ],
    )
    return Report(numbers, [table], checks, figure)


ITEM = Item(
    "fig-example1-rivals",
    "Lasso (top) and ridge regression (bottom) on the data of fig-example1: errors, true feature and largest other, "
    "solution at the optimal λ.",
    instances,
    report,
)
