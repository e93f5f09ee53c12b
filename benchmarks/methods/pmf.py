"""Paired mean field: a single fit, which learns its hyperparameters instead of tracing a path."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from garrote import PairedMeanField

    fit = PairedMeanField(random_state=0).fit(task.X, task.y)
    return Fits(fit.coef_[:, None], fit.inclusion_[:, None])


METHOD = Method("PMF", "garrote", solve)
