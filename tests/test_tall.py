"""Tall matrices become square ones with the same products, by the quick way only where it loses nothing."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from garrote import garrote_path, problem, tall, threads
from garrote.design import DenseDesign
from garrote.problem import Samples
from garrote.slabs import row_slabs


@pytest.fixture
def rows():
    """Columns of different scales, of which the last depends on the others."""
    rng = np.random.default_rng(5)
    A = rng.standard_normal((500, 8)) * 10.0 ** np.arange(-4, 4)
    A[:, 7] += A[:, :3] @ [1e4, -1e3, 1e2]
    return A


def by_rows(A):
    return tall.triangle_of_rows(lambda slab: A[slab], row_slabs(*A.shape))


def assert_same_products(root, A):
    assert_array_equal(root, np.triu(root))
    scale = np.linalg.norm(A, axis=0)
    scale[scale == 0.0] = 1.0
    assert_allclose(root.T @ root / scale / scale[:, None], A.T @ A / scale / scale[:, None], atol=1e-13)


@pytest.mark.parametrize("zeros", [[], [2, 5]])
def test_products_suffice_for_well_conditioned_columns_of_any_scale(rows, zeros):
    rows[:, zeros] = 0.0
    root = tall.triangle_of_products(np.triu(rows.T @ rows))
    assert_array_equal(root[:, zeros], 0.0)
    assert_same_products(root, rows)


@pytest.mark.parametrize("left", [1e-3, 1e-7, 1e-11])
def test_what_the_other_columns_leave_of_one_is_exact(rows, left, monkeypatch):
    monkeypatch.setattr("garrote.slabs.CACHED_ELEMENTS", 400)
    rng = np.random.default_rng(6)
    rows[:, 7] = rows[:, 0] + left * rows[:, 0].std() * rng.standard_normal(len(rows))
    others = np.linalg.qr(rows[:, :7])[0]
    rest = rows[:, 7] - others @ (others.T @ rows[:, 7])
    rest -= others @ (others.T @ rest)
    assert tall.triangle_of_products(rows.T @ rows) is None
    root = by_rows(rows)
    assert_same_products(root, rows)
    assert_allclose(abs(root[7, 7]), np.linalg.norm(rest), rtol=1e-15 / left)


@pytest.mark.parametrize("scale", [1e-145, 1e152, np.nan, np.inf])
def test_products_that_are_not_exact_are_not_used(rows, scale):
    with np.errstate(over="ignore", invalid="ignore"):
        assert tall.triangle_of_products((scale * rows).T @ (scale * rows)) is None


@pytest.mark.parametrize("fewer", [3, 8])
def test_so_few_rows_as_columns_leave_a_square(rows, fewer):
    root = by_rows(rows[:fewer])
    assert root.shape == (8, 8)
    assert_same_products(root, rows[:fewer])


def test_the_order_of_a_sum_does_not_depend_on_the_number_of_threads():
    parts = np.random.default_rng(1).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    sums = []
    for n_threads in (1, 2, 5):
        token = threads._allowed.set(n_threads)
        try:
            sums.append(threads.sum_over_threads(lambda part: np.array([part]), parts.tolist())[0])
        finally:
            threads._allowed.reset(token)
    assert len(set(sums)) == 1
    assert_allclose(sums[0], parts.sum(), rtol=1e-12)


def test_a_fit_to_tall_data_reads_them_for_their_moments_and_once_more(monkeypatch):
    rng = np.random.default_rng(2)
    X = rng.standard_normal((4000, 10))
    y = X[:, 0] + rng.standard_normal(4000)
    read, columns = [], DenseDesign.columns

    def counting(self, features):
        read.append(self.shape[0] * len(features))
        return columns(self, features)

    monkeypatch.setattr(DenseDesign, "columns", counting)
    path = garrote_path(X, y)
    assert sum(read) == X.size
    assert path.n_passes == 0


@pytest.mark.parametrize("noise", [1.0, 1e-4])
def test_the_path_is_that_of_reflected_rows(monkeypatch, noise):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((600, 15)) + np.linspace(-5.0, 5.0, 15)
    y = X[:, :4].sum(axis=1) + noise * rng.standard_normal(600)
    path = garrote_path(X, y)
    monkeypatch.setattr(problem, "triangle_of_products", lambda products: None)
    expected = garrote_path(X, y)
    assert_allclose(path.free_energies, expected.free_energies, rtol=1e-10, atol=1e-7)
    assert_allclose(path.coefs.toarray(), expected.coefs.toarray(), atol=1e-8)


def test_slabs_of_rows_do_not_change_a_block(monkeypatch):
    rng = np.random.default_rng(4)
    samples = Samples(rng.standard_normal((900, 6)), rng.standard_normal(900))
    whole = samples.shortened(samples.varying)
    monkeypatch.setattr("garrote.slabs.CACHED_ELEMENTS", 200)
    assert len(row_slabs(900, 7)) > 16
    for part, expected in zip(samples.shortened(samples.varying), whole, strict=True):
        assert_allclose(part, expected, rtol=1e-12, atol=1e-14)
