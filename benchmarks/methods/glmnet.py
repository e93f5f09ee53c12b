"""glmnet's Fortran through python-glmnet; a given grid is solved whole, without glmnet's early stop."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from glmnet import ElasticNet

    fit = ElasticNet(lambda_path=task.alphas(), standardize=False, n_splits=0).fit(task.X, task.y)
    return Fits(fit.coef_path_)


METHOD = Method("glmnet", "python-glmnet", solve)
