"""abess: best subsets of every size by splicing; it returns only the size that its information criterion prefers."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from abess import LinearRegression

    fit = LinearRegression(support_size=range(task.max_support + 1), thread=1).fit(task.X, task.y)
    return Fits(fit.coef_[:, None])


METHOD = Method("abess", "abess", solve)
