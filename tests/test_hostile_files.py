"""Files that mean harm: read, or refused in one sentence; nothing is run, unpickled, or written elsewhere."""

import csv
import gzip
import io
import json
import os
import pickle
import sys
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
from browser import DESKTOP, browser, visit  # noqa: F401 -- a fixture
from click.testing import CliRunner
from command_line import files
from hostile import FORMATS
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from garrote import VariationalGarrote, sealed
from garrote.commands import cli
from garrote.commands._csv import csv_text
from garrote.model_file import dumps, loads
from garrote.sources import read, tables
from garrote.watch import Checkpoint

#: Seeds that `make fuzz-files` does not try.
SEEDS = range(10**6, 10**6 + 200)


@pytest.mark.parametrize("name", FORMATS)
def test_mutants_are_read_or_refused_in_one_sentence(name, tmp_path):
    kind = FORMATS[name](tmp_path)
    before = files(tmp_path)
    seen = {kind.attempt(seed) for seed in SEEDS}
    assert seen == ({"read", "recomputed"} if name == "checkpoint" else {"read", "refused"})
    assert files(tmp_path) == before  # no name in a file became a path


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MODEL = json.loads(dumps(VariationalGarrote(-1.0).fit(np.eye(4)[:, :2], np.arange(4.0))))


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.sampled_from([key for key in MODEL if key not in ("model", "format")]), JSON, max_size=3))
def test_any_json_under_a_right_checksum_is_a_model_or_refused(changes):
    content = MODEL | changes
    try:
        model = loads(json.dumps(content | {"checksum": sealed.checksum(content)}))
    except ValueError as error:
        assert "\n" not in str(error)
        assert "is not a usable garrote model" in str(error)
    else:
        assert np.isfinite(model.predict(np.zeros((1, 2)))).all()


# ---- memory --------------------------------------------------------------------------------------------------


def refused(match, path, target="-1"):
    """A file is refused in one sentence, with a few megabytes of memory."""
    tracemalloc.start()
    with pytest.raises(ValueError, match=match) as caught:
        read(path, target=target)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert peak < 20e6


def header_of(shape):
    """A header that claims a shape, and a few bytes of data."""
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return out.getvalue() + b"\0" * 80


def test_a_header_that_claims_more_than_the_file_holds_makes_no_room(tmp_path):
    (tmp_path / "a.npy").write_bytes(header_of((10**12, 3)))
    refused("cannot be used as npy", tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("X.npy", header_of((10**8, 3)))
        archive.writestr("y.npy", header_of((10,)))
    refused("'X' claims 2400000000 bytes, but holds 80", tmp_path / "a.npz", "y")


def test_a_small_file_that_unpacks_to_a_large_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "MOST_UNPACKED", 2**20)
    np.savez_compressed(tmp_path / "a.npz", X=np.zeros((2**17, 3)), y=np.zeros(2**17))
    refused("unpacks to more than 100 times its size", tmp_path / "a.npz", "y")
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b"x,y\n" + b"1,1\n" * 2**20)
    refused("unpacks to more than 100 times its size", tmp_path / "a.csv.gz", "y")


def test_lines_that_are_short_do_not_make_a_large_table(tmp_path):
    names = ",".join(f"x{i}" for i in range(5000))
    (tmp_path / "a.csv").write_text(names + ",y\n" + "1\n" * 5000)
    refused("5001 columns, but most of its 5002 lines have far fewer values", tmp_path / "a.csv", "y")


def test_names_that_are_no_text_are_refused(tmp_path):
    for letter in (0x110000, 0xD800):
        names = np.array(["a", "b"]).view(np.uint32)
        names[1] = letter
        np.savez(tmp_path / "a.npz", X=np.zeros((3, 2)), y=np.zeros(3), feature_names=names.view("U1"))
        refused("feature_names holds what is no text", tmp_path / "a.npz", "y")


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_a_sparse_matrix_whose_indices_lead_elsewhere_is_refused(kind, tmp_path):
    X = sparse.random_array((8, 4), density=0.5, format=kind, random_state=np.random.default_rng(0))
    for index in (10**6, -(10**6)):
        X.indices[3] = index
        sparse.save_npz(tmp_path / "a.npz", X)
        refused("cannot be used as npz", tmp_path / "a.npz")


def test_a_sparse_matrix_that_claims_a_shape_is_refused(tmp_path):
    sparse.save_npz(tmp_path / "a.npz", sparse.csr_array(([1.0], [0], [0, 1]), shape=(1, 10**12)))
    refused("its entries allow for at most 20,000,001", tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (json.dumps(MODEL | {"n_features": 10**8}), "checksum"),
        ('{"a": 1, "a": 2}', "not a garrote model"),
        ('{"model": ' * 100_000, "not a garrote model"),
        ('{"model": "garrote", "a": ' + "[" * 900 + "]" * 900 + "}", "checksum|not a garrote model"),
        ('{"model": "garrote", "a": ' + "9" * 5000 + "}", "not a garrote model"),
        ('{"model": "garrote", "a": Infinity}', "not a garrote model"),
    ],
)
def test_a_model_that_is_a_trap_is_refused(text, match):
    with pytest.raises(ValueError, match=match) as caught:
        loads(text)
    assert len(str(caught.value)) < 200


def test_a_model_claims_features_without_names_only_within_reason():
    tracemalloc.start()
    content = MODEL | {"n_features": 10**8}
    with pytest.raises(ValueError, match="n_features is 100000000"):
        loads(json.dumps(content | {"checksum": sealed.checksum(content)}))
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


# ---- nothing is unpickled ------------------------------------------------------------------------------------


class Bomb:
    """Makes a file when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.mkdir, (str(self.file),)


def test_nothing_is_unpickled(tmp_path):
    traces = tmp_path / "traces"
    bomb = np.array([[Bomb(traces), Bomb(traces)]], dtype=object)
    np.save(tmp_path / "a.npy", bomb)
    np.savez(tmp_path / "b.npz", X=bomb, y=np.zeros(1))
    np.savez(tmp_path / "c.npz", X=np.zeros((1, 2)), y=bomb[0])
    np.savez(tmp_path / "d.npz", X=np.zeros((1, 2)), y=np.zeros(1), feature_names=bomb[0])
    np.savez(tmp_path / "e.npz", format=b"csr", shape=bomb, data=bomb, indices=bomb, indptr=bomb)
    for name in ("b.pickle.npz", "f.npy", "g.csv"):
        (tmp_path / name).write_bytes(pickle.dumps(Bomb(traces)))
    for file in sorted(tmp_path.iterdir()):
        with pytest.raises(ValueError, match=file.name):
            read(file, target="y" if file.suffix == ".npz" else "-1")
    with pytest.raises(ValueError, match="not a garrote model"):
        loads(pickle.dumps(Bomb(traces)))
    (tmp_path / "a.json").write_bytes(pickle.dumps(Bomb(traces)))
    with pytest.warns(UserWarning, match="damaged"):
        assert Checkpoint(tmp_path).recall("a") is None
    assert not traces.exists()
    pickle.loads(pickle.dumps(Bomb(traces)))  # it would have shown
    assert traces.exists()


# ---- what is written -----------------------------------------------------------------------------------------

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "a;=1+1",
    'a";=1',
    "a\t=1",
    "a,=1",
    "=1\n=1",
    "a",
]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_no_cell_is_a_formula_whatever_delimiter_a_spreadsheet_takes(delimiter):
    text = csv_text(["name", *FORMULAS], [(name, -1.5, -2, float("nan")) for name in FORMULAS])
    cells = [cell for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r", "\n"))]
    assert all(cell[1:2].isdigit() for cell in cells if cell.startswith("-"))  # numbers stay numbers
    if delimiter == ",":
        assert cells.count("-1.5") == cells.count("-2") == len(FORMULAS)
        assert [cell for cell in cells if cell.lstrip("'") in FORMULAS][: len(FORMULAS)]


NAMES = [
    "<script>window.hacked = 1</script>",
    "</script><script>window.hacked = 1</script>",
    '"><img src=x onerror="window.hacked = 1">',
    "javascript:window.hacked=1",
    "<!--<script>",
    "=cmd|' /C calc'!A0",
    "{{ 7 * 7 }}",
    "%{x}<b>&amp;",
]


def test_names_are_inert_in_everything_that_a_fit_writes(browser, tmp_path, monkeypatch):  # noqa: F811
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, len(NAMES)))
    table = pd.DataFrame(X, columns=NAMES).assign(y=X @ np.linspace(2, 3, len(NAMES)) + rng.standard_normal(60))
    table.to_csv(tmp_path / "data.csv", index=False)
    out = tmp_path / "<script>window.hacked = 1<" / "script>"
    monkeypatch.setattr(sys, "argv", ["garrote", "fit", "</code></script><script>window.hacked = 1</script>"])
    result = CliRunner().invoke(
        cli, ["fit", str(tmp_path / "data.csv"), "--target", "y", "--folds", "2", "--out", str(out)]
    )
    assert result.exit_code == 0, result.output
    with visit(browser, out / "report.html", width=DESKTOP) as seen:
        seen.page.wait_for_selector(".main-svg")
        cells = seen.page.eval_on_selector_all("#selected tbody td:first-child", "cells => cells.map(c => c.innerText)")
        assert set(cells) == set(NAMES)
        assert seen.page.evaluate("window.hacked === undefined")
        assert seen.page.evaluate("document.querySelectorAll('[onerror], a[href^=javascript]').length") == 0
        assert not seen.errors
        assert not seen.network_requests
        # and if something did get in, the policy would stop it
        seen.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked = 1\">')")
        seen.page.evaluate(
            "s = document.createElement('script'); s.text = 'window.hacked = 1'; document.body.append(s)"
        )
        seen.page.wait_for_timeout(100)
        assert seen.page.evaluate("window.hacked === undefined")
        assert seen.errors
    for name in ("coefficients.csv", "path.csv"):
        cells = [cell for row in csv.reader((out / name).open(newline="")) for cell in row]
        assert not [cell for cell in cells if cell.startswith(("=", "+", "@"))]
