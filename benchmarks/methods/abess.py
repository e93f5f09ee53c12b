"""abess: best subsets of every size by splicing; it returns only the size that its information criterion prefers."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from abess import LinearRegression

    return LinearRegression(support_size=range(task.max_support + 1), thread=1).fit(task.X, task.y)


def read(fit: Any) -> Fits:
    return Fits(fit.coef_[:, None])


METHOD = Method("abess", "abess", solve, read)
