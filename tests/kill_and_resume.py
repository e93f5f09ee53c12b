"""Kill `garrote fit` and `garrote paper` at random moments, resume, and compare every byte with an uninterrupted run.

    python tests/kill_and_resume.py [--kills 50] [--seed 0]

Each command runs in a forked process, so that the time in which a kill can land is spent on the work and not on
imports. There are two kinds of kill, SIGKILL both: after a random time, and just before a random one of the operations
on files that the command makes (open, rename, remove), which random times hardly ever hit. A killed command is resumed
by the same command, which may be killed again, until it ends. Exits with 1 if any outcome differs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
from command_line import files

from garrote.commands import cli
from garrote.datasets import sparse_regression

#: Operations on files that can be waited for, as Python's audit events name them.
OPERATIONS = ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod")

COMMANDS = {
    "fit": ["fit", "data.csv", "--target", "y", "--out", "out"],
    "paper": ["paper", "fig-consistency", "--quick", "--n-jobs", "1", "--out", "out"],
}


@dataclass
class Tally:
    """What happened to a command."""

    kills: int = 0
    at_operations: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    left_behind: int = 0
    resumed: int = 0
    identical: int = 0
    differences: list[str] = field(default_factory=list)


def room_with_data(folder: Path) -> Path:
    """A folder with data.csv and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    X, y, _ = sparse_regression(80, 25, 5, zeta=0.5, sigma=0.5, rng=np.random.default_rng(8))
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(folder / "data.csv", index=False)
    return folder


def start(arguments: list[str], folder: Path, *, die_at: int | None = None) -> int:
    """Fork a process that runs the command in a folder; it may kill itself before its operation number ``die_at``."""
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        os.chdir(folder)
        with open(os.devnull, "w") as nowhere, open("said", "w") as said:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(said.fileno(), 2)
        sys.argv = ["garrote", *arguments]
        made = _watch_operations(die_at, str(folder / "out"))
        cli(arguments, standalone_mode=False)
        Path("operations").write_text(str(made[0]))
        code = 0
    finally:
        os._exit(code)


def _watch_operations(die_at: int | None, below: str) -> list[int]:
    """Count the operations of this process on files below a folder; kill it before the one of that number."""
    made = [0]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if event in OPERATIONS and os.path.abspath(os.fsdecode(_path(arguments))).startswith(below):
            if made[0] == die_at:
                os.kill(os.getpid(), signal.SIGKILL)
            made[0] += 1

    sys.addaudithook(hook)
    return made


def _path(arguments: tuple[object, ...]) -> str | bytes:
    first = arguments[0]
    return os.fspath(first) if isinstance(first, str | bytes | os.PathLike) else ""


def wait(child: int) -> int:
    """The signal that ended a process, or 0; a failure is an error here."""
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status)
    if os.WEXITSTATUS(status):
        raise RuntimeError(f"the command failed with exit code {os.WEXITSTATUS(status)}")
    return 0


def outcome(folder: Path) -> dict[str, object]:
    """Every file below the output folder, with its content; processor times are no result."""
    return {name: _content(folder / "out" / name) for name in files(folder / "out")}


def _content(file: Path) -> object:
    if file.parent.parent.name != ".instances":
        return file.read_bytes()
    kept = json.loads(file.read_text())
    return kept["identity"], {key: value for key, value in kept["record"].items() if key != "cpu"}


def stage(folder: Path) -> str:
    """How far a killed command had come, by what it had written."""
    out = folder / "out"
    written = {name for name in (files(out) if out.exists() else set()) if not Path(name).name.startswith(".")}
    if {"report.html", "index.html"} & written:
        return "last file written"
    if {"model.json", "fig-consistency.csv"} & written:
        return "some files written"
    parts = len([name for name in written if name.startswith((".checkpoint/", ".instances/"))])
    if not parts:
        return "nothing kept"
    most = 5 if any(name.startswith(".checkpoint/") for name in written) else 40
    return "all parts kept" if parts == most else "some parts kept"


def leftovers(folder: Path) -> int:
    """Temporary files of writers."""
    out = folder / "out"
    return sum(".garrote-" in name for name in (files(out) if out.exists() else set()))


def run(name: str, n_kills: int, rng: random.Random, room: Path) -> Tally:
    """Kill a command so many times, in as many runs as that takes."""
    arguments = COMMANDS[name]
    whole = room_with_data(room / f"{name}-whole")
    begun = time.monotonic()
    wait(start(arguments, whole))
    duration = time.monotonic() - begun
    expected = outcome(whole)
    n_operations = int((whole / "operations").read_text())
    print(f"{name}: uninterrupted {duration:.1f} s, {n_operations} operations on files", flush=True)
    tally = Tally()
    while tally.kills < n_kills:
        folder = room_with_data(room / f"{name}-{tally.resumed}")
        killed = 0
        while tally.kills < n_kills and (not killed or rng.random() < 0.5):
            if not kill_once(arguments, folder, duration, n_operations, rng, tally):
                break
            killed += 1
        if not killed:
            continue
        wait(start(arguments, folder))
        tally.resumed += 1
        found = outcome(folder)
        tally.identical += found == expected
        tally.differences += sorted(key for key in found.keys() | expected if found.get(key) != expected.get(key))
        shutil.rmtree(folder)
    return tally


def kill_once(
    arguments: list[str], folder: Path, duration: float, n_operations: int, rng: random.Random, tally: Tally
) -> bool:
    """Run the command and kill it; False if it had ended before."""
    at_operation = rng.random() < 0.5
    child = start(arguments, folder, die_at=rng.randrange(n_operations) if at_operation else None)
    if not at_operation:
        time.sleep(rng.uniform(0.0, duration))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    if wait(child) != signal.SIGKILL:
        return False
    tally.kills += 1
    tally.at_operations += at_operation
    tally.stages[stage(folder)] += 1
    tally.left_behind += leftovers(folder)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=50, help="of each command")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import garrote.commands.fit
    import garrote.commands.paper
    import garrote.paper.produce
    import garrote.report  # noqa: F401 -- forked processes need not import it

    failed = False
    for name in COMMANDS:
        with tempfile.TemporaryDirectory() as room:
            tally = run(name, options.kills, random.Random(f"{name}{options.seed}"), Path(room).resolve())
        stages = ", ".join(f"{count} with {stage}" for stage, count in tally.stages.most_common())
        print(
            f"{name}: {tally.kills} kills landed while it ran ({tally.at_operations} of them just before an operation "
            f"on a file): {stages}; they left {tally.left_behind} temporary files behind"
        )
        print(f"{name}: {tally.identical} of {tally.resumed} resumed runs ended with the same files, byte for byte")
        if tally.differences:
            print(f"{name}: differ: {', '.join(sorted(set(tally.differences)))}")
        failed |= tally.identical != tally.resumed or not tally.resumed
    sys.exit(failed)


if __name__ == "__main__":
    main()
