"""glmnet's Fortran through python-glmnet; a given grid is solved whole, without glmnet's early stop."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from glmnet import ElasticNet

    return ElasticNet(lambda_path=task.alphas(), standardize=False, n_splits=0).fit(task.X, task.y)


def read(fit: Any) -> Fits:
    return Fits(fit.coef_path_)


METHOD = Method("glmnet", "python-glmnet", solve, read)
