"""Paired mean field: a single fit, which learns its hyperparameters instead of tracing a path."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from garrote import PairedMeanField

    return PairedMeanField(random_state=0).fit(task.X, task.y)


def read(fit: Any) -> Fits:
    return Fits(fit.coef_[:, None], fit.inclusion_[:, None])


METHOD = Method("PMF", "garrote", solve, read)
