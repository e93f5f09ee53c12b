"""fastsparsegams (L0Learn): coordinate descent for the L0 penalty, on its own grid up to the largest support."""

from methods.base import N_POINTS, Fits, Method, Task


def solve(task: Task) -> Fits:
    import fastsparsegams

    fit = fastsparsegams.fit(task.X, task.y, penalty="L0", num_lambda=N_POINTS, max_support_size=task.max_support)
    return Fits(fit.coeffs[0])


METHOD = Method("fastsparsegams", "fastsparsegams", solve)
