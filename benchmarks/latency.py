"""What a user waits for before the first answer: imports and first fits, in fresh processes.

    python benchmarks/latency.py [--repeats 15]

Prints medians and ratios: ``import garrote`` against ``import sklearn.linear_model``, taking turns, and the first fit
against the second one in a new process; each by the clock, and by processor time for a machine that is shared.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median

from garrote.progress import Progress

#: Defines ``lap()``, which prints the seconds since it was last called: clock and processor.
LAP = """
from time import perf_counter, process_time
last = [perf_counter(), process_time()]
def lap(show=True):
    now = [perf_counter(), process_time()]
    if show:
        print(now[0] - last[0], now[1] - last[1])
    last[:] = [perf_counter(), process_time()]
"""

IMPORT = """
lap(show=False)
import {module}
lap()
"""

FIT = """
import numpy as np
from garrote import VariationalGarroteCV, garrote_path
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 100))
y = X[:, 0] + rng.standard_normal(50)
for _ in range(2):
    lap(show=False)
    {call}
    lap()
"""

MODULES = ("garrote", "sklearn.linear_model")
CALLS = ("garrote_path(X, y)", "VariationalGarroteCV().fit(X, y)")

#: Bytecode is cached as in ordinary use.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["OMP_NUM_THREADS"] = "1"


def fresh(code: str) -> list[float]:
    """The seconds that some code prints, run in a new process."""
    command = [sys.executable, "-c", LAP + code]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


def measure(codes: list[str], repeats: int) -> list[list[float]]:
    """Medians of the seconds that each code prints; the codes take turns, after one run each that warms the caches."""
    runs: list[list[list[float]]] = [[] for _ in codes]
    progress = Progress("processes", (repeats + 1) * len(codes))
    for repeat in range(repeats + 1):
        for index, code in enumerate(codes):
            seconds = fresh(code)
            if repeat:
                runs[index].append(seconds)
            progress.step()
    progress.close()
    return [[median(column) for column in zip(*rows, strict=True)] for rows in runs]


def compare(what: str, clock: float, processor: float, base: tuple[float, float]) -> str:
    """One line: two times, and their differences and ratios to a base."""
    times = f"{1e3 * clock:8.1f} ms clock, {1e3 * processor:8.1f} ms processor"
    extra = f"{1e3 * (clock - base[0]):+8.1f}, {1e3 * (processor - base[1]):+8.1f} ms"
    return f"{what:44} {times}   {extra}   × {clock / base[0]:.3f}, {processor / base[1]:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="processes for each median (%(default)s)")
    repeats = parser.parse_args().repeats
    ours, theirs = measure([IMPORT.format(module=module) for module in MODULES], repeats)
    for module, (clock, processor) in zip(MODULES, (ours, theirs), strict=True):
        print(compare(f"import {module}", clock, processor, (theirs[0], theirs[1])))
    for call, (*first, clock, processor) in zip(
        CALLS, measure([FIT.format(call=c) for c in CALLS], repeats), strict=True
    ):
        print(compare(f"first {call}", *first, (clock, processor)))
        print(compare(f"second {call}", clock, processor, (clock, processor)))


if __name__ == "__main__":
    main()
