"""What fits, paths and solutions show of themselves, in print and in notebooks."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel

from garrote import VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.datasets import sparse_regression
from garrote.summary import rounded


@pytest.fixture(scope="module")
def data():
    X, y, _ = sparse_regression(80, 12, 3, rng=np.random.default_rng(0))
    return pd.DataFrame(X, columns=[f"gene {i}" for i in range(11)] + ["<script>alert(1)</script>"]), y


@pytest.fixture(scope="module")
def model(data):
    return VariationalGarroteCV(20, cv=4).fit(*data)


def fact(text, name):
    """The value that stands beside a name."""
    return re.search(rf"{re.escape(name)}:\s+(\S+( ± \S+)?)", text)[1]


def test_summary_says_what_the_model_is(model):
    text = str(model.summary())
    assert fact(text, "Samples") == "80"
    assert fact(text, "Features") == "12"
    assert float(fact(text, "gamma (log prior odds)")) == pytest.approx(model.gamma_, rel=1e-3)
    assert float(fact(text, "Noise standard deviation")) == pytest.approx(model.beta_**-0.5, rel=1e-4)
    best = model.mse_path_[model.ridges_ == model.ridge_][0][model.gammas_ == model.gamma_][0]
    shown = fact(text, "Squared error (4 folds)").split(" ± ")
    assert float(shown[0]) == pytest.approx(best.mean(), rel=1e-4)
    assert float(shown[1]) == pytest.approx(best.std(ddof=1) / 2, rel=0.06)


def test_summary_lists_the_selected_features_by_name(model):
    text = str(model.summary())
    for name, inclusion, coefficient in zip(model.feature_names_in_, model.inclusion_, model.coef_, strict=True):
        row = re.search(rf"^{re.escape(name)}\s+(\S+)\s+(\S+)", text, flags=re.MULTILINE)
        assert (row is not None) == (inclusion > 0.5)
        if row:
            assert float(row[2]) == pytest.approx(coefficient, rel=1e-4)


def test_variance_explained_is_that_of_least_squares_on_strong_features():
    X, y = load_diabetes(return_X_y=True)
    model = VariationalGarrote(20.0).fit(X, y)  # everything is in
    residual = y - np.column_stack([np.ones(len(y)), X]) @ np.linalg.lstsq(np.column_stack([np.ones(len(y)), X]), y)[0]
    r2 = 1.0 - residual.var() / y.var()
    assert float(fact(str(model.summary()), "Variance explained")) == pytest.approx(r2, abs=1e-3)


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [(132.4, 2, "130"), (2972.34, 5, "2972.3"), (29723.4, 5, "29723"), (0.03712, 2, "0.037"), (1.5e9, 2, "1.5e+09")],
)
def test_numbers_are_rounded_without_needless_exponents(value, digits, text):
    assert rounded(value, digits) == text


def test_unnamed_features_have_scikit_learns_names(data):
    model = VariationalGarrote(-5.0).fit(data[0].to_numpy(), data[1])
    expected = [f"x{i}" for i in np.flatnonzero(model.inclusion_ > 0.5)]
    assert list(model.get_feature_names_out()) == expected
    assert all(re.search(rf"^{name} ", str(model.summary()), flags=re.MULTILINE) for name in expected)


def test_a_long_list_is_cut_and_counted():
    X, y, _ = sparse_regression(300, 60, 60, sigma=0.1, rng=np.random.default_rng(0))
    model = VariationalGarrote(-3.0).fit(X, y)
    assert str(model.summary()).endswith("and 20 more selected features")


def test_html_is_escaped_and_shows_the_table(model, data):
    html = model._repr_html_()
    assert "Variational Garrote" in html
    assert "<script>alert" not in html
    assert "Noise standard deviation" in model._repr_mimebundle_()["text/html"]
    assert "VariationalGarroteCV" in model._repr_mimebundle_()["text/plain"]
    always = VariationalGarrote(20.0).fit(*data)
    assert "&lt;script&gt;alert" in always._repr_html_()
    assert "<script>alert" not in always._repr_html_()


def test_an_unfitted_estimator_shows_scikit_learns_diagram():
    html = VariationalGarroteCV()._repr_html_()
    assert "sk-container" in html
    assert "Noise standard deviation" not in html
    with pytest.raises(NotFittedError, match="not fitted"):
        VariationalGarroteCV().summary()


def test_a_path_and_its_solutions_show_themselves(data):
    path = garrote_path(*data)
    text = str(path.summary())
    assert float(fact(text, "γ from")) == pytest.approx(path.gammas[0], rel=1e-3)
    assert f"{len(path[-1].selected)}" in text.splitlines()[-2 if not path.stopped else -3].split()
    assert "<table" in path._repr_html_()
    solution = path[len(path) // 2]
    shown = str(solution.summary(list(data[0].columns)))
    assert all(data[0].columns[i] in shown for i in solution.selected)
    assert "<table" in solution._repr_html_()


def test_selection_through_select_from_model_keeps_names(data, model):
    select = SelectFromModel(VariationalGarroteCV(20, cv=4), threshold=0.5, importance_getter="inclusion_")
    chosen = select.set_output(transform="pandas").fit_transform(*data)
    assert isinstance(chosen, pd.DataFrame)
    assert list(chosen.columns) == list(model.get_feature_names_out())
    assert list(select.get_feature_names_out()) == list(chosen.columns)
    pd.testing.assert_frame_equal(chosen, data[0][chosen.columns])
