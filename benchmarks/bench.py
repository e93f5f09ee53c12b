"""Every method on every problem: speed, memory and accuracy of whole regularisation paths, on one thread.

    make bench [ARGS="--quick"]
    python benchmarks/bench.py [--quick] [--problems 100000x100 ...] [--methods VG celer ...] [--instances 20]

Writes table.csv, table.md and scaling.png/.svg. A method that is not installed, fails or takes too long stays in the
table with the reason. The unit of cost is the *gemv*, one BLAS pass Xᵀr over the data, timed in the same process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from install import failures
from methods import METHODS, Method
from problems import PROBLEMS, QUICK, Problem
from report import write_report

from garrote.progress import Progress

WORKER = Path(__file__).with_name("worker.py")
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


def run(problem: Problem, method: Method, *, seed: int, instances: int, timeout: float) -> dict[str, Any]:
    """One method on one problem, in a process of its own: its metrics, or the reason why there are none."""
    with TemporaryDirectory() as folder:
        out = Path(folder) / "metrics.json"
        command = [sys.executable, str(WORKER), problem.name, method.name, str(seed), str(instances), str(out)]
        try:
            done = subprocess.run(
                command, env=os.environ | ONE_THREAD, capture_output=True, text=True, errors="replace", timeout=timeout
            )
        except subprocess.TimeoutExpired:
            return {"failure": f"not finished after {timeout:g} s"}
        if done.returncode == 0:
            return json.loads(out.read_text())
        return {"failure": reason(done)}


def reason(done: subprocess.CompletedProcess[str]) -> str:
    """Why a process failed: its signal, or the last line it wrote."""
    if done.returncode < 0:
        return f"crashed: {signal.strsignal(-done.returncode)}"
    lines = done.stderr.strip().splitlines()
    return lines[-1][:200] if lines else f"exit code {done.returncode}"


def run_all(
    problems: list[Problem], methods: list[Method], *, seed: int, instances: int, timeout: float
) -> Iterator[dict[str, Any]]:
    """A row for every method on every problem, small problems first.

    Where a method has run out of time, problems that are larger in every direction are not tried.
    """
    absent = failures()
    too_slow: dict[str, list[Problem]] = {}
    progress = Progress("paths", len(problems) * len(methods))
    try:
        for problem in problems:
            for method in methods:
                progress.label = f"{method.name} {problem.name}"
                smaller = [p.name for p in too_slow.get(method.name, []) if problem.at_least(p)]
                if not method.version():
                    result = {"failure": f"not installed: {absent.get(method.package, 'see make bench')}"}
                elif smaller:
                    result = {"failure": f"not tried: too slow at {smaller[0]}"}
                else:
                    result = run(problem, method, seed=seed, instances=instances, timeout=timeout)
                    if "not finished" in result.get("failure", ""):
                        too_slow.setdefault(method.name, []).append(problem)
                yield {"problem": problem.name, "method": method.name, "version": method.version()} | result
                progress.step()
    finally:
        progress.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes only, in less than two minutes")
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, metavar="FEATURESxSAMPLES", help=", ".join(PROBLEMS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="METHOD", help=", ".join(METHODS))
    parser.add_argument("--timeout", type=float, help="seconds for one method on one problem (300; 20 with --quick)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (%(default)s)")
    parser.add_argument("--instances", type=int, default=1, help="of each problem, to be averaged (%(default)s)")
    parser.add_argument("--out", type=Path, default=Path("results/bench"), help="folder of the results (%(default)s)")
    args = parser.parse_args()
    names = args.problems or (QUICK if args.quick else PROBLEMS)
    rows: list[dict[str, Any]] = []
    results = run_all(
        [problem for name, problem in PROBLEMS.items() if name in names],
        [METHODS[name] for name in args.methods or METHODS],
        seed=args.seed,
        instances=args.instances,
        timeout=args.timeout or (20.0 if args.quick else 300.0),
    )
    interrupted = False
    try:
        for row in results:
            rows.append(row)
    except KeyboardInterrupt:
        interrupted = True
        print("\nInterrupted: the report has what is finished.", file=sys.stderr)
    if rows:
        print(write_report(pd.DataFrame(rows), args.out))
    if interrupted:
        sys.exit(130)


if __name__ == "__main__":
    main()
