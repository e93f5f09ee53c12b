"""celer: working sets and dual extrapolation, at the tolerance of its own ``Lasso`` (the one of scikit-learn)."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from celer.homotopy import celer_path

    return celer_path(task.X, task.y, "lasso", alphas=task.alphas(), tol=1e-4)


def read(path: Any) -> Fits:
    return Fits(path[1])


METHOD = Method("celer", "celer", solve, read)
