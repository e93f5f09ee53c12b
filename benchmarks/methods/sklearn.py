"""scikit-learn's ``lasso_path``: cyclic coordinate descent, here without a copy of X."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from sklearn.linear_model import lasso_path

    return lasso_path(task.X, task.y, alphas=task.alphas(), copy_X=False)


def read(path: Any) -> Fits:
    return Fits(path[1])


METHOD = Method("scikit-learn", "scikit-learn", solve, read)
