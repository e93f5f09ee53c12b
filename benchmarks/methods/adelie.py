"""adelie: the group elastic net with pivot screening; the whole grid, where its default stops at 90 % explained."""

from typing import Any

from methods.base import N_POINTS, Fits, Method, Task


def solve(task: Task) -> Any:
    import adelie

    return adelie.grpnet(
        task.X,
        adelie.glm.gaussian(task.y),
        lmda_path_size=N_POINTS,
        min_ratio=task.min_ratio,
        early_exit=False,
        n_threads=1,
        progress_bar=False,
    )


def read(state: Any) -> Fits:
    return Fits(state.betas.T)


METHOD = Method("adelie", "adelie", solve, read)
