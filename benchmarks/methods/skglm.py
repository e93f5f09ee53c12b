"""skglm: Anderson-accelerated coordinate descent on working sets (compiled at its first fit)."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from skglm import Lasso

    return Lasso(fit_intercept=False).path(task.X, task.y, alphas=task.alphas())


def read(path: Any) -> Fits:
    return Fits(path[1])


METHOD = Method("skglm", "skglm", solve, read)
