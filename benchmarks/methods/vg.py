"""The Variational Garrote: the default path of 50 γ with annealing, branches and exchange moves."""

from typing import Any

from methods.base import Fits, Method, Task


def solve(task: Task) -> Any:
    from garrote import garrote_path

    return garrote_path(task.X, task.y)


def read(path: Any) -> Fits:
    return Fits(path.coefs, path.inclusions)


METHOD = Method("VG", "garrote", solve, read)
