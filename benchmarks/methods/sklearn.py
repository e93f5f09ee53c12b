"""scikit-learn's ``lasso_path``: cyclic coordinate descent, here without a copy of X."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from sklearn.linear_model import lasso_path

    _, coefs, _ = lasso_path(task.X, task.y, alphas=task.alphas(), copy_X=False)
    return Fits(coefs)


METHOD = Method("scikit-learn", "scikit-learn", solve)
