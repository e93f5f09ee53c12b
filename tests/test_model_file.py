"""``model.json`` gives the same model back, to the last bit, and refuses what it cannot trust."""

import json

import numpy as np
import pandas as pd
import polars
import pytest
from scipy import sparse

import garrote
from garrote import VariationalGarrote, VariationalGarroteCV
from garrote.datasets import sparse_regression
from garrote.model_file import FORMAT, dumps, load, loads, save
from garrote.sealed import checksum

NAMES = ["α", "b", 'with "quotes"', "d\n", "=e", "f", "g", "h"]


@pytest.fixture(scope="module")
def data():
    X, y, _ = sparse_regression(50, 8, 3, zeta=0.5, rng=np.random.default_rng(3))
    return pd.DataFrame(X + 7.0, columns=NAMES), y


@pytest.fixture(scope="module")
def model(data):
    return VariationalGarroteCV(20, cv=3).fit(*data)


@pytest.fixture(scope="module")
def text(model):
    return dumps(model, target="y", command="garrote fit", seed=4)


def changed(text, **entries):
    """The text with other entries and the checksum that belongs to them."""
    content = json.loads(text) | entries
    return json.dumps(content | {"checksum": checksum(content)})


# ---- there and back ------------------------------------------------------------------------------------------


def test_every_number_comes_back(model, text):
    back = loads(text)
    for name in ("coef_", "inclusion_", "slab_coef_"):
        assert (getattr(back, name) == getattr(model, name)).all()
    for name in ("gamma_", "ridge_", "beta_", "intercept_", "free_energy_", "n_samples_", "n_features_in_"):
        assert getattr(back, name) == getattr(model, name)
    assert list(back.feature_names_in_) == NAMES
    assert dumps(back) == text


def test_predictions_are_the_same_to_the_last_bit(model, text, data):
    ours, theirs = (fit.predict(data[0], return_std=True) for fit in (model, loads(text)))
    assert (ours[0] == theirs[0]).all()
    assert (ours[1] == theirs[1]).all()


def test_the_summary_is_the_same(model, text):
    assert str(loads(text).summary()) == str(model.summary())
    assert "Variational Garrote" in loads(text)._repr_html_()


def test_prior_log_odds_leave_every_inclusion_as_it_was(data):
    model = VariationalGarrote(-9.0, prior_log_odds=np.linspace(-2, 2, 8)).fit(*data)
    assert (loads(dumps(model)).inclusion_ == model.inclusion_).all()


def test_a_wide_model_lists_only_what_it_looked_at():
    X, y, _ = sparse_regression(60, 2000, 3, sigma=0.3, rng=np.random.default_rng(0))
    model = VariationalGarrote(-14.0).fit(X, y)
    text = dumps(model)
    back = loads(text)
    assert (back.inclusion_ == model.inclusion_).all()
    assert len(json.loads(text)["coefficients"]) < 200
    assert (back.predict(X) == model.predict(X)).all()


def test_a_folder_means_the_model_in_it(model, data, tmp_path):
    save(model, tmp_path / "model.json")
    assert (load(tmp_path).coef_ == load(tmp_path / "model.json").coef_).all()


# ---- columns -------------------------------------------------------------------------------------------------


def test_columns_are_found_by_name(model, text, data):
    X = data[0][NAMES[::-1]].assign(another=1.0)
    assert (loads(text).predict(X) == model.predict(data[0])).all()
    assert (loads(text).predict(polars.from_pandas(X)) == model.predict(data[0])).all()


def test_only_columns_with_a_coefficient_are_needed():
    X, y, _ = sparse_regression(60, 800, 2, sigma=0.1, rng=np.random.default_rng(1))
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(800)])
    model = VariationalGarrote(-14.0).fit(frame, y)
    back = loads(dumps(model))
    unused = np.flatnonzero(model.coef_ == 0)[:50]
    assert (back.predict(frame.drop(columns=[f"x{i}" for i in unused])) == model.predict(frame)).all()
    with pytest.raises(ValueError, match=f"no column '{back.used_names()[0]}'"):
        back.predict(frame.drop(columns=back.used_names()[0]))


def test_arrays_need_the_right_number_of_columns(model, text, data):
    X = data[0].to_numpy()
    assert (loads(text).predict(X) == model.predict(data[0])).all()
    assert np.allclose(loads(text).predict(sparse.csr_array(X)), model.predict(data[0]))
    with pytest.raises(ValueError, match="X has 7 columns, but the model was fitted to 8"):
        loads(text).predict(X[:, :7])


# ---- what is refused -----------------------------------------------------------------------------------------


def test_a_newer_format_is_refused(text):
    with pytest.raises(ValueError, match=f"format {FORMAT + 1}, which is newer .* garrote {garrote.__version__}"):
        loads(changed(text, format=FORMAT + 1, anything="else"))


def test_an_edited_file_is_refused(text):
    with pytest.raises(ValueError, match="checksum"):
        loads(text.replace('"seed": 4', '"seed": 5'))


@pytest.mark.parametrize(
    "damaged",
    ["", "{", "[]", "null", '"garrote"', '{"model": "other"}', "\x80", "[" * 100_000, '{"a": NaN}', "9" * 10_000],
)
def test_what_is_no_model_is_refused(damaged):
    with pytest.raises(ValueError, match="not a garrote model") as error:
        loads(damaged)
    assert len(str(error.value)) < 200


@pytest.mark.parametrize(
    ("entry", "value"),
    [
        ("gamma", "−3"),
        ("gamma", None),
        ("beta", 0.0),
        ("beta", True),
        ("beta", 10**400),
        ("ridge", -1.0),
        ("n_features", 10**12),
        ("n_features", 7),
        ("n_features", 8.0),
        ("features", ["a"]),
        ("features", 3),
        ("seed", "x"),
        ("covariates", "x"),
        ("validation", {"error": 1.0}),
        ("coefficients", {}),
        ("coefficients", [1]),
        ("coefficients", [{"index": 8}]),
        ("coefficients", [{"index": -1}]),
        ("coefficients", [{"index": 0, "coefficient": 1.0, "inclusion": 2.0, "slab": 1.0, "mean": 0.0}]),
        ("coefficients", [{"index": 0, "coefficient": 1.0, "inclusion": 1.0, "slab": 1.0}]),
        ("coefficients", [{"index": 0, "coefficient": 1.0, "inclusion": 1.0, "slab": 1.0, "mean": 0.0}] * 2),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(text, entry, value):
    with pytest.raises(ValueError, match="not a usable garrote model") as error:
        loads(changed(text, **{entry: value}))
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("entry", ["gamma", "beta", "coefficients", "features", "n_samples", "version"])
def test_a_missing_entry_is_refused(text, entry):
    content = {key: value for key, value in json.loads(text).items() if key not in (entry, "checksum")}
    with pytest.raises(ValueError, match=f"'{entry}' is missing"):
        loads(json.dumps(content | {"checksum": checksum(content)}))
