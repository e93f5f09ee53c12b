"""A pytest plugin: collect the tests once, then try every mutant in a fork of this process.

Each fork runs the tests that reach the mutant's function until one fails: first those that killed other mutants of the
function, then the quickest. No test has run in this process itself, so the forks are all alike.
"""

from __future__ import annotations

import json
import os
import resource
import time
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest
from _pytest.runner import runtestprotocol
from mutmut.configuration import config
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.state import state
from mutmut.utils.format_utils import mangled_name_from_mutant_name

FOLDER = Path(os.environ.get("MUTATION_FOLDER", "."))

KILLER = FOLDER / "killer.txt"

#: A fork is given this many times the processor time that its tests need without a mutant, and a minute.
PATIENCE = 3


def pytest_configure() -> None:
    """Hypothesis neither remembers failures, which other mutants caused, nor makes them small."""
    phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
    hypothesis.settings.register_profile("mutation", database=None, phases=phases, print_blob=False)
    hypothesis.settings.load_profile("mutation")


def pytest_runtestloop(session: pytest.Session) -> bool:
    if session.testsfailed:
        raise session.Failed("the tests cannot be collected")
    config()  # read now: tests may change the current folder
    if in_fork(lambda: find_reach(session.items), 600):
        raise session.Failed("the tests must be green without a mutant; last_failure.txt says more")
    reach = json.loads((FOLDER / "reach.json").read_text())
    everything = sorted({tuple(entry) for entries in reach.values() for entry in entries})
    if try_mutant("none", everything, session.items) != "survived":
        raise session.Failed("the tests must be green without a mutant, in any order; last_failure.txt says more")
    with (FOLDER / "outcomes.jsonl").open("a", buffering=1) as outcomes:
        kills: Counter[tuple[str, int]] = Counter()
        for name in json.loads((FOLDER / "todo.json").read_text()):
            function = mangled_name_from_mutant_name(name)
            tests = sorted(reach.get(function, []), key=lambda test: (-kills[function, test[1]], test[0]))
            outcome = try_mutant(name, tests, session.items)
            outcomes.write(json.dumps([name, outcome]) + "\n")
            if outcome == "killed" and KILLER.exists():
                kills[function, int(KILLER.read_text())] += 1
    return True


def in_fork(action: Callable[[], int], seconds: float) -> int:
    """What the action returns in a fork that may use so much processor time; not 0 if it used more."""
    child = os.fork()
    if child == 0:
        code = 3
        try:
            limit = int(seconds) + 1
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            code = action()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def find_reach(items: list[pytest.Item]) -> int:
    """Write which tests call which function, with the time of each; 1 if one fails."""
    set_mutant_under_test("stats")
    reach: dict[str, list[tuple[float, int]]] = {}
    for position, item in enumerate(items):
        state()._stats.clear()
        start = time.process_time()
        if fails(item, items[position + 1] if position + 1 < len(items) else None):
            return 1
        seconds = time.process_time() - start
        for function in state()._stats:
            reach.setdefault(function, []).append((seconds, position))
    (FOLDER / "reach.json").write_text(json.dumps(reach))
    return 0


def try_mutant(name: str, tests: list[tuple[float, int]], items: list[pytest.Item]) -> str:
    """What becomes of a mutant, given the positions of the tests that reach it."""
    if not tests:
        return "not reached"

    def until_one_fails() -> int:
        set_mutant_under_test(name)
        positions = [position for _, position in tests]
        for position, later in zip(positions, [*positions[1:], None], strict=True):
            if fails(items[position], None if later is None else items[later]):
                KILLER.write_text(str(position))
                return 1
        return 0

    KILLER.unlink(missing_ok=True)
    usual = sum(seconds for seconds, _ in tests)
    return "killed" if in_fork(until_one_fails, 60 + PATIENCE * usual) else "survived"


def fails(item: pytest.Item, later: pytest.Item | None) -> bool:
    failed = [report for report in runtestprotocol(item, nextitem=later, log=False) if report.failed]
    for report in failed:
        (FOLDER / "last_failure.txt").write_text(f"{item.nodeid}\n{report.longreprtext}\n")
    return bool(failed)
