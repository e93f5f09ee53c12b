"""One method on one problem, in a process of its own: ``worker.py PROBLEM METHOD SEED INSTANCES OUT.json``.

The process first solves a tiny problem, so that imports and just-in-time compilation count as a cold start and not as
part of the path; then it generates the data, times passes over X, the path, and passes again. Times are those of the
processor, which on one thread are what a clock shows on an idle machine, and do not grow when others share it. Of
several instances, with one seed after the other, the means are told.
"""

from __future__ import annotations

import json
import resource
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from statistics import mean, median
from time import perf_counter, process_time
from timeit import Timer
from typing import Any

from methods import METHODS, Method, Task
from metrics import accuracy
from problems import PROBLEMS, Data, Problem, small

#: Short paths are repeated for about this many seconds, at most so often.
REPEAT_SECONDS, MAX_REPEATS = 1.0, 11
PASSES = 7


def task_of(problem: Problem, data: Data) -> Task:
    """What a method is asked to solve."""
    return Task(data.X, data.y, problem.min_ratio, problem.max_support)


def pass_seconds(data: Data) -> list[float]:
    """Seconds of one BLAS pass Xᵀr, several times; passes too short for the clock are timed in bundles."""
    timer = Timer(lambda: data.X.T @ data.y, timer=process_time)
    bundle = max(1, int(1e-3 / timer.timeit(1)))
    return [timer.timeit(bundle) / bundle for _ in range(PASSES)]


def cold_start(method: Method) -> float:
    """Seconds for the imports and a first fit, of a tiny problem."""
    problem = small(20, 30, 2)
    data = problem.generate()
    start = perf_counter()
    method.solve(task_of(problem, data))
    return perf_counter() - start


class PeakMemory:
    """Bytes by which this process grew above its size at the start of the block, at its largest."""

    def __enter__(self) -> PeakMemory:
        with suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")  # Linux: reset the peak to the present size
        self._before = self._largest()
        self.extra = 0
        return self

    def __exit__(self, *_: object) -> None:
        self.extra = self._largest() - self._before

    @staticmethod
    def _largest() -> int:
        status = Path("/proc/self/status")
        if status.exists():
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
            return int(line.split()[1]) * 1024
        unit = 1 if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def measure(problem: Problem, method: Method, seed: int) -> dict[str, Any]:
    """All metrics of one method on one instance of a problem, but for the cold start."""
    data = problem.generate(seed)
    task = task_of(problem, data)
    passes = pass_seconds(data)
    seconds: list[float] = []
    with PeakMemory() as memory:
        while not seconds or (sum(seconds) < REPEAT_SECONDS and len(seconds) < MAX_REPEATS):
            start = process_time()
            result = method.solve(task)
            seconds.append(process_time() - start)
    gemv_seconds = median(passes + pass_seconds(data))
    return {
        "gemv": median(seconds) / gemv_seconds,
        "seconds": median(seconds),
        "gemv_seconds": gemv_seconds,
        "memory": 1.0 + memory.extra / data.X.nbytes,
        "extra_mb": memory.extra / 1e6,
        **accuracy(method.read(result), problem, data.coef)._asdict(),
    }


def measure_all(problem: Problem, method: Method, seed: int, instances: int) -> dict[str, Any]:
    """The means of all metrics over some instances."""
    cold_seconds = cold_start(method)
    measured = [measure(problem, method, seed + i) for i in range(instances)]
    return {name: mean(one[name] for one in measured) for name in measured[0]} | {"cold_seconds": cold_seconds}


if __name__ == "__main__":
    _, problem_name, method_name, seed_text, instances_text, out = sys.argv
    warnings.simplefilter("ignore")  # the solvers' own convergence warnings at the far end of a path
    metrics = measure_all(PROBLEMS[problem_name], METHODS[method_name], int(seed_text), int(instances_text))
    Path(out).write_text(json.dumps(metrics))
