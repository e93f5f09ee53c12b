"""The same bits: with any number of threads, in one process or several, in fresh processes, and in threads at once."""

import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from threadpoolctl import threadpool_info, threadpool_limits

from garrote import Moments, NonNegativeGarrote, PairedMeanField, VariationalGarrote, VariationalGarroteCV
from garrote.problem import Samples
from garrote.threads import one_blas_thread, over_threads

SIZES = {"one block": (100, 20), "working set": (100, Samples.ONE_BLOCK + 100)}


def data(n_samples, n_features, seed=1):
    """Correlated inputs, five of them relevant; made without BLAS, whose products may depend on its threads."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    X[:, 1:] += 0.5 * X[:, :-1]
    return X, X[:, ::4][:, :5].sum(axis=1) + rng.standard_normal(n_samples)


def bits(model):
    """Every number of a fitted model, as bytes."""
    parts = [model.coef_, model.inclusion_, model.intercept_]
    for name in ("slab_coef_", "beta_", "free_energy_", "mse_path_", "gamma_"):
        parts += [getattr(model, name)] if hasattr(model, name) else []
    return b"".join(np.ascontiguousarray(part, dtype=np.float64).tobytes() for part in parts)


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


# Threads


@pytest.mark.parametrize("form", [np.ascontiguousarray, np.asfortranarray, np.float32])
@pytest.mark.parametrize("size", SIZES)
def test_number_of_threads_changes_no_bit(size, form):
    X, y = data(*SIZES[size])
    answers = []
    for n_threads in (1, 2, 3):
        with threadpool_limits(n_threads):
            answers.append(bits(VariationalGarrote(-8.0).fit(form(X), y)))
    assert answers[1:] == answers[:1] * 2


def test_number_of_threads_changes_no_bit_of_moments():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((5000, 150))
    y = X[:, 0] + rng.standard_normal(5000)
    grams = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            grams.append(Moments.from_data(X, y).gram)
    assert_array_equal(*grams)


@pytest.mark.parametrize("model", [PairedMeanField(random_state=0), NonNegativeGarrote()], ids=["PMF", "Breiman"])
def test_number_of_threads_changes_no_bit_of_the_comparators(model):
    X, y = data(80, 30)
    answers = []
    for n_threads in (1, 2):
        with threadpool_limits(n_threads):
            answers.append(model.fit(X, y).coef_)
    assert_array_equal(*answers)


# Processes


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_folds_in_parallel_change_no_bit(backend):
    X, y = data(60, 20)
    serial = VariationalGarroteCV(10, ridges=[0.0, 0.3], n_jobs=1).fit(X, y)
    with parallel_config(backend):
        parallel = VariationalGarroteCV(10, ridges=[0.0, 0.3], n_jobs=2).fit(X, y)
    assert bits(parallel) == bits(serial)


def digest():
    """The bits of some fits, in short."""
    fits = [VariationalGarrote(-8.0).fit(*data(*size)) for size in SIZES.values()]
    fits.append(VariationalGarroteCV(10, ridges=[0.0, 0.3]).fit(*data(60, 20)))
    return hashlib.sha256(b"".join(map(bits, fits))).hexdigest()


def test_a_fresh_process_gives_the_same_bits_with_another_hash_seed_and_threads():
    other = {"PYTHONHASHSEED": "7", "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    script = "from test_reproducible import digest; print(digest())"
    there = subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | other,
        cwd=os.path.dirname(__file__),
        capture_output=True,
        text=True,
        check=True,
    )
    with threadpool_limits(1):
        assert there.stdout.strip() == digest()


# Fits at once, in threads of the user


def test_fits_in_parallel_threads_give_the_bits_of_serial_fits():
    problems = [data(100, width, seed) for seed, width in enumerate([20, 700, 60, 650, 30, 300, 20, 700])]
    models = [VariationalGarrote(-6.0), VariationalGarroteCV(8, ridges=[0.0], cv=3)]
    tasks = [(models[k % 2] if X.shape[1] < 100 else models[0], X, y) for k, (X, y) in enumerate(problems)]

    def fit(task):
        model, X, y = task
        return bits(type(model)(**model.get_params()).fit(X, y))

    expected = [fit(task) for task in tasks]
    for _ in range(2):
        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(fit, tasks)) == expected


def test_one_problem_may_be_fitted_in_several_threads():
    X, y = data(100, 40)
    samples = Samples(X, y)
    expected = bits(VariationalGarrote(-6.0).fit(samples))
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: bits(VariationalGarrote(-6.0).fit(samples)), range(8))) == {expected}


def test_blas_gets_its_threads_back_after_fits_that_overlap():
    with threadpool_limits(2, user_api="blas"):
        before = blas_threads()
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        second.__enter__()
        assert blas_threads() == {1}
        first.__exit__(None, None, None)  # the first to come is the first to go
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == before


def held_threads():
    """How many threads BLAS has while it is held."""
    with one_blas_thread():
        return blas_threads()


def test_blas_is_held_in_every_thread():
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        assert held_threads() == {1}
        assert pool.submit(held_threads).result() == {1}
        assert held_threads() == {1}
        assert blas_threads() == {2}


def test_blas_gets_its_threads_back_from_another_thread_than_took_them():
    with threadpool_limits(2, user_api="blas"), ThreadPoolExecutor(1) as pool:
        first, second = one_blas_thread(), one_blas_thread()
        first.__enter__()
        pool.submit(second.__enter__).result()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        pool.submit(second.__exit__, None, None, None).result()
        assert blas_threads() == {2}


def test_passes_may_use_the_threads_that_blas_had():
    together = Barrier(2, timeout=20.0)  # which one thread alone never passes
    with threadpool_limits(2, user_api="blas"), one_blas_thread():
        assert sorted(over_threads(lambda part: together.wait(), ["left", "right"])) == [0, 1]
