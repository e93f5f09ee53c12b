"""skglm: Anderson-accelerated coordinate descent on working sets (compiled at its first fit)."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from skglm import Lasso

    _, coefs, *_ = Lasso(fit_intercept=False).path(task.X, task.y, alphas=task.alphas())
    return Fits(coefs)


METHOD = Method("skglm", "skglm", solve)
