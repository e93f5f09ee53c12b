"""The Variational Garrote: the default path of 50 γ with annealing, branches and exchange moves."""

from methods.base import Fits, Method, Task


def solve(task: Task) -> Fits:
    from garrote import garrote_path

    path = garrote_path(task.X, task.y)
    return Fits(path.coefs, path.inclusions)


METHOD = Method("VG", "garrote", solve)
