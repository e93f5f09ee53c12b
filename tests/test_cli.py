"""Every command does what its help says, in a process of its own."""

import csv
import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import files, garrote
from numpy.testing import assert_allclose

from garrote import VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.commands import COMMANDS
from garrote.model_file import load
from garrote.summary import rounded


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with data.csv: ten features, of which b and e make y; and a fit of it in results/data."""
    folder = tmp_path_factory.mktemp("cli")
    frame(seed=1).to_csv(folder / "data.csv", index=False)
    frame(seed=2).to_csv(folder / "held_out.csv", index=False)
    return folder


def frame(seed):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.standard_normal((60, 10)), columns=list("abcdefghij"))
    return X.assign(y=2.0 * X["b"] - X["e"] + 0.5 * rng.standard_normal(60))


@pytest.fixture(scope="module")
def fitted(folder):
    return garrote("fit", "data.csv", "--target", "y", folder=folder)


def table_of(file):
    """A CSV file with every digit of its numbers."""
    return pd.read_csv(file, dtype=str).map(lambda cell: float(cell) if is_number(cell) else cell)


def inputs(frame):
    return frame.drop(columns="y"), frame["y"].to_numpy()


# ---- help ---------------------------------------------------------------------------------------------------


def test_help_lists_every_command(folder):
    shown = garrote("--help", folder=folder)
    assert shown.returncode == 0
    assert all(re.search(rf"^  {name} ", shown.stdout, flags=re.MULTILINE) for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_an_example(name, folder):
    shown = garrote(name, "--help", folder=folder)
    assert shown.returncode == 0
    assert re.search(rf"Examples?:\s+garrote {name} ", shown.stdout)


# ---- fit ----------------------------------------------------------------------------------------------------


def test_fit_writes_its_four_files_and_shows_the_summary(fitted, folder):
    assert fitted.returncode == 0, fitted.stderr
    found = files(folder / "results" / "data")
    assert found == {"model.json", "coefficients.csv", "path.csv", "report.html"}
    assert "written to results/data" in fitted.stderr
    lines = fitted.stdout.splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("feature"))
    assert [line.split()[0] for line in lines[start + 2 : -1]] == ["b", "e"]


def test_coefficients_are_those_of_the_model(fitted, folder):
    model = load(folder / "results" / "data")
    table = table_of(folder / "results" / "data" / "coefficients.csv").set_index("feature")
    assert list(table.index[:2]) == ["b", "e"]
    for column, values in (("coefficient", model.coef_), ("inclusion", model.inclusion_)):
        assert (table[column] == pd.Series(values, index=list("abcdefghij"))[table.index]).all()


def test_path_has_a_row_for_each_gamma_with_validation_errors(fitted, folder):
    table = table_of(folder / "results" / "data" / "path.csv")
    model = load(folder / "results" / "data")
    row = table[table["gamma"] == model.gamma_].iloc[0]
    assert row["coefficient:b"] == model.coef_[1]
    assert row["inclusion:e"] == model.inclusion_[4]
    assert row["validation_error"] == model.provenance_["validation"]["error"]


def test_fit_at_a_given_gamma_as_json(folder):
    run = garrote("fit", "data.csv", "--target", "y", "--gamma", "-8", "--out", "given", "--json", folder=folder)
    shown = json.loads(run.stdout)
    model = VariationalGarrote(-8.0).fit(*inputs(frame(seed=1)))
    assert shown["gamma"] == -8.0
    assert shown["validation"] is None
    assert [entry["feature"] for entry in shown["selected"]] == ["b", "e"]
    assert_allclose(shown["selected"][0]["coefficient"], model.coef_[1], rtol=1e-9)


def test_fit_with_a_validation_file_is_the_papers_protocol(folder):
    run = garrote(
        "fit", "data.csv", "--target", "y", "--validation", "held_out.csv", "--json", "--out", "v", folder=folder
    )
    X, y = inputs(pd.concat([frame(seed=1), frame(seed=2)], ignore_index=True))
    model = VariationalGarroteCV(cv=[(np.arange(60), np.arange(60, 120))], refit=False).fit(X, y)
    shown = json.loads(run.stdout)
    assert shown["n_samples"] == 60
    assert_allclose(shown["gamma"], model.gamma_, rtol=1e-9)
    assert_allclose(shown["validation"]["error"], model.mse_path_[model.ridges_ == model.ridge_].min(), rtol=0.05)


def test_jobs_and_quiet_change_nothing_but_what_is_shown(fitted, folder):
    run = garrote("fit", "data.csv", "--target", "y", "--n-jobs", 2, "--quiet", "--out", "quiet", folder=folder)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    both = [load(folder / place) for place in ("quiet", "results/data")]
    assert both[0].gamma_ == both[1].gamma_
    assert_allclose(both[0].coef_, both[1].coef_, rtol=1e-9)


def test_seed_shuffles_the_folds(fitted, folder):
    assert (
        garrote("fit", "data.csv", "--target", "y", "--seed", 5, "--out", "seed", "--quiet", folder=folder).returncode
        == 0
    )
    errors = [load(folder / place).provenance_["validation"]["error"] for place in ("seed", "results/data")]
    assert errors[0] != errors[1]
    assert load(folder / "seed").provenance_["seed"] == 5


def test_feature_names_cannot_become_formulas_and_other_files_stay(folder):
    names = {"b": '=HYPERLINK("x")', "e": "-e", "a": "@a", "c": "+c"}
    frame(seed=1).rename(columns=names).to_csv(folder / "odd.csv", index=False)
    (folder / "odd").mkdir()
    (folder / "odd" / "notes.txt").write_text("mine")
    assert garrote("fit", "odd.csv", "--target", "y", "--gamma", -8, "--out", "odd", folder=folder).returncode == 0
    for name in ("coefficients.csv", "path.csv"):
        with (folder / "odd" / name).open(newline="") as file:
            cells = [cell for row in csv.reader(file) for cell in row]
        texts = [cell for cell in cells if not is_number(cell)]
        assert any('HYPERLINK("x")' in cell for cell in texts)
        assert not [cell for cell in texts if cell.startswith(("=", "+", "-", "@"))]
    assert load(folder / "odd").feature_names_in_[1] == '=HYPERLINK("x")'
    assert (folder / "odd" / "notes.txt").read_text() == "mine"


def is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


# ---- the others ---------------------------------------------------------------------------------------------


def test_predict_prints_what_the_model_predicts(fitted, folder):
    run = garrote("predict", "results/data", "held_out.csv", "--std", folder=folder)
    rows = np.array([[float(cell) for cell in line.split(",")] for line in run.stdout.splitlines()[1:]])
    mean, std = load(folder / "results" / "data").predict(inputs(frame(seed=2))[0], return_std=True)
    assert run.stdout.splitlines()[0] == "prediction,std"
    # the alignment of memory may change the last bit
    assert_allclose(rows, np.column_stack([mean, std]), rtol=1e-14, atol=1e-14)


def test_predict_finds_columns_by_name(fitted, folder):
    frame(seed=2)[list("jihgfedcba")].to_csv(folder / "reversed.csv", index=False)
    straight, other = (
        garrote("predict", "results/data/model.json", name, "--out", "out.csv", "--json", folder=folder)
        for name in ("held_out.csv", "reversed.csv")
    )
    assert json.loads(straight.stdout) == json.loads(other.stdout)
    assert len(pd.read_csv(folder / "out.csv")) == 60


def test_info_shows_how_a_model_was_made(fitted, folder):
    shown = garrote("info", "results/data", folder=folder)
    assert "garrote fit data.csv --target y" in shown.stdout
    known = json.loads(garrote("info", "results/data/model.json", "--json", folder=folder).stdout)
    assert known["target"] == "y"
    assert {entry["feature"] for entry in known["selected"]} == {"b", "e"}


def test_path_writes_a_table_and_a_picture(folder):
    run = garrote("path", "data.csv", "--target", "y", "--json", folder=folder)
    assert files(folder / "results" / "data-path") == {"path.csv", "path.png"}
    path = garrote_path(*inputs(frame(seed=1)))
    shown = json.loads(run.stdout)
    assert_allclose(shown["gammas"], path.gammas)
    assert shown["selected"][-1] == [list("abcdefghij")[i] for i in path[-1].selected]
    assert (folder / "results" / "data-path" / "path.png").read_bytes().startswith(b"\x89PNG")


def test_compare_has_a_row_for_each_method(folder):
    shown = garrote("compare", "data.csv", "--target", "y", "--folds", 3, folder=folder).stdout
    assert all(word in shown for word in ("squared error", "stability", "±", "3 folds"))
    table = pd.read_csv(folder / "results" / "data-compare" / "compare.csv").set_index("method")
    assert list(table.index) == ["VG", "Lasso", "ridge", "elastic net", "PMF", "OMP"]
    assert table.loc["ridge", "selected"] == 10
    assert np.isnan(table.loc["ridge", "stability"])
    assert f"{rounded(table.loc['OMP', 'error'], 4)} ±" in shown
    assert files(folder / "results" / "data-compare") == {"compare.csv"}


def test_bench_runs_the_benchmark_of_the_checkout(folder):
    run = garrote("bench", "--problems", "100x100", "--methods", "VG", "--out", "bench", folder=folder)
    assert run.returncode == 0, run.stderr
    assert "| VG " in run.stdout
    assert {"table.csv", "table.md"} <= files(folder / "bench")
