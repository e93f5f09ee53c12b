"""celer: working sets and dual extrapolation, at the tolerance of its own ``Lasso`` (the one of scikit-learn)."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from celer.homotopy import celer_path

    _, coefs, _ = celer_path(task.X, task.y, "lasso", alphas=task.alphas(), tol=1e-4)
    return Fits(coefs)


METHOD = Method("celer", "celer", solve)
