"""What goes wrong is one sentence on stderr with the right exit code, and leaves no half-written file."""

import json
import os
import re
import signal
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from command_line import PATIENCE, files, garrote, interrupt, start, wait_for_reader

from garrote import VariationalGarrote, sealed
from garrote.datasets import sparse_regression
from garrote.model_file import save

#: Each command with its arguments; DATA, MODEL and OUT are to be replaced.
CALLS = {
    "fit": ["fit", "DATA", "--target", "y", "--out", "OUT"],
    "predict": ["predict", "MODEL", "DATA", "--out", "OUT/predictions.csv"],
    "path": ["path", "DATA", "--target", "y", "--out", "OUT"],
    "compare": ["compare", "DATA", "--target", "y", "--out", "OUT"],
    "info": ["info", "MODEL"],
}
READ_DATA = ["fit", "predict", "path", "compare"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data.csv, a model of it, and a larger problem whose folds take a while."""
    folder = tmp_path_factory.mktemp("errors")
    X, y, _ = sparse_regression(40, 5, 2, rng=np.random.default_rng(0))
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame.assign(y=y).to_csv(folder / "data.csv", index=False)
    frame[["a"]].to_csv(folder / "narrow.csv", index=False)
    save(VariationalGarrote(-1.0).fit(frame, y), folder / "model.json")
    X, y, _ = sparse_regression(60, 20, 5, zeta=0.5, sigma=0.5, rng=np.random.default_rng(1))
    pd.DataFrame(X).assign(y=y).to_csv(folder / "large.csv", index=False)
    (folder / "empty.csv").write_text("")
    (folder / "file").write_text("not a folder")
    return folder


def call(name, *, data="data.csv", model="model.json", out="out"):
    """The arguments of a command, filled in."""
    return [{"DATA": data, "MODEL": model}.get(word, word.replace("OUT", out)) for word in CALLS[name]]


def assert_one_sentence(run, *expected, code=1):
    assert run.returncode == code, run.stderr
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    last = run.stderr.strip().splitlines()[-1]
    assert last.startswith("Error: ")
    for word in expected:
        assert word in last


@pytest.mark.parametrize("name", READ_DATA)
def test_missing_file(name, folder):
    run = garrote(*call(name, data="absent.csv", out="missing"), folder=folder)
    assert_one_sentence(run, "absent.csv", "No such file")
    assert not (folder / "missing").exists()


@pytest.mark.parametrize("name", ["predict", "info"])
def test_missing_model(name, folder):
    assert_one_sentence(garrote(*call(name, model="absent.json"), folder=folder), "absent.json", "No such file")


@pytest.mark.parametrize("name", ["fit", "path", "compare"])
def test_wrong_column(name, folder):
    arguments = [word if word != "y" else "yy" for word in call(name, out="wrong")]
    assert_one_sentence(garrote(*arguments, folder=folder), "'yy'", "column")
    assert not (folder / "wrong").exists()


def test_prediction_without_a_column_that_the_model_uses(folder):
    run = garrote(*call("predict", data="narrow.csv", out="narrow"), folder=folder)
    assert_one_sentence(run, "column")
    assert not (folder / "narrow").exists()


@pytest.mark.parametrize("name", READ_DATA)
def test_empty_file(name, folder):
    run = garrote(*call(name, data="empty.csv", out="nothing"), folder=folder)
    assert_one_sentence(run, "empty.csv", "empty")
    assert not (folder / "nothing").exists()


@pytest.mark.parametrize("name", ["predict", "info"])
def test_empty_model(name, folder):
    assert_one_sentence(garrote(*call(name, model="empty.csv"), folder=folder), "empty.csv", "not a garrote model")


@pytest.mark.parametrize(("name", "place"), [("fit", "file"), *((name, "file/below") for name in READ_DATA)])
def test_folder_that_cannot_be_written(name, place, folder):
    run = garrote(*call(name, out=place), folder=folder)
    assert_one_sentence(run, "file")
    assert (folder / "file").read_text() == "not a folder"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["fit", "data.csv"], "--target"),
        (["fit", "data.csv", "--target", "y", "--gamma", "-5", "--folds", "3"], "--gamma and --folds"),
        (["fit", "data.csv", "--target", "y", "--pheno", "x.txt"], "--pheno"),
        (["fit", "data.csv", "--target", "y", "--folds", "1"], "--folds"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_exit_code_two(arguments, expected, folder):
    assert_one_sentence(garrote(*arguments, folder=folder), expected, code=2)


def test_more_folds_than_rows_allow(folder):
    run = garrote("fit", "data.csv", "--target", "y", "--folds", 21, folder=folder)
    assert_one_sentence(run, "--folds is 21", "at most 20")


def test_bench_outside_a_known_problem_is_a_usage_error(folder):
    run = garrote("bench", "--problems", "7x7", folder=folder)
    assert run.returncode == 2
    assert "7x7" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_closed_pipe_is_no_error(folder):
    process = start(*CALLS["predict"][:1], "model.json", "data.csv", folder=folder)
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    process.wait(timeout=PATIENCE)


# ---- SIGINT ----------------------------------------------------------------------------------------------------


def assert_interrupted(code, out, err):
    assert code == 130, err
    assert out == ""
    assert "Traceback" not in err
    last = err.strip().splitlines()[-1]
    assert last.startswith("Interrupted. ")
    assert "same command" in last


@pytest.mark.parametrize("name", CALLS)
def test_interrupted_while_it_reads(name, folder):
    pipe = folder / f"{name}.csv"
    os.mkfifo(pipe)
    of = "model" if name == "info" else "data"
    process = start(*call(name, out=f"read-{name}", **{of: pipe.name}), folder=folder)
    writer = wait_for_reader(pipe)  # the command waits for the data now
    assert_interrupted(*interrupt(process))
    os.close(writer)
    assert not (folder / f"read-{name}").exists()


def wait_for(pattern, folder, process):
    """Block until a file appears."""
    deadline = time.monotonic() + PATIENCE
    while not list(folder.glob(pattern)):
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_interrupted_fit_keeps_its_folds_and_goes_on(folder):
    arguments = call("fit", data="large.csv", out="resumed")
    process = start(*arguments, folder=folder)
    wait_for("resumed/.checkpoint/fold-*.json", folder, process)
    code, out, err = interrupt(process)
    assert_interrupted(code, out, err)
    kept = int(re.search(r"(\d) of 5 folds are finished and kept in resumed/.checkpoint", err)[1])
    assert kept == len(list((folder / "resumed" / ".checkpoint").glob("fold-*.json")))
    assert not [name for name in files(folder / "resumed") if not name.startswith(".checkpoint/fold-")]

    second = garrote(*arguments, "--json", folder=folder)
    assert f"{kept} of 5 folds were finished before" in second.stderr
    whole = garrote(*call("fit", data="large.csv", out="whole"), "--json", folder=folder)
    assert json.loads(second.stdout) | {"out": ""} == json.loads(whole.stdout) | {"out": ""}
    assert not (folder / "resumed" / ".checkpoint").exists()


def test_folds_of_other_data_are_not_taken_over(folder):
    X, y, _ = sparse_regression(40, 5, 2, rng=np.random.default_rng(3))
    pd.DataFrame(X, columns=list("abcde")).assign(y=y).to_csv(folder / "other.csv", index=False)
    process = start(*call("fit", data="large.csv", out="shared"), folder=folder)
    wait_for("shared/.checkpoint/fold-*.json", folder, process)
    interrupt(process)
    run = garrote(*call("fit", data="other.csv", out="shared"), "--folds", 2, folder=folder)
    assert run.returncode == 0
    assert "finished before" not in run.stderr


def test_an_interrupted_comparison_keeps_its_fits_and_goes_on(folder):
    arguments = call("compare", out="compared")
    process = start(*arguments, folder=folder)
    wait_for("compared/.checkpoint/VG-1-*.json", folder, process)
    assert_interrupted(*interrupt(process))
    kept = next((folder / "compared" / ".checkpoint").glob("VG-1-*.json"))
    content = sealed.read(kept)
    content["result"]["error"] = 1e6  # to be recognised in the result
    sealed.write(kept, content)
    assert files(folder / "compared") == {f".checkpoint/{path.name}" for path in kept.parent.iterdir()}
    rows = json.loads(garrote(*arguments, "--json", folder=folder).stdout)
    assert rows[0]["error"] > 1e5
    assert files(folder / "compared") == {"compare.csv"}


def test_an_interrupted_path_leaves_nothing(folder):
    process = start(*call("path", data="large.csv", out="traced"), folder=folder)
    wait_for("traced", folder, process)
    assert_interrupted(*interrupt(process))
    assert files(folder / "traced") == set()


def test_an_interrupted_demo_leaves_nothing(folder):
    process = start("demo", "--out", "demo", folder=folder)
    assert "fitting" in process.stderr.readline()
    assert_interrupted(*interrupt(process))
    assert files(folder / "demo") == set()


def test_an_interrupted_benchmark_has_what_is_finished(folder):
    process = start("bench", "--problems", "100x100", "10000x100", "--methods", "VG", "--out", "timed", folder=folder)
    wait_for_worker(process.pid)  # the benchmark says nothing before its first row
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "Interrupted" in err
    assert "Traceback" not in err


def wait_for_worker(pid):
    """Block until a process has a child."""
    deadline = time.monotonic() + PATIENCE
    children = Path(f"/proc/{pid}/task/{pid}/children")
    while not children.read_text().strip():
        assert time.monotonic() < deadline
        time.sleep(0.01)
