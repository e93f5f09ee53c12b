"""The comparison of methods: same folds for all, and a measure of stability that is what it says."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LassoCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from garrote import compare as module
from garrote.compare import compare, dense, nogueira_stability
from garrote.datasets import sparse_regression
from garrote.design import as_design
from garrote.watch import Checkpoint


@pytest.fixture(scope="module")
def data():
    X, y, _ = sparse_regression(50, 6, 2, rng=np.random.default_rng(0))
    return X, y


def test_equal_selections_are_stable_and_random_ones_are_not():
    assert nogueira_stability([[1, 0, 1, 0]] * 4) == pytest.approx(1.0)
    random = np.random.default_rng(0).random((200, 500)) < 0.1
    assert nogueira_stability(random) == pytest.approx(0.0, abs=0.01)


def test_two_selections_that_share_nothing():
    # share = 1/2, every feature has variance 1/2 over the two rows: 1 − (1/2)/(1/4) = −1
    assert nogueira_stability([[1, 0], [0, 1]]) == pytest.approx(-1.0)


def test_nothing_to_choose_has_no_stability():
    assert np.isnan(nogueira_stability(np.ones((3, 4))))
    assert np.isnan(nogueira_stability(np.zeros((3, 4))))


def test_the_lasso_is_fitted_as_scikit_learn_would_on_the_same_folds(data):
    X, y = data
    (result,) = compare(X, y, folds=3, seed=7, methods=["Lasso"])
    inner = KFold(5, shuffle=True, random_state=7)
    for fold, (train, test) in zip(result.folds, KFold(3, shuffle=True, random_state=7).split(X), strict=True):
        model = make_pipeline(StandardScaler(), LassoCV(cv=inner, max_iter=10_000)).fit(X[train], y[train])
        assert fold.error == pytest.approx(np.mean((y[test] - model.predict(X[test])) ** 2))
        assert fold.selected == np.flatnonzero(model[-1].coef_).tolist()
    errors = [fold.error for fold in result.folds]
    assert result.error == pytest.approx(np.mean(errors))
    assert result.standard_error == pytest.approx(np.std(errors, ddof=1) / np.sqrt(3))


def test_finished_fits_are_not_repeated(data, tmp_path):
    kept = Checkpoint(tmp_path)
    first = compare(*data, folds=2, methods=["ridge", "OMP"], checkpoint=kept)
    assert len(list(tmp_path.iterdir())) == 4
    assert compare(*data, folds=2, methods=["ridge", "OMP"], checkpoint=kept) == first  # the seconds too
    other = compare(data[0] + 1e-3, data[1], folds=2, methods=["ridge"], checkpoint=kept)
    assert other[0].folds[0].seconds != first[0].folds[0].seconds
    kept.clear()
    assert not tmp_path.exists()


def test_damaged_results_of_an_earlier_run_are_ignored(tmp_path):
    kept = Checkpoint(tmp_path)
    kept.keep("a", [1.0, float("nan")])
    assert kept.recall("a")[0] == 1.0
    (tmp_path / "a.json").write_text("[1.0,")
    with pytest.warns(UserWarning, match=r"a\.json is damaged or was edited"):
        assert kept.recall("a") is None
    assert Checkpoint(tmp_path / "absent").recall("a") is None


def test_any_storage_can_be_compared(data, monkeypatch):
    X, _ = data
    for storage in (sparse.csr_array(X), as_design(X), X.astype(np.float32)):
        assert np.allclose(dense(storage), X, atol=1e-6)
    monkeypatch.setattr(module, "MOST_NUMBERS", 299)
    with pytest.raises(ValueError, match="50 × 6 numbers"):
        dense(X)
