"""Changes the code in one place at a time and counts how many of these mutants the tests notice.

mutmut makes and runs the mutants, in a copy of the sources. It leaves decorated functions alone, and ``solve`` and
``garrote_path`` are decorated; so in the copy ``@decorator def f`` is written as ``f = decorator(f)`` after the
function, which means the same. Constants of modules are not mutated.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
COPY = ROOT / ".mutation"
MODULES = ("energy", "select", "solve", "path")
LEAST_KILLED = 85.0  # per cent


class Mutant(NamedTuple):
    """A change of one line: what it was, what it became, and how its run ended."""

    name: str
    module: str
    status: str
    before: str
    after: str

    @property
    def killed(self) -> bool:
        return self.status in ("killed", "timeout", "segfault", "suspicious")


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("names", nargs="*", help="mutants to run again, as printed, wildcards allowed; all if none")
    options.add_argument("--only-report", action="store_true", help="print what the last run found")
    arguments = options.parse_args()
    if not arguments.only_report:
        copy_sources()
        run_mutmut(arguments.names)
    os.chdir(COPY)
    return report(read_mutants(), read_equivalent())


def copy_sources() -> None:
    """Bring the copy up to date. Files that have not changed keep their time, so finished mutants are not run again."""
    COPY.mkdir(exist_ok=True)
    files = [*ROOT.glob("src/garrote/**/*"), *ROOT.glob("tests/*"), ROOT / "pyproject.toml", HERE / "setup.cfg"]
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            copy_file(file, COPY / (file.relative_to(ROOT) if file.parent != HERE else file.name))


def copy_file(file: Path, to: Path) -> None:
    mutated = to.parent.name == "garrote" and to.stem in MODULES and to.suffix == ".py"
    content = without_decorators(file.read_text()).encode() if mutated else file.read_bytes()
    if not to.exists() or to.read_bytes() != content:
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
        if "src" in to.parts and not mutated:  # mutmut itself does not copy it again
            (COPY / "mutants" / to.relative_to(COPY)).unlink(missing_ok=True)


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


def run_mutmut(names: list[str]) -> None:
    one_thread = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "mutmut", "run", "--max-children", "1", *names]
    environment = os.environ | one_thread | {"PYTHONPATH": str(HERE)}  # for node_id.py
    ended = subprocess.run(command, cwd=COPY, env=environment, check=False)
    if ended.returncode:
        sys.exit(f"mutmut ended with {ended.returncode}: the tests must be green without any mutant.")


def read_mutants() -> list[Mutant]:
    """All mutants of the last run, from mutmut's files."""
    from mutmut.__main__ import get_diff_for_mutant, status_by_exit_code
    from mutmut.mutation.data import SourceFileMutationData

    mutants = []
    for module in MODULES:
        path = Path("src/garrote") / f"{module}.py"
        data = SourceFileMutationData(path=path)
        data.load()
        for name, exit_code in data.exit_code_by_key.items():
            before, after = changed_lines(get_diff_for_mutant(name, path=path))
            mutants.append(Mutant(name, module, status_by_exit_code[exit_code], before, after))
    return mutants


def changed_lines(diff: str) -> tuple[str, str]:
    """What a diff takes away, and what it puts in its place."""
    lines = [line for line in diff.splitlines() if not line.startswith(("---", "+++"))]
    return tuple(" ".join(line[1:].strip() for line in lines if line.startswith(sign)) for sign in "-+")  # type: ignore[return-value]


def read_equivalent() -> set[tuple[str, str]]:
    """The changes that no test can notice, because they change nothing that can be seen; the file says why."""
    entries = tomllib.loads((HERE / "equivalent.toml").read_text()).get("mutant", [])
    return {(entry["before"], entry["after"]) for entry in entries}


def report(mutants: list[Mutant], equivalent: set[tuple[str, str]]) -> int:
    """Print the survivors and the counts; 1 if too few were killed."""
    survivors = [mutant for mutant in mutants if not mutant.killed]
    real = [mutant for mutant in survivors if (mutant.before, mutant.after) not in equivalent]
    for mutant in real:
        print(f"\n{mutant.name} ({mutant.status})\n  - {mutant.before}\n  + {mutant.after}")
    known = {(mutant.before, mutant.after) for mutant in survivors}
    for before, after in sorted(equivalent - known):
        print(f"\nequivalent.toml names a mutant that does not exist or was killed:\n  - {before}\n  + {after}")
    print(f"\n{'module':8} {'mutants':>8} {'killed':>8} {'equivalent':>11} {'survived':>9} {'killed %':>9}")
    total, killed, open_ = (Counter(m.module for m in group) for group in (mutants, killed_of(mutants), real))
    for module in MODULES:
        print_counts(module, total[module], killed[module], open_[module])
    print_counts("all", total.total(), killed.total(), open_.total())
    print("Equivalent mutants (tools/mutation/equivalent.toml) count as not killed.")
    return int(100.0 * killed.total() < LEAST_KILLED * total.total() or bool(equivalent - known))


def killed_of(mutants: list[Mutant]) -> list[Mutant]:
    return [mutant for mutant in mutants if mutant.killed]


def print_counts(module: str, total: int, killed: int, survived: int) -> None:
    percentage = 100.0 * killed / total if total else 0.0
    print(f"{module:8} {total:8} {killed:8} {total - killed - survived:11} {survived:9} {percentage:9.1f}")


if __name__ == "__main__":
    sys.exit(main())
