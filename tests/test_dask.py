"""Dask: the answers, and the passes, of arrays in memory; on threads and on a cluster of two worker processes."""

import os
import signal
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import joblib
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import KFold, LeaveOneOut, PredefinedSplit, RepeatedKFold, ShuffleSplit

from garrote import Moments, VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.design import as_design
from garrote.problem import Samples, as_problem
from garrote.sources import dask_arrays, reduction
from garrote.sources.dask_arrays import DaskDesign

pytestmark = pytest.mark.timeout(120)


def data(n_samples, n_features, seed=0):
    """Inputs with means far from zero, and y from three of them."""
    rng = np.random.default_rng(seed)
    X = 3.0 + rng.standard_normal((n_samples, n_features))
    return X, 5.0 + X[:, [0, 3, 5]] @ [2.0, -1.5, 1.0] + 0.5 * rng.standard_normal(n_samples)


TALL = data(400, 12)
WIDE = data(60, Samples.ONE_BLOCK + 300)

#: Chunks of TALL and of WIDE.
CHUNKS = {
    "rows": [(150, -1), (25, -1)],
    "columns": [(-1, 5), (-1, 250)],
    "rows and columns": [(130, 5), (20, 400)],
    "whole": [(-1, -1), (-1, -1)],
}


@pytest.fixture(scope="module")
def cluster():
    """Two worker processes, stopped in the end."""
    options = {"processes": True, "host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **options) as workers,
        Client(workers, set_as_default=False) as client,
    ):
        yield client


@pytest.fixture
def client(cluster):
    """The cluster as the current scheduler."""
    with cluster.as_current():
        yield cluster


@pytest.fixture
def passes(monkeypatch):
    """Counts what is asked of the workers' X."""
    counted = dict.fromkeys(["transpose_dot", "moments", "_products"], 0)

    def counting(name, original):
        def count(self, *args):
            counted[name] += 1
            return original(self, *args)

        return count

    for name in counted:
        monkeypatch.setattr(DaskDesign, name, counting(name, getattr(DaskDesign, name)))
    return counted


def assert_same_path(path, expected, rtol=1e-8):
    assert_allclose(path.gammas, expected.gammas, rtol=rtol)
    assert_allclose(path.inclusions.toarray(), expected.inclusions.toarray(), atol=rtol)
    assert_allclose(path.coefs.toarray(), expected.coefs.toarray(), atol=rtol)
    assert_allclose(path.free_energies, expected.free_energies, rtol=rtol)
    assert path.n_passes == expected.n_passes


# The answers and passes of arrays in memory


@pytest.mark.parametrize("chunks", CHUNKS)
def test_wide_path_is_that_in_memory_with_as_many_passes(chunks, passes):
    X, y = WIDE
    expected = garrote_path(X, y, gammas=12)
    path = garrote_path(da.from_array(X, chunks=CHUNKS[chunks][1]), y, gammas=12)
    assert_same_path(path, expected)
    assert passes["transpose_dot"] == expected.n_passes + 1  # and b
    assert (passes["moments"], passes["_products"]) == (1, 0)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_tall_path_is_that_in_memory_after_one_pass(chunks, passes):
    X, y = TALL
    lazy_y = da.from_array(y, chunks=90)
    path = garrote_path(da.from_array(X, chunks=CHUNKS[chunks][0]), lazy_y, gammas=12)
    assert_same_path(path, garrote_path(X, y, gammas=12))
    assert passes == {"transpose_dot": 0, "moments": 0, "_products": 1}


def test_tall_data_with_many_features_use_a_working_set_after_one_pass(passes):
    X, y = data(1500, Samples.ONE_BLOCK + 50)
    path = garrote_path(da.from_array(X, chunks=(400, -1)), y, gammas=8)
    assert_same_path(path, garrote_path(X, y, gammas=8))
    assert passes == {"transpose_dot": 0, "moments": 0, "_products": 1}


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights_and_intercept_are_those_in_memory(fit_intercept):
    X, y = TALL
    weights = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    options = {"gammas": 8, "fit_intercept": fit_intercept}
    expected = garrote_path(X, y, sample_weight=weights, **options)
    lazy = da.from_array(X, chunks=(150, -1))
    assert_same_path(garrote_path(lazy, y, sample_weight=weights, **options), expected)
    assert_same_path(garrote_path(lazy, y, sample_weight=da.from_array(weights, chunks=31), **options), expected)


def test_moments_are_those_of_the_rows():
    X, y = TALL
    moments = Moments.from_data(da.from_array(X, chunks=(90, 7)), da.from_array(y, chunks=100))
    covariance = np.cov(np.column_stack([X, y]).T, bias=True)
    assert_allclose(moments.gram, covariance[:-1, :-1], atol=1e-13)
    assert_allclose(moments.b, covariance[:-1, -1], atol=1e-13)
    assert_allclose(moments.sigma2_y, covariance[-1, -1], rtol=1e-13)
    assert_allclose(moments.x_mean, X.mean(axis=0), rtol=1e-13)
    assert_allclose(moments.n_samples, len(y))


@pytest.mark.parametrize("mean", [0.0, 1e6])
def test_reduction_survives_a_large_mean(mean):
    X, y = TALL
    problem = as_problem(da.from_array(X + mean, chunks=(7, -1)), y)
    assert_allclose(problem.chi, X.var(axis=0), rtol=1e-8)
    assert_allclose(problem.b, (X - X.mean(axis=0)).T @ (y - y.mean()) / len(y), rtol=1e-7)


def test_constant_column_is_found_in_any_number_of_chunks():
    X = np.column_stack([np.full(5000, 0.1), np.resize([0.0, 1.0, 1.0], 5000)])
    problem = as_problem(da.from_array(X, chunks=(7, -1)), np.resize([0.0, 1.0], 5000))
    assert len(problem.design.shape) == 2
    assert problem.design.shape[0] < 10  # it was reduced
    assert_array_equal(problem.varying, [1])


def test_collinear_columns_are_reduced():
    X, y = TALL
    X = np.column_stack([X, X[:, 0] + X[:, 1]])
    problem = as_problem(da.from_array(X, chunks=(90, -1)), y)
    assert_allclose(problem.block(np.arange(13)).gram, np.cov(X.T, bias=True), atol=1e-12)


def test_sparse_blocks_stay_sparse_until_they_are_used():
    counts = np.random.default_rng(2).poisson(0.3, size=(300, 12)).astype(float)
    y = counts[:, 0] - counts[:, 4] + 0.2 * np.random.default_rng(3).standard_normal(300)
    blocks = da.from_array(counts, chunks=(80, 12)).map_blocks(sparse.csr_array, dtype=float)
    assert_same_path(garrote_path(blocks, y, gammas=8), garrote_path(counts, y, gammas=8))


def test_empty_chunks_do_no_harm():
    X, y = TALL
    lazy = da.concatenate([da.from_array(X, chunks=(200, -1)), da.zeros((0, 12), chunks=(0, 12))])
    assert_same_path(garrote_path(lazy, y, gammas=5), garrote_path(X, y, gammas=5))


# Cross-validation


SPLITTERS = {
    "default": None,
    "shuffled": KFold(4, shuffle=True, random_state=0),
    "hold-out": PredefinedSplit(np.resize([-1, -1, 0], 400)),
    "overlapping": ShuffleSplit(3, test_size=0.3, random_state=0),
}


@pytest.mark.parametrize("cv", SPLITTERS)
def test_folds_of_tall_data_are_those_in_memory_after_one_pass(cv, passes):
    X, y = TALL
    model = VariationalGarroteCV(8, ridges=[0.0, 0.1], cv=SPLITTERS[cv])
    expected = VariationalGarroteCV(8, ridges=[0.0, 0.1], cv=SPLITTERS[cv]).fit(X, y)
    model.fit(da.from_array(X, chunks=(90, 7)), da.from_array(y, chunks=100))
    assert_allclose(model.mse_path_, expected.mse_path_, rtol=1e-8)
    assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    assert_allclose(model.beta_, expected.beta_, rtol=1e-8)
    assert passes == {"transpose_dot": 0, "moments": 0, "_products": 1}


def test_hold_out_without_refit_is_that_in_memory():
    X, y = TALL
    model = VariationalGarroteCV(8, ridges=[0.0], cv=SPLITTERS["hold-out"], refit=False)
    expected = VariationalGarroteCV(8, ridges=[0.0], cv=SPLITTERS["hold-out"], refit=False).fit(X, y)
    model.fit(da.from_array(X, chunks=(90, -1)), y)
    assert_allclose(model.coef_, expected.coef_, atol=1e-8)
    assert_allclose(model.intercept_, expected.intercept_, rtol=1e-8)


def test_folds_of_wide_data_are_those_in_memory():
    X, y = WIDE
    model = VariationalGarroteCV(5, ridges=[0.1], cv=2).fit(da.from_array(X, chunks=(-1, 400)), y)
    expected = VariationalGarroteCV(5, ridges=[0.1], cv=2).fit(X, y)
    assert_allclose(model.mse_path_, expected.mse_path_, rtol=1e-8)
    assert_allclose(model.coef_, expected.coef_, atol=1e-8)


def test_rows_repeated_by_a_split_count_as_often():
    X, y = TALL
    rows = np.arange(400)
    splits = [(np.append(rows[:300], rows[:100]), rows[300:])]
    model = VariationalGarroteCV(8, ridges=[0.0], cv=splits).fit(da.from_array(X, chunks=(90, -1)), y)
    expected = VariationalGarroteCV(8, ridges=[0.0], cv=splits).fit(X, y)
    assert_allclose(model.mse_path_, expected.mse_path_, rtol=1e-8)


@pytest.mark.parametrize("cv", [LeaveOneOut(), RepeatedKFold(n_splits=3, n_repeats=5, random_state=0)])
def test_more_kinds_of_rows_than_a_reduction_is_worth_are_passed_over(cv, passes):
    X, y = (part[:60] for part in TALL)
    VariationalGarroteCV(3, ridges=[0.1], cv=cv).fit(da.from_array(X, chunks=(30, -1)), y)
    assert passes["_products"] == 0
    assert passes["transpose_dot"] > 0


def test_groups_are_rows_that_no_split_tells_apart():
    splits = list(KFold(3).split(np.empty(10)))
    group, n_groups = reduction.row_groups(10, splits)
    assert n_groups == 3
    assert_array_equal(group, np.repeat(group[[0, 4, 7]], [4, 3, 3]))


# Data frames, predictions


def frames(X, y, n_partitions):
    frame = pd.DataFrame(X).add_prefix("x")
    return frame, dd.from_pandas(frame, n_partitions), dd.from_pandas(pd.Series(y), n_partitions)


def test_data_frame_is_fitted_by_names():
    X, y = TALL
    frame, lazy, lazy_y = frames(X, y, 3)
    model = VariationalGarrote().fit(lazy, lazy_y)
    assert_array_equal(model.feature_names_in_, frame.columns)
    assert_allclose(model.coef_, VariationalGarrote().fit(frame, y).coef_, atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(lazy.rename(columns={"x0": "other"}))


def test_nullable_columns_are_numbers():
    X, y = TALL
    frame = pd.DataFrame(X.round()).add_prefix("x").astype("Int64")
    model = VariationalGarrote().fit(dd.from_pandas(frame, 3), y)
    assert_allclose(model.coef_, VariationalGarrote().fit(X.round(), y).coef_, atol=1e-8)


@pytest.mark.parametrize("chunks", CHUNKS)
def test_predictions_are_lazy_and_those_in_memory(chunks):
    X, y = TALL
    model = VariationalGarrote().fit(X, y)
    mean, std = model.predict(da.from_array(X, chunks=CHUNKS[chunks][0]), return_std=True)
    assert isinstance(mean, da.Array)
    assert isinstance(std, da.Array)
    expected_mean, expected_std = model.predict(X, return_std=True)
    assert_allclose(mean.compute(), expected_mean, rtol=1e-12)
    assert_allclose(std.compute(), expected_std, rtol=1e-12)


def test_predictions_for_a_data_frame_have_a_length():
    X, y = TALL
    frame, lazy, _ = frames(X, y, 3)
    model = VariationalGarrote().fit(frame, y)
    assert_allclose(model.predict(lazy) - model.predict(frame), 0.0, atol=1e-12)
    assert_allclose(model.score(lazy, y), model.score(frame, y))


def test_prediction_needs_no_chunk_sizes():
    X, y = TALL
    lazy = da.from_array(X, chunks=(90, -1))
    model = VariationalGarrote().fit(X, y)
    assert_allclose(model.predict(lazy[lazy[:, 0] > 3]).compute(), model.predict(X[X[:, 0] > 3]), rtol=1e-12)


def test_prediction_of_an_empty_model_is_the_mean():
    X, y = TALL
    model = VariationalGarrote().fit(X, np.full(len(y), 2.5))
    assert_allclose(model.predict(da.from_array(X, chunks=(90, -1))).compute(), 2.5)


def test_prediction_for_another_number_of_features_is_refused():
    model = VariationalGarrote().fit(*TALL)
    with pytest.raises(ValueError, match=r"11 features.*12"):
        model.predict(da.ones((5, 11)))


@pytest.mark.parametrize("size", ["tall", "wide"])
@pytest.mark.parametrize("where", ["among the columns", "beside X"])
def test_covariates_are_those_in_memory(size, where):
    X, y = TALL if size == "tall" else WIDE
    always = [1, 2] if where == "among the columns" else np.random.default_rng(4).standard_normal((len(y), 2))
    later = None if where == "among the columns" else always
    lazy = da.from_array(X, chunks=(90, 300))
    for model in (VariationalGarrote(-9.0), VariationalGarroteCV(4, ridges=[0.1], cv=2)):
        expected = clone(model).fit(X, y, unpenalized=always)
        model.fit(lazy, da.from_array(y, chunks=45), unpenalized=always)
        assert_allclose(model.coef_, expected.coef_, atol=1e-8)
        assert_allclose(model.unpenalized_coef_, expected.unpenalized_coef_, atol=1e-8)
        assert_allclose(model.predict(lazy, unpenalized=later), expected.predict(X, unpenalized=later), rtol=1e-8)


# A cluster


#: A sparse part of a wide path, which takes few passes.
SPARSE = [-30.0, -12.0, -9.0, -8.0]


def test_wide_path_on_a_cluster(client):
    X, y = WIDE
    lazy = da.from_array(X, chunks=(-1, 250))
    assert_same_path(garrote_path(lazy, y, gammas=SPARSE), garrote_path(X, y, gammas=SPARSE))


def test_folds_of_tall_data_on_a_cluster(client):
    X, y = TALL
    model = VariationalGarroteCV(8, ridges=[0.1]).fit(da.from_array(X, chunks=(90, -1)).persist(), y)
    assert_allclose(model.coef_, VariationalGarroteCV(8, ridges=[0.1]).fit(X, y).coef_, atol=1e-8)


def test_only_the_working_set_travels(monkeypatch):
    X, y = WIDE
    asked = []

    def columns(self, features, original=DaskDesign.columns):
        asked.append(len(features))
        return original(self, features)

    monkeypatch.setattr(DaskDesign, "columns", columns)
    path = garrote_path(da.from_array(X, chunks=(-1, 250)), y, gammas=8)
    assert path.stopped  # far enough for the features outside the working set to matter together
    assert max(asked) < 0.2 * X.shape[1]


@pytest.mark.parametrize("kind", ["memory", "dask"])
def test_cross_validation_through_joblib(kind, client):
    X, y = data(60, 8)
    expected = VariationalGarroteCV(8, ridges=[0.0]).fit(X, y)
    given = X if kind == "memory" else da.from_array(X, chunks=(-1, 3))
    with joblib.parallel_config("dask", client=client):
        model = VariationalGarroteCV(8, ridges=[0.0]).fit(given, y)
    assert_allclose(model.mse_path_, expected.mse_path_, rtol=1e-8)
    assert_allclose(model.coef_, expected.coef_, atol=1e-8)


def test_worker_killed_in_the_middle_of_a_path(client, monkeypatch):
    X, y = WIDE
    expected = garrote_path(X, y, gammas=SPARSE)
    pid = next(iter(client.run(os.getpid).values()))
    kill = threading.Timer(0.02, os.kill, (pid, signal.SIGKILL))
    count = 0

    def transpose_dot(self, r, original=DaskDesign.transpose_dot):
        nonlocal count
        count += 1
        if count == 2:  # while the workers are busy with this pass
            kill.start()
        return original(self, r)

    monkeypatch.setattr(DaskDesign, "transpose_dot", transpose_dot)
    persisted = da.from_array(X, chunks=(-1, 100)).persist()  # a part of it is lost, and made again
    path = garrote_path(persisted, y, gammas=SPARSE)
    assert_same_path(path, expected, rtol=1e-12)
    assert count == expected.n_passes + 1 > 3
    kill.join()
    client.wait_for_workers(2, timeout=60)
    assert pid not in client.run(os.getpid).values()


# Bad input


def refused(match, X, y, fit=garrote_path, **options):
    with pytest.raises((ValueError, TypeError), match=match) as caught:
        fit(X, y, **options)
    assert "\n" not in str(caught.value)


X, Y = TALL
LAZY = da.from_array(X, chunks=(150, -1))
WIDE_LAZY = da.from_array(WIDE[0], chunks=(-1, 250))


def test_unknown_chunk_sizes_are_refused():
    refused(r"X.*unknown chunk sizes.*compute_chunk_sizes\(\)", LAZY[LAZY[:, 0] > 3], Y)
    refused(r"y.*unknown chunk sizes", LAZY, da.from_array(Y, chunks=90)[LAZY[:, 0] > 3])


def test_row_counts_of_a_data_frame_are_found():
    frame, lazy, _ = frames(X, Y, 3)
    kept = lazy["x0"] > 3
    assert_same_path(
        garrote_path(lazy[kept], dd.from_pandas(pd.Series(Y), 3)[kept], gammas=5),
        garrote_path(frame[frame["x0"] > 3].to_numpy(), Y[X[:, 0] > 3], gammas=5),
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_weights_that_are_no_numbers_are_refused(bad):
    weights = np.ones(len(Y))
    weights[5] = bad
    for model in (VariationalGarrote(), VariationalGarroteCV()):
        with pytest.raises(ValueError, match="sample_weight contains NaN or infinity"):
            model.fit(LAZY, da.from_array(Y, chunks=90), da.from_array(weights, chunks=90))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("size", ["tall", "wide"])
def test_missing_inputs_are_refused_with_their_column(bad, size):
    whole, y = (array.copy() for array in (TALL if size == "tall" else WIDE))
    whole[17, 4] = bad
    refused("X contains NaN or infinity, in column 4;", da.from_array(whole, chunks=(20, -1)), y)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_missing_outputs_are_refused(bad):
    y = Y.copy()
    y[3] = bad
    refused("y contains NaN or infinity|y contains NaN|y contains infinity", LAZY, da.from_array(y, chunks=90))
    refused("y", LAZY, y)
    refused("y", WIDE_LAZY, da.full(60, bad))


def test_values_whose_squares_overflow_are_refused():
    refused("X.*column 0.*overflow", LAZY * np.array([1e200] + [1] * 11), Y)
    refused("y.*overflow", LAZY, da.from_array(Y * 1e200, chunks=90))
    refused("X.*column 0.*overflow", WIDE_LAZY * 1e200, WIDE[1])


def test_text_columns_are_refused_by_name():
    frame = pd.DataFrame(X).add_prefix("x").assign(town="Utrecht")
    refused("X has 1 column that is not numeric: 'town'.*get_dummies", dd.from_pandas(frame, 2), Y)


def test_shapes_that_do_not_fit_are_refused():
    refused("X has 400 samples but y has 399", LAZY, Y[:-1])
    refused("X has 400 samples but y has 399", LAZY, da.from_array(Y[:-1], chunks=90))
    refused("X has shape .*2 dimensions", LAZY[:, 0], Y)
    refused("y has shape", LAZY, LAZY)
    refused("two samples", LAZY[:1], Y[:1])
    refused("dtype", LAZY.astype(complex), Y)
    for fit in (garrote_path, VariationalGarroteCV().fit):
        refused("give a dask array or a dask DataFrame", dask.delayed(X), Y, fit)
    refused("y is missing", LAZY, None)


@pytest.mark.parametrize("lazy", [True, False])
def test_bad_weights_are_refused(lazy):
    for weights, match in ((np.where(Y > 8.0, 1.0, -1.0), "negative"), (np.zeros(400), "zero")):
        refused(match, LAZY, Y, sample_weight=da.from_array(weights, chunks=90) if lazy else weights)


def test_inputs_beyond_the_reduction_are_passed_over(monkeypatch, passes):
    monkeypatch.setattr(dask_arrays, "MOST_PRODUCTS", 100)
    assert_same_path(garrote_path(LAZY, Y, gammas=5), garrote_path(X, Y, gammas=5))
    assert passes["_products"] == 0
    assert isinstance(as_design(LAZY), DaskDesign)
