"""Nothing is lost or half-written when a process is killed, a disk is full, or kept results are damaged."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import GARROTE, PATIENCE, files, run_here, start
from disks import SmallDisk, disk  # noqa: F401 -- a fixture

from garrote import VariationalGarrote
from garrote.commands import cli
from garrote.commands._progress import FoldWatch, bar
from garrote.compare import FoldResult, _recalled
from garrote.datasets import sparse_regression
from garrote.files import replacing, write_text
from garrote.model_file import load, save
from garrote.paper.item import Instance, Item, Settings
from garrote.paper.runner import CACHE, run
from garrote.watch import Checkpoint


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a small and a larger table, and a model of the small one."""
    folder = tmp_path_factory.mktemp("survival")
    X, y, _ = sparse_regression(40, 5, 2, rng=np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.assign(y=y).to_csv(folder / "data.csv", index=False)
    save(VariationalGarrote(-1.0).fit(frame, y), folder / "model.json")
    X, y, _ = sparse_regression(60, 20, 5, zeta=0.5, sigma=0.5, rng=np.random.default_rng(1))
    pd.DataFrame(X).add_prefix("x").assign(y=y).to_csv(folder / "large.csv", index=False)
    return folder


def contents(folder):
    return {name: (Path(folder) / name).read_bytes() for name in files(folder)}


# ---- kill -9 -------------------------------------------------------------------------------------------------


def test_a_killed_fit_goes_on_to_the_same_bytes_and_computes_damaged_folds_again(folder, monkeypatch):
    fit = ["fit", "../large.csv", "--target", "y", "--out", "out"]
    monkeypatch.setattr(sys, "argv", ["garrote", *fit])  # the report repeats it
    whole, killed = folder / "whole", folder / "killed"
    for place in (whole, killed):
        place.mkdir()
    monkeypatch.chdir(whole)
    expected = run_here(cli, fit)
    kept = killed / "out" / ".checkpoint"
    for n_folds in (1, 3):
        process = start(*fit, folder=killed)
        deadline = time.monotonic() + PATIENCE
        while len(list(kept.glob("fold-*.json"))) < n_folds and time.monotonic() < deadline:
            time.sleep(0.005)
        process.kill()
        process.communicate()
        assert process.returncode == -signal.SIGKILL
    assert not (killed / "out" / "model.json").exists()

    first, second, *_ = sorted(kept.glob("fold-*.json"))
    first.write_bytes(first.read_bytes()[:-20])
    second.write_text(second.read_text().replace("1", "2", 1))
    (killed / "out" / ".model.json.garrote-abcd_123.json").write_text("what a kill in the middle of a write leaves")
    monkeypatch.chdir(killed)
    resumed = run_here(cli, fit)
    said = resumed.stderr.splitlines()
    for file in (first, second):
        shown = file.relative_to(killed)
        assert said.count(f"Warning: {shown} is damaged or was edited; what it held is computed again.") == 1
    assert resumed.stdout == expected.stdout
    assert contents(killed) == contents(whole)


def square(x):
    return {"square": x * x}


def squares():
    instances = [Instance(square, {"x": x}) for x in range(5)]
    return Item("squares", "", lambda settings: instances, lambda rows: _Rows(rows))


class _Rows:
    """A report that only keeps its rows."""

    def __init__(self, rows):
        self.rows, self.notes = rows, []


KILLED_IN_THE_MIDDLE_OF_A_WRITE = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import test_survival
from garrote.paper.item import Settings
from garrote.paper.runner import run
replace, seen = Path.replace, []
def dying(self, target):
    seen.append(target)
    if len(seen) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return replace(self, target)
Path.replace = dying
run(test_survival.squares(), Settings(), Path(sys.argv[2]), 1)
"""


def test_an_instance_that_was_killed_while_it_was_written_is_computed_again(tmp_path):
    arguments = [sys.executable, "-c", KILLED_IN_THE_MIDDLE_OF_A_WRITE, Path(__file__).parent, tmp_path]
    assert subprocess.run(arguments, timeout=PATIENCE).returncode == -signal.SIGKILL
    store = tmp_path / CACHE / "squares"
    assert len([name for name in files(store) if name.startswith(".")]) == 1
    item = squares()
    assert {json.loads(path.read_text())["record"]["square"] for path in store.glob("[!.]*")} == {0, 1, 4}
    report, n_computed = run(item, Settings(), tmp_path, 1)
    assert n_computed == 2
    assert [row["square"] for row in report.rows] == [0, 1, 4, 9, 16]
    assert all(not name.startswith(".") for name in files(store))


# ---- temporary files -----------------------------------------------------------------------------------------


def test_only_what_killed_writers_of_the_same_file_left_is_removed(tmp_path):
    abandoned = tmp_path / ".a.json.garrote-12345678.json"
    others = [tmp_path / name for name in (".a.json.backup.json", ".b.json.garrote-12345678.json", "a.json.garrote-x")]
    for path in (abandoned, *others):
        path.write_text("")
    write_text(tmp_path / "a.json", "new")
    assert files(tmp_path) == {"a.json", *(path.name for path in others)}


def test_a_writer_leaves_the_temporary_file_of_another_alone(tmp_path):
    with replacing(tmp_path / "a") as slow:
        slow.write_text("slow")
        write_text(tmp_path / "a", "quick")
        assert slow.exists()
    assert contents(tmp_path) == {"a": b"slow"}


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    write_text(tmp_path / "a", "old")
    with pytest.raises(KeyboardInterrupt), replacing(tmp_path / "a") as temporary:
        temporary.write_text("half")
        raise KeyboardInterrupt
    assert contents(tmp_path) == {"a": b"old"}


# ---- checksums -----------------------------------------------------------------------------------------------


def test_every_change_of_one_byte_of_a_checkpoint_is_noticed(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.keep("a", [0.1, float("nan"), "text"])
    file = tmp_path / "a.json"
    text = file.read_bytes()
    for place in range(len(text)):
        for changed in (text[:place], text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]):
            file.write_bytes(changed)
            with pytest.warns(UserWarning, match="damaged or was edited"):
                assert checkpoint.recall("a") is None
    file.write_bytes(text)
    assert checkpoint.recall("a")[0] == 0.1


def test_a_checkpoint_under_another_name_is_not_taken(tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.keep("a", 1.0)
    (tmp_path / "a.json").rename(tmp_path / "b.json")
    assert checkpoint.recall("b") is None


FORGED = [3, [1.0], [["x"]], {"a": 1}, [[10**400, 1.0]], [[[]]], [[1.0, 2.0, 3.0]], "text", {"error": 1}]


@pytest.mark.parametrize("forged", FORGED)
def test_a_sealed_fold_that_makes_no_sense_is_computed_again(forged, tmp_path):
    checkpoint = Checkpoint(tmp_path)
    with bar("", quiet=True) as shown:
        watch = FoldWatch(shown, checkpoint)
        watch.begin(2, "same", (1, 2))
        watch.done(0, np.array([[1.0, np.nan]]))
        assert np.array_equal(watch.begin(2, "same", (1, 2))[0], [[1.0, np.nan]], equal_nan=True)
        checkpoint.keep(next(tmp_path.iterdir()).stem, forged)
        with pytest.warns(UserWarning, match="damaged or was edited"):
            assert watch.begin(2, "same", (1, 2)) == [None, None]


@pytest.mark.parametrize("forged", [*FORGED, *({"error": 1, "selected": s, "seconds": 1} for s in (2, [9], [-1], "a"))])
def test_a_sealed_comparison_that_makes_no_sense_is_computed_again(forged, tmp_path):
    checkpoint = Checkpoint(tmp_path)
    checkpoint.keep("a", vars(FoldResult(1.5, [0, 8], 2.0)))
    assert _recalled(checkpoint, "a", 9) == FoldResult(1.5, [0, 8], 2.0)
    checkpoint.keep("a", forged)
    with pytest.warns(UserWarning, match="damaged or was edited"):
        assert _recalled(checkpoint, "a", 9) is None


# ---- full disks ----------------------------------------------------------------------------------------------


def invoke(*arguments):
    """A command in this process; its exit code and the last line on stderr."""
    result = run_here(cli, [str(argument) for argument in arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, (result.stderr.strip().splitlines() or [""])[-1]


CALLS = {
    "fit": (["fit", "DATA", "--target", "y", "--quiet", "--out", "OUT"], [0, 100_000]),
    "predict": (["predict", "MODEL", "DATA", "--out", "OUT/predictions.csv"], [0]),
    "path": (["path", "DATA", "--target", "y", "--quiet", "--out", "OUT"], [20_000]),
    "paper": (["paper", "fig-shrinkage", "--quick", "--n-jobs", "1", "--out", "OUT"], [40_000]),
}


def call(name, folder, out):
    words = {"DATA": folder / "data.csv", "MODEL": folder / "model.json"}
    return [words.get(word, word.replace("OUT", str(out))) for word in CALLS[name][0]]


@pytest.mark.parametrize("name", CALLS)
def test_a_full_disk_is_one_sentence_and_leaves_the_old_files(name, folder, disk):  # noqa: F811
    out = disk.folder / "out"
    assert invoke(*call(name, folder, out))[0] == 0
    whole = contents(out)
    for n_bytes in CALLS[name][1]:
        for file in whole:
            (out / file).write_text("old")
        with disk.room(n_bytes):
            code, said = invoke(*call(name, folder, out))
            assert code == 1
            assert said.startswith(f"Error: {out}")
            assert said.endswith((": No space left on device", ": File too large"))
            assert ".garrote-" not in said
        found = contents(out)
        assert all(found[file] in (b"old", whole[file]) for file in whole)
        n_written = sum(found[file] == whole[file] for file in whole)
        assert n_written < len(whole)
        assert n_bytes or not n_written
        assert all(Path(file).match(".checkpoint/fold-*.json") for file in found.keys() - whole.keys())
    assert n_written or name == "predict"  # in the largest room some files had their place
    assert invoke(*call(name, folder, out))[0] == 0
    assert contents(out) == whole


@pytest.mark.parametrize("way", ["disk", "limit"])
def test_a_model_that_does_not_fit_on_the_disk_leaves_the_old_one(way, folder, disk, tmp_path):  # noqa: F811
    small = disk if way == "disk" else SmallDisk(tmp_path / "limited", mounted=False)
    model, file = load(folder), small.folder / "model.json"
    save(model, file)
    before = contents(small.folder)
    with small.room(100), pytest.raises(OSError, match=r"(No space left on device|File too large): '.*/model\.json'"):
        save(model, file)
    assert contents(small.folder) == before


@pytest.mark.parametrize("name", CALLS)
def test_a_folder_that_is_read_only_is_one_sentence(name, folder, disk):  # noqa: F811
    for out in (disk.folder / "there", disk.folder / "absent"):
        (disk.folder / "there").mkdir(exist_ok=True)
        with disk.read_only():
            code, said = invoke(*call(name, folder, out))
        assert code == 1
        assert said.startswith(f"Error: {out}")
        assert said.endswith((": Read-only file system", ": Permission denied"))
        assert files(disk.folder) == set()


def test_a_full_standard_output_is_one_sentence(folder):
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [GARROTE, "predict", "model.json", "data.csv"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
        )
    assert run.returncode == 1
    assert run.stderr.strip() == f"Error: the output: {os.strerror(28)}"
