"""The runner of ``garrote paper``: resumes, never mixes stale results, says how to go on."""

import os
import signal
import subprocess
import sys
import time
import warnings

import pytest
from click.testing import CliRunner

from garrote import sealed
from garrote.commands import cli
from garrote.paper import EXTRA, ITEMS
from garrote.paper.experiments.measures import generator
from garrote.paper.item import Check, Instance, Item, Report, Settings, Table, summarise
from garrote.paper.output import Page, markdown_table, write, write_page
from garrote.paper.runner import CACHE, run
from garrote.paper.store import Store
from garrote.paper.style import panels, styled

SETTINGS = Settings(seed=1, quick=True)
COMMAND = "from garrote.cli import main; main()"


def square(x, seed, log):
    with open(log, "a") as file:
        file.write(f"{x}\n")
    return {"square": x * x, "noise": generator(seed, x).standard_normal()}


def interrupted(x, seed, log):
    if x == 3 and not os.path.exists(log + ".again"):
        open(log + ".again", "w").close()
        raise KeyboardInterrupt
    return square(x, seed, log)


def warning(x, seed, log):
    warnings.warn("not quite converged", RuntimeWarning, stacklevel=1)
    return square(x, seed, log)


def report(rows):
    figure, axes = panels(1, 1)
    axes[0, 0].plot([row["x"] for row in rows], [row["square"] for row in rows])
    checks = [Check("squares are not negative", min(row["square"] for row in rows), "≥", 0)]
    return Report(
        [{"x": row["x"], "square": row["square"]} for row in rows], [Table(["n"], [[str(len(rows))]])], checks, figure
    )


def item(log, function=square, count=5):
    def instances(settings):
        return [Instance(function, {"x": x, "seed": settings.seed, "log": str(log)}) for x in range(count)]

    return Item("squares", "Squares of | numbers.", instances, report)


def computed(log):
    return sorted(int(line) for line in log.read_text().split()) if log.exists() else []


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_second_run_computes_nothing(tmp_path, n_jobs):
    log = tmp_path / "log"
    first, n_first = run(item(log), SETTINGS, tmp_path, n_jobs)
    second, n_second = run(item(log), SETTINGS, tmp_path, n_jobs)
    assert (n_first, n_second) == (5, 0)
    assert computed(log) == [0, 1, 2, 3, 4]
    assert first.numbers == second.numbers


def test_interruption_keeps_what_is_finished(tmp_path):
    log = tmp_path / "log"
    with pytest.raises(KeyboardInterrupt):
        run(item(log, interrupted), SETTINGS, tmp_path, 1)
    assert computed(log) == [0, 1, 2]
    _, n_computed = run(item(log, interrupted), SETTINGS, tmp_path, 1)
    assert n_computed == 2
    assert computed(log) == [0, 1, 2, 3, 4]  # none of them twice


@pytest.mark.parametrize("harm", ["", "{", '{"record": {}}', "[1]"])
def test_a_broken_file_is_computed_again(tmp_path, harm):
    log = tmp_path / "log"
    run(item(log), SETTINGS, tmp_path, 1)
    store = Store(tmp_path / CACHE, "squares")
    store.path(item(log).instances(SETTINGS)[2]).write_text(harm)
    with pytest.warns(UserWarning, match=r"json is damaged or was edited; what it held is computed again\.$"):
        report, n_computed = run(item(log), SETTINGS, tmp_path, 1)
    assert n_computed == 1
    assert computed(log) == [0, 1, 2, 2, 3, 4]
    assert report.numbers[2]["square"] == 4


def test_results_of_other_code_or_parameters_are_not_used(tmp_path, monkeypatch):
    log = tmp_path / "log"
    run(item(log), SETTINGS, tmp_path, 1)
    assert run(item(log), Settings(seed=2, quick=True), tmp_path, 1)[1] == 5
    monkeypatch.setattr("garrote.paper.store.garrote.__version__", "another")
    assert run(item(log), SETTINGS, tmp_path, 1)[1] == 5
    # A file under the right name that says it belongs to something else is not believed.
    path = Store(tmp_path / CACHE, "squares").path(item(log).instances(SETTINGS)[0])
    kept = sealed.read(path)
    kept["identity"]["parameters"]["x"] = 99
    sealed.write(path, kept)
    assert run(item(log), SETTINGS, tmp_path, 1)[1] == 1


def test_a_warning_is_told_on_the_page_and_not_printed(tmp_path, recwarn):
    report, _ = run(item(tmp_path / "log", warning), SETTINGS, tmp_path, 1)
    assert report.notes == ["5 of 5 instances warned; the first: RuntimeWarning: not quite converged"]
    assert not recwarn.list


def test_every_output_is_written(tmp_path):
    squares = item(tmp_path / "log")
    with styled():
        report, _ = run(squares, SETTINGS, tmp_path, 1)
    write(squares, report, tmp_path)
    write_page([Page(squares, report)], SETTINGS, tmp_path)
    assert (tmp_path / "squares.csv").read_text().splitlines()[:3] == ["x,square", "0,0", "1,1"]
    assert "| squares are not negative | 0 ≥ 0 | holds |" in (tmp_path / "squares.md").read_text()
    assert (tmp_path / "squares.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "squares.svg").read_text()
    page = (tmp_path / "index.html").read_text()
    assert 'src="squares.png"' in page and "1 of 1 checks hold" in page
    assert "![squares](squares.png)" in (tmp_path / "index.md").read_text()


def test_markdown_cells_cannot_break_the_table():
    assert markdown_table(Table(["a"], [["|v|"]])).splitlines()[-1] == "| \\|v\\| |"


@pytest.mark.parametrize(
    ("value", "relation", "bound", "holds"),
    [
        (1, "=", 1, True),
        (1, "<", 1, False),
        (1, "≤", 1, True),
        (2, ">", 1, True),
        (0, "≥", 1, False),
        (float("nan"), "<", 1, False),
    ],
)
def test_a_verdict_follows_from_the_number(value, relation, bound, holds):
    assert Check("claim", value, relation, bound).holds is holds


def test_summary_has_mean_spread_and_count():
    rows = [{"m": "a", "x": 1.0}, {"m": "a", "x": 3.0}, {"m": "b", "x": None}]
    assert summarise(rows, ["m"], ["x"]) == [
        {"m": "a", "n": 2, "x": 2.0, "x sd": pytest.approx(2**0.5)},
        {"m": "b", "n": 1, "x": None, "x sd": None},
    ]


def test_list_names_every_item():
    result = CliRunner().invoke(cli, ["paper", "--list"])
    assert [line.split()[0] for line in result.output.splitlines()] == [*ITEMS, *EXTRA]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Give names, or --all"),
        (["table9"], "'table9' is not one of 'fig-fixed-point'"),
        (["table1", "--seed", "-1"], "--seed"),
        (["table1", "--n-jobs", "0"], "0 processes can do nothing"),
    ],
)
def test_bad_arguments_are_explained(arguments, message):
    result = CliRunner().invoke(cli, ["paper", *arguments])
    assert result.exit_code == 2
    assert message in result.output


def test_ctrl_c_says_how_to_go_on(tmp_path):
    """The whole command, with worker processes, interrupted as a terminal does: every process of the group gets it."""
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, "paper", "fig-noise", "--n-jobs", "2", "--out", tmp_path],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    kept = tmp_path / CACHE / "fig-noise"
    deadline = time.monotonic() + 120
    while not (kept.exists() and len(list(kept.glob("*.json"))) >= 3) and time.monotonic() < deadline:
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "run the same command to go on" in errors
    assert "Traceback" not in errors
