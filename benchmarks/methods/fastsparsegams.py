"""fastsparsegams (L0Learn): coordinate descent for the L0 penalty, on its own grid up to the largest support."""

from typing import Any

from methods.base import N_POINTS, Fits, Method, Task


def solve(task: Task) -> Any:
    import fastsparsegams

    return fastsparsegams.fit(task.X, task.y, penalty="L0", num_lambda=N_POINTS, max_support_size=task.max_support)


def read(fit: Any) -> Fits:
    return Fits(fit.coeffs[0])


METHOD = Method("fastsparsegams", "fastsparsegams", solve, read)
