"""What a user waits for before the first answer: imports and first fits, in fresh processes.

    python benchmarks/latency.py [--repeats 15]

Prints medians and ratios: ``import garrote`` against ``import sklearn.linear_model``, taking turns, and the first fit
against the second one in a new process.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from statistics import median

from tqdm import tqdm

IMPORT = """
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""

FIT = """
from time import perf_counter
import numpy as np
from garrote import VariationalGarroteCV, garrote_path
rng = np.random.default_rng(0)
X = rng.standard_normal((50, 100))
y = X[:, 0] + rng.standard_normal(50)
for _ in range(2):
    start = perf_counter()
    {call}
    print(perf_counter() - start)
"""

MODULES = ("garrote", "sklearn.linear_model")
CALLS = ("garrote_path(X, y)", "VariationalGarroteCV().fit(X, y)")

#: Bytecode is cached as in ordinary use.
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
ENVIRONMENT["OMP_NUM_THREADS"] = "1"


def fresh(code: str) -> list[float]:
    """The seconds that some code prints, run in a new process."""
    done = subprocess.run([sys.executable, "-c", code], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return [float(line) for line in done.stdout.split()]


def measure(codes: list[str], repeats: int) -> list[list[float]]:
    """Medians of the seconds that each code prints; the codes take turns, after one run each that warms the caches."""
    runs: list[list[list[float]]] = [[] for _ in codes]
    for repeat in tqdm(range(repeats + 1), unit="round", leave=False):
        for index, code in enumerate(codes):
            seconds = fresh(code)
            if repeat:
                runs[index].append(seconds)
    return [[median(column) for column in zip(*rows, strict=True)] for rows in runs]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=15, help="processes for each median (%(default)s)")
    repeats = parser.parse_args().repeats
    imports = [seconds for (seconds,) in measure([IMPORT.format(module=module) for module in MODULES], repeats)]
    for module, seconds in zip(MODULES, imports, strict=True):
        print(f"import {module:30} {1e3 * seconds:7.1f} ms   {seconds / imports[-1]:.3f} × sklearn.linear_model")
    fits = measure([FIT.format(call=call) for call in CALLS], repeats)
    for call, (first, second) in zip(CALLS, fits, strict=True):
        print(
            f"{call:37} {1e3 * first:7.1f} ms first, {1e3 * second:.1f} ms second: "
            f"{1e3 * (first - second):+.1f} ms, {first / second:.2f} ×"
        )


if __name__ == "__main__":
    main()
