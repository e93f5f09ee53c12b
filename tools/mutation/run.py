"""Changes the code in one place at a time and counts how many of these mutants the tests notice.

mutmut makes the mutants, in a copy of the sources, and fork_runner.py tries them. mutmut leaves decorated functions
alone, and ``solve`` and ``garrote_path`` are decorated; so in the copy ``@decorator def f`` is written as
``f = decorator(f)`` after the function, which means the same. Constants of modules are not mutated.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from mutmut.mutation.file_mutation import mutate_file_contents

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPY = ROOT / ".mutation"
MODULES = ("energy", "select", "solve", "path", "search")
LEAST_KILLED = 85.0  # per cent

#: The test files that reach these modules quickly.
TESTS = (
    *("energy", "solve", "path", "search", "select", "estimators"),
    *("invariance", "covariates", "bad_input", "summary_tables"),
)

#: Left out, for their time: what needs other processes or threads, the comparison with the printed algorithm over 100
#: problems, scikit-learn's own checks, and a few tests of a second each.
LEFT_OUT = (
    "test_path.py::test_free_energy_is_not_above_the_printed_algorithm",
    "test_path.py::test_results_do_not_depend_on_the_number_of_threads",
    "test_estimators.py::test_scikit_learn_checks",
    "test_estimators.py::test_two_jobs_give_exactly_what_one_gives",
    "test_estimators.py::test_grid_search_over_gamma_finds_the_least_cross_validated_error",
    "test_invariance.py::test_integer_weight_is_a_repeated_row[working set]",
    "test_invariance.py::test_integer_weight_is_a_repeated_row_in_the_free_energy[working set]",
)


class Mutant(NamedTuple):
    """A change: what the lines were, and what they became."""

    name: str
    before: str
    after: str

    @property
    def module(self) -> str:
        return self.name.split(".")[1]


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--again", action="store_true", help="keep what the last run killed, try the others again")
    options.add_argument("--only", choices=MODULES, help="try the mutants of one module")
    arguments = options.parse_args()
    known = read_outcomes() if arguments.again else {}
    mutants = make_mutants()
    others = {m for m in known if arguments.only not in (None, m.module)}
    keep = {m: known[m] for m in mutants if known.get(m) == "killed" or m in others}
    todo = [m for m in mutants if m not in keep and m.module == (arguments.only or m.module)]
    random.Random(0).shuffle(todo)  # so that what an interrupted run has tried is a fair sample
    write_outcomes(keep)
    try_mutants(todo)
    outcomes = read_outcomes()
    return report([m for m in mutants if m in outcomes], outcomes)


def make_mutants() -> list[Mutant]:
    """A fresh copy of the sources, with all mutants in it."""
    for folder in ("src", "tests"):
        shutil.rmtree(COPY / folder, ignore_errors=True)
        shutil.copytree(ROOT / folder, COPY / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(ROOT / "pyproject.toml", COPY)
    mutants = []
    for module in MODULES:
        file = COPY / "src" / "garrote" / f"{module}.py"
        mutated = mutate_file_contents(str(file), without_decorators(file.read_text(encoding="utf-8")))
        file.write_text(mutated.code, encoding="utf-8")
        mutants += changes(module, mutated.code, mutated.mutant_names)
    (COPY / "mutants.json").write_text(json.dumps(mutants))
    return mutants


def without_decorators(source: str) -> str:
    """The same module with ``f = decorator(f)`` after each function in place of ``@decorator`` before it."""
    lines = source.splitlines()
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    for function in sorted(functions, key=lambda node: node.lineno, reverse=True):
        decorators = [ast.unparse(decorator) for decorator in function.decorator_list]
        if not decorators or "overload" in decorators:
            continue
        name, indent = function.name, " " * function.col_offset
        applied = [f"{indent}{name} = {decorator}({name})" for decorator in reversed(decorators)]
        first = function.decorator_list[0].lineno - 1
        body = lines[function.lineno - 1 : function.end_lineno]
        lines[first : function.end_lineno] = [*body, *applied]
    return "\n".join(lines) + "\n"


def changes(module: str, code: str, names: list[str]) -> list[Mutant]:
    """The lines in which each mutant differs from the original function, both being in the mutated module."""
    lines = code.splitlines()
    bodies = {
        node.name: [line.strip() for line in lines[node.lineno : node.end_lineno]]
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.FunctionDef)
    }
    mutants = []
    for name in names:
        original, mutated = bodies[name.rpartition("_")[0] + "_orig"], bodies[name]
        same = next((i for i, pair in enumerate(zip(original, mutated, strict=False)) if pair[0] != pair[1]), 0)
        shorter = min(len(original), len(mutated)) - same
        tail = next((i for i in range(shorter) if original[-1 - i] != mutated[-1 - i]), shorter)
        before, after = (" ".join(body[same : len(body) - tail]) for body in (original, mutated))
        mutants.append(Mutant(f"garrote.{module}.{name}", before, after))
    return mutants


def read_outcomes() -> dict[Mutant, str]:
    """What became of the mutants of the last run."""
    if not (COPY / "outcomes.jsonl").exists():
        return {}
    by_name = {m[0]: Mutant(*m) for m in json.loads((COPY / "mutants.json").read_text())}
    lines = (COPY / "outcomes.jsonl").read_text().splitlines()
    return {by_name[name]: outcome for name, outcome in map(json.loads, lines) if name in by_name}


def write_outcomes(outcomes: dict[Mutant, str]) -> None:
    (COPY / "outcomes.jsonl").write_text(
        "".join(json.dumps([m.name, outcome]) + "\n" for m, outcome in outcomes.items())
    )


def try_mutants(mutants: list[Mutant]) -> None:
    (COPY / "todo.json").write_text(json.dumps([m.name for m in mutants]))
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    places = {"MUTATION_FOLDER": str(COPY), "PYTHONPATH": f"{COPY / 'src'}{os.pathsep}{HERE}"}
    files = [file for name in TESTS if (file := f"tests/test_{name}.py") and (COPY / file).exists()]
    plugins = ["-p", "fork_runner", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:timeout"]
    command = [sys.executable, "-m", "pytest", "--hypothesis-seed=1", *plugins, *files]
    command += [f"--deselect=tests/{test}" for test in LEFT_OUT]
    ended = subprocess.run(command, cwd=COPY, env=os.environ | one_thread | places, check=False)
    if ended.returncode not in (0, 5):  # 5: pytest itself has run no test
        sys.exit("The mutants could not be tried; .mutation/last_failure.txt says why.")


def read_equivalent() -> set[tuple[str, str]]:
    """The changes that no test can notice, because they change nothing that can be seen; the file says why."""
    entries = tomllib.loads((HERE / "equivalent.toml").read_text(encoding="utf-8")).get("mutant", [])
    return {(entry["before"], entry["after"]) for entry in entries}


def report(mutants: list[Mutant], outcomes: dict[Mutant, str]) -> int:
    """Print the survivors and the counts; 1 if too few were killed."""
    equivalent = read_equivalent()
    survivors = [m for m in mutants if outcomes[m] != "killed"]
    real = [m for m in survivors if m[1:] not in equivalent]
    for mutant in real:
        print(f"\n{mutant.name} ({outcomes[mutant]})\n  - {mutant.before}\n  + {mutant.after}")
    print(f"\n{'module':8} {'mutants':>8} {'killed':>8} {'equivalent':>11} {'survived':>9} {'killed %':>9}")
    total, unkilled, unnoticed = (Counter(m.module for m in group) for group in (mutants, survivors, real))
    for module in MODULES:
        print_counts(module, total[module], unkilled[module], unnoticed[module])
    print_counts("all", len(mutants), len(survivors), len(real))
    print("Equivalent mutants (tools/mutation/equivalent.toml) count as not killed.")
    return int(100.0 * (len(mutants) - len(survivors)) < LEAST_KILLED * len(mutants))


def print_counts(module: str, total: int, unkilled: int, survived: int) -> None:
    killed = total - unkilled
    percentage = 100.0 * killed / total if total else 0.0
    print(f"{module:8} {total:8} {killed:8} {unkilled - survived:11} {survived:9} {percentage:9.1f}")


if __name__ == "__main__":
    sys.exit(main())
