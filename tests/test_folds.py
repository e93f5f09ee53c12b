"""Folds share the work on very many rows: X is read once for all, and the answers are those of separate folds."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.model_selection import KFold, RepeatedKFold, ShuffleSplit

from garrote import VariationalGarroteCV
from garrote.design import DenseDesign
from garrote.problem import Samples
from garrote.sources import reduction
from garrote.units import Units


@pytest.fixture
def tall():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 12)) + np.linspace(-20.0, 20.0, 12)
    X[:, 7] = 4.0  # constant
    X[np.abs(X) < 1.0] = 0.0
    return X, X[:, :3].sum(axis=1) + rng.normal(size=len(X)), rng.integers(0, 4, size=len(X)).astype(float)


def fit_apart(monkeypatch, *args, cv=5, **kwargs):
    with monkeypatch.context() as context:
        context.setattr(reduction, "FEWER", np.inf)
        return VariationalGarroteCV(20, cv=cv).fit(*args, **kwargs)


@pytest.mark.parametrize(
    ("store", "rtol"),
    [
        (np.asarray, 1e-9),
        (np.asfortranarray, 1e-9),
        (sparse.csr_array, 1e-9),
        (lambda X: X.astype(np.float32), 1e-6),  # separate folds multiply float32 by float32
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_those_of_separate_folds(tall, store, rtol, weighted, monkeypatch):
    X, y, weights = tall
    X, weights = store(X), weights if weighted else None
    together = VariationalGarroteCV(20).fit(X, y, weights)
    apart = fit_apart(monkeypatch, X, y, weights)
    assert_allclose(together.mse_path_, apart.mse_path_, rtol=1e-7)
    assert_allclose(together.gammas_, apart.gammas_, rtol=rtol)
    assert_allclose(together.coef_, apart.coef_, rtol=1e-6, atol=1e-9)
    assert_allclose(together.intercept_, apart.intercept_, rtol=1e-6)


def test_covariates_are_projected_in_every_fold(tall, monkeypatch):
    X, y, _ = tall
    together = VariationalGarroteCV(20).fit(X, y, unpenalized=[0, 5])
    apart = fit_apart(monkeypatch, X, y, unpenalized=[0, 5])
    assert_allclose(together.mse_path_, apart.mse_path_, rtol=1e-7)
    assert_allclose(together.coef_, apart.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sparse.csc_array])
@pytest.mark.parametrize("cv", [KFold(3, shuffle=True, random_state=0), ShuffleSplit(4, test_size=0.4, random_state=0)])
def test_rows_of_a_group_may_lie_apart(tall, store, cv, monkeypatch):
    X, y, weights = tall
    weights[:200] = 0.0
    monkeypatch.setattr(reduction, "SLAB_ELEMENTS", 100)
    together, apart = (
        VariationalGarroteCV(20, cv=cv).fit(store(X), y, weights),
        fit_apart(monkeypatch, X, y, weights, cv=cv),
    )
    assert_allclose(together.mse_path_, apart.mse_path_, rtol=1e-7)
    assert_allclose(together.coef_, apart.coef_, rtol=1e-6, atol=1e-9)


def test_rows_whose_products_lose_digits_are_reflected(tall, monkeypatch):
    X, y, weights = tall
    X[:, 4] = X[:, 0] + 1e-3 * X[:, 5]
    y = y + 1e3 * (X[:, 4] - X[:, 0])  # what only a difference of columns explains
    groups, reflect = [], reduction.triangle_of_rows
    monkeypatch.setattr(reduction, "triangle_of_rows", lambda *args: groups.append(1) or reflect(*args))
    together = VariationalGarroteCV(20).fit(X, y, weights)
    assert len(groups) == 5
    apart = fit_apart(monkeypatch, X, y, weights)
    assert_allclose(together.mse_path_, apart.mse_path_, rtol=1e-6)
    assert_allclose(together.predict(X), apart.predict(X), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("cv", [5, KFold(10)])
def test_rows_are_read_once_whatever_the_number_of_folds(tall, cv, monkeypatch):
    X, y, _ = tall
    X = np.tile(X, (4, 1))
    read, columns = [], DenseDesign.columns

    def counting(self, features):
        if self.shape[0] > 4 * X.shape[1]:
            read.append(self.shape[0] * len(features))
        return columns(self, features)

    monkeypatch.setattr(DenseDesign, "columns", counting)
    monkeypatch.setattr("garrote.problem.Samples.block", lambda *_, **__: pytest.fail("read enough"))
    with pytest.raises(pytest.fail.Exception):
        VariationalGarroteCV(20, cv=cv).fit(X, np.tile(y, 4))
    assert sum(read) == X.size


def test_so_many_splits_that_nothing_is_shared_are_left_alone(tall):
    X, y, _ = tall
    splits = list(RepeatedKFold(n_splits=5, n_repeats=20, random_state=0).split(X))
    assert reduction.condense(DenseDesign(X), y, None, splits)[3] is splits


def test_negative_weights_are_still_refused(tall):
    X, y, weights = tall
    with pytest.raises(ValueError, match="weight"):
        VariationalGarroteCV().fit(X, y, -weights)


def test_overflow_is_still_refused(tall):
    X, y, _ = tall
    X[3, 2] = 1e300
    with pytest.raises(ValueError, match="overflow"):
        VariationalGarroteCV().fit(X, y)


def test_the_kept_block_is_that_of_the_features_in_their_order_and_units(tall):
    X, y, _ = tall
    samples = Samples(X, y)
    whole = samples.block(samples.varying)
    assert_allclose(samples.block(samples.varying[::-1]).gram, whole.gram[::-1, ::-1], rtol=1e-9, atol=1e-12)
    scaled = samples.in_units(Units(np.full(X.shape[1], 4.0), 2.0))
    assert_allclose(scaled.block(samples.varying).gram, whole.gram / 16.0, rtol=1e-9, atol=1e-12)
