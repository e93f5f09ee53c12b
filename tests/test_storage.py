"""The contract of storage: the answers are those of a dense float64 array, and X is left alone.

A new storage adds one line to ``STORAGES``.
"""

import tracemalloc

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from bed_reader import to_bed
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from garrote import Moments, VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.design import DenseDesign, Design, Rows, as_dense, as_design, is_dask
from garrote.problem import Samples
from garrote.sources import plink


def on_disk(X, folder):
    """X in a file, opened read-only."""
    np.save(folder / "X.npy", X)
    return np.load(folder / "X.npy", mmap_mode="r")


def in_plink(X, folder):
    """X as packed genotypes."""
    to_bed(folder / "X.bed", X)
    return plink.open(folder / "X")


def added_up(X, y):
    """The sum of the Moments of three parts of unequal length."""
    first, second, third = (Moments.from_data(X[part], y[part]) for part in np.split(np.arange(len(y)), [10, 25]))
    return first + second + third


#: What is passed as X, given a float64 array and a folder.
STORAGES = {
    "C float64": lambda X, folder: np.ascontiguousarray(X),
    "Fortran float64": lambda X, folder: np.asfortranarray(X),
    "strided float64": lambda X, folder: np.repeat(X, 2, axis=1)[:, ::2],
    "rows of Fortran float64": lambda X, folder: np.asfortranarray(np.vstack([X, X]))[: len(X)],
    "C float32": lambda X, folder: np.ascontiguousarray(X, dtype=np.float32),
    "Fortran float32": lambda X, folder: np.asfortranarray(X, dtype=np.float32),
    "int8": lambda X, folder: X.astype(np.int8),
    "int64": lambda X, folder: X.astype(np.int64),
    "memmap": on_disk,
    "memmap int8": lambda X, folder: on_disk(X.astype(np.int8), folder),
    "CSC": lambda X, folder: sparse.csc_array(X),
    "CSR": lambda X, folder: sparse.csr_array(X),
    "CSC matrix int8": lambda X, folder: sparse.csc_matrix(X.astype(np.int8)),
    "COO": lambda X, folder: sparse.coo_array(X),
    "pandas": lambda X, folder: pd.DataFrame(X).add_prefix("x"),
    "pandas int8": lambda X, folder: pd.DataFrame(X.astype(np.int8)).add_prefix("x"),
    "polars": lambda X, folder: pl.DataFrame(X),
    "nested lists": lambda X, folder: X.tolist(),
    "PLINK": in_plink,
    "dask rows": lambda X, folder: da.from_array(X, chunks=(20, -1)),
    "dask columns": lambda X, folder: da.from_array(X, chunks=(-1, X.shape[1] // 2)),
    "dask blocks float32": lambda X, folder: da.from_array(X.astype(np.float32), chunks=(40, X.shape[1] // 2)),
    "dask int8": lambda X, folder: da.from_array(X.astype(np.int8), chunks=(40, X.shape[1] // 2)),
    "dask sparse": lambda X, folder: da.from_array(X, chunks=(20, -1)).map_blocks(sparse.csr_array),
    "dask frame": lambda X, folder: dd.from_pandas(pd.DataFrame(X).add_prefix("x"), npartitions=3),
}

#: What stands for X and y together.
REDUCTIONS = {
    "Moments": Moments.from_data,
    "Moments of CSC": lambda X, y: Moments.from_data(sparse.csc_array(X), y),
    "Moments added up": added_up,
}


def tolerance(storage):
    """Of float32, Xᵀr is computed in single precision."""
    return 1e-4 if "float32" in storage else 1e-8


def counts(n_samples, n_features):
    """0, 1 and 2, most of them zero, so that every storage can hold them exactly; and y from four of them."""
    rng = np.random.default_rng(7)
    X = rng.binomial(2, 0.3, size=(n_samples, n_features)).astype(np.float64)
    y = 5.0 + X[:, [0, 3, 5, 8]] @ [2.0, -1.5, 1.0, 1.0] + 0.3 * rng.standard_normal(n_samples)
    return X, y


SMALL = counts(50, 12)
WIDE = counts(60, Samples.ONE_BLOCK + 500)  # solved by a working set


@pytest.fixture(scope="module")
def expected():
    """The paths of dense float64."""
    return {"small": garrote_path(*SMALL, gammas=15), "wide": garrote_path(*WIDE, gammas=15)}


def assert_same_path(path, expected, rtol):
    assert_allclose(path.gammas, expected.gammas, rtol=rtol)
    assert_allclose(path.inclusions.toarray(), expected.inclusions.toarray(), atol=rtol)
    assert_allclose(path.coefs.toarray(), expected.coefs.toarray(), atol=rtol)
    assert_allclose([s.beta for s in path], [s.beta for s in expected], rtol=rtol)
    assert_allclose(path.free_energies, expected.free_energies, rtol=rtol)


@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("size", ["small", "wide"])
def test_path_is_that_of_dense_float64(storage, size, expected, tmp_path):
    X, y = SMALL if size == "small" else WIDE
    path = garrote_path(STORAGES[storage](X, tmp_path), y, gammas=15)
    assert_same_path(path, expected[size], tolerance(storage))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_path_of_moments_is_that_of_the_samples(reduction, expected):
    assert_same_path(garrote_path(REDUCTIONS[reduction](*SMALL), gammas=15), expected["small"], 1e-8)


def test_moments_of_many_features_select_what_the_samples_select(expected):
    # Moments are always one block. A working set does not list features with an inclusion below ENTRY, and keeps only
    # what they explain together, so the coefficients differ by more than rounding. Where the path is about to stop,
    # because it overfits, F has many minima.
    gammas = expected["wide"].gammas[:-2]
    path = garrote_path(added_up(*WIDE), gammas=gammas)
    for solution, of_samples in zip(path, expected["wide"][: len(gammas)], strict=True):
        assert_array_equal(solution.selected, of_samples.selected)
        assert_allclose(solution.v, of_samples.v, atol=5e-3)


@pytest.mark.parametrize("storage", STORAGES)
def test_predictions_are_those_of_dense_float64(storage, tmp_path):
    X, y = SMALL
    model, dense = VariationalGarrote(), VariationalGarrote().fit(X, y)
    stored = STORAGES[storage](X, tmp_path)
    mean, std = model.fit(stored, y).predict(stored, return_std=True)
    expected_mean, expected_std = dense.predict(X, return_std=True)
    assert_allclose(mean, expected_mean, rtol=tolerance(storage))
    assert_allclose(std, expected_std, rtol=tolerance(storage))


@pytest.mark.parametrize("storage", STORAGES)
def test_cross_validation_is_that_of_dense_float64(storage, tmp_path):
    X, y = SMALL
    dense = VariationalGarroteCV(10, ridges=[0.0, 0.1], cv=3).fit(X, y)
    model = VariationalGarroteCV(10, ridges=[0.0, 0.1], cv=3).fit(STORAGES[storage](X, tmp_path), y)
    # of two descents from other rounding errors, each ends within the tolerance, 1e-8, of Eq. (m)
    assert_allclose(model.mse_path_, dense.mse_path_, rtol=2 * tolerance(storage))
    assert_allclose(model.coef_, dense.coef_, atol=tolerance(storage))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_predictions_after_moments_are_those_after_the_samples(reduction):
    X, y = SMALL
    model = VariationalGarrote().fit(REDUCTIONS[reduction](X, y))
    assert_allclose(model.predict(X), VariationalGarrote().fit(X, y).predict(X), rtol=1e-8)


@pytest.mark.parametrize("frame", ["pandas", "polars"])
def test_moments_are_made_of_frames(frame, tmp_path):
    X, y = SMALL
    moments = Moments.from_data(STORAGES[frame](X, tmp_path), y)
    assert_allclose(moments.gram, np.cov(X.T, bias=True), atol=1e-12)


def test_moments_with_weights_are_weighted_covariances():
    X, y = SMALL
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(y))
    moments = Moments.from_data(X, y, weights)
    expected = np.cov(np.column_stack([X, y]).T, bias=True, aweights=weights)
    assert_allclose(moments.gram, expected[:-1, :-1], atol=1e-12)
    assert_allclose(moments.b, expected[:-1, -1], atol=1e-12)
    assert_allclose(moments.sigma2_y, expected[-1, -1], rtol=1e-12)
    assert_allclose(moments.n_samples, weights.sum())


def test_moments_without_intercept_are_not_centred():
    X, y = SMALL
    moments = Moments.from_data(X, y, fit_intercept=False)
    assert_allclose(moments.gram, X.T @ X / len(y))
    assert_allclose(garrote_path(moments)[-1].v, garrote_path(X, y, fit_intercept=False)[-1].v, atol=1e-8)


# What a Design answers


@pytest.fixture(params=[name for name in STORAGES if name not in ("pandas", "pandas int8", "polars", "nested lists")])
def stored(request, tmp_path):
    """A Design, and the dense float64 array that it should be equal to."""
    X = counts(30, 9)[0]
    return as_design(STORAGES[request.param](X, tmp_path)), X, tolerance(request.param)


def test_transpose_dot_of_a_vector(stored):
    X_design, X, rtol = stored
    r = np.random.default_rng(1).standard_normal(30)
    result = X_design.transpose_dot(r)
    assert result.dtype == np.float64
    assert_allclose(result, X.T @ r, atol=10 * rtol)


@pytest.mark.parametrize("count", [3, 7])  # few are multiplied one by one
def test_transpose_dot_of_several_vectors(stored, count):
    X_design, X, rtol = stored
    r = np.random.default_rng(1).standard_normal((30, count))
    assert_allclose(X_design.transpose_dot(r), X.T @ r, atol=10 * rtol)


def test_columns_are_new_float64_in_fortran_order(stored):
    X_design, X, _ = stored
    columns = X_design.columns(np.array([7, 2, 3]))
    assert columns.dtype == np.float64
    assert columns.flags.f_contiguous
    assert_array_equal(columns, X[:, [7, 2, 3]])
    columns[:] = np.nan
    assert_array_equal(X_design.columns(np.array([7, 2, 3])), X[:, [7, 2, 3]])


def test_dot_uses_the_named_columns(stored):
    X_design, X, _ = stored
    fit = X_design.dot(np.array([7, 2]), np.array([0.5, -2.0]))
    assert fit.dtype == np.float64
    assert_allclose(fit, X[:, [7, 2]] @ [0.5, -2.0])


def test_moments_are_the_weighted_mean_and_variance(stored):
    X_design, X, _ = stored
    weights = np.random.default_rng(2).dirichlet(np.ones(30))
    mean, variance = X_design.moments(weights)
    assert_allclose(mean, np.average(X, axis=0, weights=weights), rtol=1e-12)
    assert_allclose(variance, np.cov(X.T, bias=True, aweights=weights).diagonal(), rtol=1e-12)


def test_first_look_tells_the_centred_products(stored):
    X_design, X, _ = stored
    weights, e = np.random.default_rng(2).dirichlet(np.ones(30)), np.random.default_rng(3).standard_normal(30)
    mean, variance, products = X_design.first_look(weights, e)
    assert_array_equal((mean, variance), X_design.moments(weights))
    if products is not None:  # a storage may leave them to another pass
        assert_allclose(products, (X - mean).T @ e, rtol=1e-10, atol=1e-12)


def test_dense_columns_are_looked_at_once_for_moments_and_products():
    X, weights, e = (
        np.random.default_rng(4).standard_normal((30, 9)) + 1e6,
        np.full(30, 1 / 30),
        np.linspace(-1.0, 2.0, 30),
    )
    for dtype in (np.float64, np.float32):
        for order in "CF":
            stored = X.astype(dtype, order=order)
            centred = stored.astype(np.float64) - stored.astype(np.float64).mean(axis=0)
            assert_allclose(DenseDesign(stored).first_look(weights, e)[2], centred.T @ e, rtol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_long_columns_are_looked_at_in_chunks(dtype, monkeypatch):
    n_samples = 70_000
    rng = np.random.default_rng(4)
    X = np.asfortranarray(rng.normal([0.0, 1e3, -5.0, 1.0, 0.3], 1.0, (n_samples, 5)), dtype=dtype)
    X[:, 4] = 0.1
    X[:10_000, 2] = 3.0
    weights, e = rng.uniform(size=n_samples), rng.standard_normal(n_samples)
    weights[5000:15_000] = 0.0  # a whole chunk of them
    weights /= weights.sum()
    found = DenseDesign(X).first_look(weights, e)
    assert_allclose(DenseDesign(X).moments(weights), found[:2], rtol=1e-12, atol=1e-30)
    monkeypatch.setattr("garrote.design.COMPILED", False)
    for one, other, scale in zip(found, DenseDesign(X).first_look(weights, e), (1.0, 1.0, n_samples), strict=True):
        assert_allclose(one, other, rtol=1e-11, atol=1e-14 * scale)
    assert_allclose(found[1][:4], np.cov(X[:, :4].T.astype(float), bias=True, aweights=weights).diagonal(), rtol=1e-10)


def test_take_keeps_rows_in_their_order(stored):
    X_design, X, _ = stored
    part = X_design.take(np.array([4, 0, 11]))
    assert part.shape == (3, 9)
    assert_array_equal(part.columns(np.arange(9)), X[[4, 0, 11]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(30, 9), (9, 30)])
def test_slabs_do_not_change_the_answer(dtype, order, shape, monkeypatch):
    n_samples, n_features = shape
    design = DenseDesign(np.asarray(counts(*shape)[0], dtype=dtype, order=order))
    weights, r, v = (
        np.full(n_samples, 1 / n_samples),
        np.linspace(-1.0, 1.0, n_samples),
        np.linspace(0.5, 2, n_features),
    )

    def answers():
        yield from design.first_look(weights, r)
        yield design.transpose_dot(r)
        yield design.transpose_dot(np.column_stack([r, r**2]))
        yield design.dot(np.arange(n_features), v)
        yield design.round_trip(r, lambda products, part: products * v[part])

    monkeypatch.setattr("garrote.design.COMPILED", False)  # whose loops want a Respond
    whole = list(answers())
    monkeypatch.setattr("garrote.slabs.SLAB_ELEMENTS", 70)
    monkeypatch.setattr("garrote.slabs.CACHED_ELEMENTS", 70)
    for part, expected in zip(answers(), whole, strict=True):
        assert_allclose(
            part, expected, rtol=1e-5 if dtype is np.float32 else 1e-13, atol=1e-6 if dtype is np.float32 else 1e-14
        )


def test_variance_survives_a_large_mean():
    X = np.random.default_rng(3).standard_normal((200, 4))
    weights = np.full(200, 1 / 200)
    assert_allclose(DenseDesign(X + 1e6).moments(weights)[1], X.var(axis=0), rtol=1e-8)


def test_sparse_entries_that_are_stored_twice_count_as_their_sum():
    row_starts, features, values = [0, 2, 3, 4], [0, 0, 0, 0], [1.0, 2.0, 3.0, 4.0]
    X = sparse.csr_array((values, features, row_starts), shape=(3, 1))
    assert_allclose(as_design(X).moments(np.full(3, 1 / 3))[1], np.var([3.0, 3.0, 4.0]))


@pytest.mark.parametrize("storage", ["C float64", "Fortran float64", "Fortran float32", "CSC", "CSR"])
@pytest.mark.parametrize("n_samples", [100, 10_000, 100_000])
def test_constant_column_is_found_however_many_rows(storage, n_samples, tmp_path):
    X = np.column_stack([np.full(n_samples, 0.1), np.resize([0.0, 1.0], n_samples)])
    problem = Samples(STORAGES[storage](X, tmp_path), np.resize([0.0, 1.0, 1.0], n_samples))
    assert_array_equal(problem.varying, [1])


# What happens to X


@pytest.mark.parametrize("storage", STORAGES)
def test_inputs_are_not_modified(storage, tmp_path):
    X, y = SMALL
    stored, y_before = STORAGES[storage](X.copy(), tmp_path), y.copy()
    VariationalGarroteCV(5, cv=3, ridges=[0.1]).fit(stored, y).predict(stored)
    assert_array_equal(y, y_before)
    if isinstance(stored, Design):
        assert_array_equal(stored.columns(np.arange(X.shape[1])), X)
    else:
        assert_array_equal(as_dense(stored.compute() if is_dask(stored) else stored), X)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8, np.int64])
def test_design_is_the_array_that_was_given(dtype):
    X = SMALL[0].astype(dtype)
    assert as_design(X).X is X


@pytest.fixture
def peak(monkeypatch):
    """The most memory that a call holds at a time, beside what there was before, in bytes; with small slabs."""
    monkeypatch.setattr("garrote.slabs.SLAB_ELEMENTS", 100_000)

    def measure(call):
        tracemalloc.start()
        try:
            call()
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    return measure


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int8])
def test_many_features_are_never_copied_as_a_whole(dtype, peak):
    rng = np.random.default_rng(4)
    X = np.asfortranarray(rng.integers(-9, 10, size=(500, 20_000)), dtype=dtype)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(500)
    assert peak(lambda: garrote_path(X, y, gammas=[-40.0, -20.0])) < 0.5 * X.size * 8


def test_folds_of_many_features_are_no_copies(peak):
    rng = np.random.default_rng(4)
    X = np.asfortranarray(rng.standard_normal((500, 10_000)))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(500)
    assert peak(lambda: VariationalGarroteCV([-40.0, -20.0], cv=2, ridges=[0.0]).fit(X, y)) < 0.5 * X.nbytes


@pytest.mark.parametrize(
    "store", [np.asarray, np.asfortranarray, np.float32, np.int8, sparse.csc_array, sparse.csr_array]
)
@pytest.mark.parametrize("rows", [np.array([3, 1, 20, 1, -1]), np.arange(30) % 4 > 0])
def test_some_rows_of_a_large_design_are_those_of_a_copy(store, rows, monkeypatch):
    X = np.random.default_rng(5).integers(-5, 6, size=(30, 12)).astype(np.float64)
    copy, whole = as_design(X[rows]), as_design(store(X))
    monkeypatch.setattr("garrote.slabs.SLAB_ELEMENTS", 50)
    view, features = whole.take(rows), np.array([7, 2])
    assert isinstance(view, Rows)
    assert view.shape == copy.shape
    r, v = np.linspace(-1.0, 2.0, copy.shape[0]), np.array([0.5, -2.0])
    weights = np.arange(1.0, copy.shape[0] + 1) / np.arange(1.0, copy.shape[0] + 1).sum()
    assert_allclose(view.transpose_dot(r), copy.transpose_dot(r), rtol=1e-6, atol=1e-5)
    assert_allclose(view.in_double().transpose_dot(r), copy.transpose_dot(r), atol=1e-12)
    assert_allclose(view.transpose_dot(np.column_stack([r, r**2])), X[rows].T @ np.column_stack([r, r**2]), atol=1e-5)
    assert_allclose(view.moments(weights), copy.moments(weights), atol=1e-6)
    assert_allclose(view.first_look(weights, r)[:2], view.moments(weights))
    products = view.first_look(weights, r)[2]
    if products is not None:  # a sparse matrix leaves them to another pass
        assert_allclose(products, (X[rows] - weights @ X[rows]).T @ r, rtol=1e-6, atol=1e-6)
    for some in (features, np.arange(12)):
        assert_array_equal(view.columns(some), copy.columns(some))
        assert view.columns(some).flags.f_contiguous
    assert_allclose(view.dot(features, v), copy.dot(features, v), atol=1e-12)
    assert_allclose(view.outer(features, v, v), copy.outer(features, v, v), atol=1e-12)
    assert_array_equal(view.take(np.array([2, 0])).columns(features), copy.take(np.array([2, 0])).columns(features))


@pytest.mark.parametrize("order", ["C", "F"])
def test_many_samples_are_never_copied_as_a_whole(order, peak):
    rng = np.random.default_rng(4)
    X = np.asarray(rng.standard_normal((100_000, 20)), order=order)
    y = X[:, :3].sum(axis=1) + rng.standard_normal(100_000)
    assert peak(lambda: garrote_path(X, y, gammas=[-40.0, -20.0])) < 0.5 * X.nbytes


def test_moments_of_many_samples_do_not_copy_them_as_a_whole(peak):
    rng = np.random.default_rng(4)
    X = np.asfortranarray(rng.standard_normal((100_000, 20)))
    y = X[:, :3].sum(axis=1) + rng.standard_normal(100_000)
    assert peak(lambda: Moments.from_data(X, y)) < 0.5 * X.nbytes


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.csr_array])
def test_sparse_is_never_densified_as_a_whole(kind, peak):
    rng = np.random.default_rng(4)
    X = kind(sparse.random(500, 20_000, density=0.002, random_state=rng))
    y = X[:, [0, 1, 2]].toarray().sum(axis=1) + 0.1 * rng.standard_normal(500)
    assert peak(lambda: garrote_path(X, y, gammas=[-40.0, -20.0])) < 0.25 * 500 * 20_000 * 8


@pytest.mark.parametrize("kind", [sparse.csc_array, sparse.csr_array])
def test_sparse_moments_and_products_need_little_memory(kind, peak, monkeypatch):
    monkeypatch.setattr("garrote.slabs.SLAB_ELEMENTS", 10_000)
    X = kind(sparse.random(2000, 3000, density=0.05, random_state=np.random.default_rng(4)))
    design, weights = as_design(X), np.full(2000, 1 / 2000)
    assert peak(lambda: design.moments(weights)) < 0.5 * X.data.nbytes
    assert peak(lambda: design.round_trip(np.ones(2000), lambda products, part: products)) < 0.5 * X.data.nbytes
    dense = X.toarray()
    np.testing.assert_allclose(design.moments(weights), (dense.mean(axis=0), dense.var(axis=0)), rtol=1e-12)
    few, many = np.array([7, 3]), np.arange(2999, 0, -2)
    np.testing.assert_allclose(design.dot(few, np.array([1.0, 2.0])), dense[:, few] @ [1.0, 2.0], atol=1e-12)
    np.testing.assert_allclose(design.dot(many, np.ones(1500)), dense[:, many].sum(axis=1), atol=1e-12)
