"""An interrupted function returns, and an interrupted fit leaves the estimator as it was: unfitted, or fully fitted."""

import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from interrupts import interrupted, jobs, write_cohort
from threadpoolctl import threadpool_info, threadpool_limits

import garrote
from garrote import (
    ExactSpikeSlab,
    NonNegativeGarrote,
    PairedMeanField,
    SpikeSlabGibbs,
    VariationalGarrote,
    VariationalGarroteCV,
    garrote_path,
)
from garrote.comparators import gibbs
from garrote.datasets import sparse_regression
from garrote.interrupts import kept_from_workers

SOURCE = str(Path(garrote.__file__).parent)

ESTIMATORS = {
    "VariationalGarrote": lambda: VariationalGarrote(-3.0),
    "VariationalGarroteCV": lambda: VariationalGarroteCV(6, cv=2, ridges=[0.0]),
    "VariationalGarroteCV, no refit": lambda: VariationalGarroteCV(
        6, cv=[(np.arange(10), np.arange(10, 16))], refit=False, ridges=[0.0]
    ),
    "PairedMeanField": lambda: PairedMeanField(random_state=0, tol=1.0),
    "SpikeSlabGibbs": lambda: SpikeSlabGibbs(n_draws=10, n_burn_in=2, n_chains=2, random_state=0),
    "ExactSpikeSlab": lambda: ExactSpikeSlab(noise_variance=1.0, slab_variance=1.0, prior_inclusion=0.5),
    "NonNegativeGarrote": lambda: NonNegativeGarrote(n_alphas=5, cv=2),
}


def data(n_features):
    X, y, _ = sparse_regression(20, n_features, 2, rng=np.random.default_rng(n_features))
    return X, y


def traced(call, at=None):
    """Call, and raise KeyboardInterrupt at the so-many-th line of the library; the number of lines that were run."""
    n_lines = 0

    def trace(frame, event, argument):
        nonlocal n_lines
        if not frame.f_code.co_filename.startswith(SOURCE):
            return None
        if event == "line":
            n_lines += 1
            if n_lines - 1 == at:
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return n_lines


def is_whole(model, before, complete):
    """Whether a model has the attributes of before, or all those of the complete one."""
    if vars(model).keys() == vars(complete).keys() and model.n_features_in_ == complete.n_features_in_:
        return np.array_equal(model.coef_, complete.coef_) and model.intercept_ == complete.intercept_
    return vars(model).keys() == before.keys() and all(
        vars(model)[key] is before[key] for key in before if key.endswith("_")
    )


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_interrupted_fit_changes_nothing(name):
    first, second = data(4), data(5)
    complete = ESTIMATORS[name]().fit(*second)  # the first time it fills caches, which takes more lines
    n_lines = traced(lambda: complete.fit(*second))
    n_unchanged = 0
    rng = random.Random(name)
    # anywhere, and at the end, where the attributes are set
    for at in [*(rng.randrange(n_lines) for _ in range(6)), *range(n_lines - 5, n_lines)]:
        fresh, fitted = ESTIMATORS[name](), ESTIMATORS[name]().fit(*first)
        before = vars(fitted).copy()
        for model in (fresh, fitted):
            with pytest.raises(KeyboardInterrupt):
                traced(lambda model=model: model.fit(*second), at)
            assert is_whole(model, before if model is fitted else vars(ESTIMATORS[name]()), complete)
        n_unchanged += all(vars(fitted).get(key) is before[key] for key in before)
        fitted.predict((first if fitted.n_features_in_ == 4 else second)[0])
    assert n_unchanged == 10  # the last line returns what is fitted already
    assert fitted.fit(*second).predict(second[0]).shape == (20,)
    assert fitted.n_features_in_ == 5


def test_blas_gets_its_threads_back_wherever_the_interrupt_comes():
    from garrote import threads

    @threads.one_blas_thread()
    def nothing():
        return None

    with threadpool_limits(limits=2, user_api="blas"):
        nothing()
        n_lines = traced(nothing)
        for at in range(n_lines):
            with pytest.raises(KeyboardInterrupt):
                traced(nothing, at)
            assert not threads._blas._holders
            assert {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"} == {2}
            assert traced(nothing) >= n_lines  # nothing is taken for held


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fit_to_bad_data_leaves_the_old_one(name):
    X, y = data(4)
    model = ESTIMATORS[name]().fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="NaN"):
        model.fit(np.full((20, 5), np.nan), y)
    assert (model.predict(X) == before).all()


JOBS = [
    "VariationalGarrote.fit",
    "VariationalGarroteCV.fit",
    "garrote_path",
    "PairedMeanField.fit",
    "SpikeSlabGibbs.fit, 2 threads",
    "ExactSpikeSlab.fit",
    "NonNegativeGarrote.fit",
    "compare",
    "VariationalGarrote.fit, dask",
    "VariationalGarroteCV.fit, PLINK",
]


@pytest.mark.parametrize("name", JOBS)
def test_a_signal_ends_it_long_before_it_would_end_by_itself(name, tmp_path):
    call = jobs(write_cohort(tmp_path, 200, 500))[name]
    waited = interrupted(call, 0.2)
    assert waited is not None, "it was done before the signal came"
    assert waited < 5.0  # a second, with leave for busy machines; `make interrupts` measures


def test_the_compiled_descent_hears_a_signal():
    """One call of it at γ = 0, with all features undecided, takes many seconds."""
    X, y, _ = sparse_regression(700, 600, 20, zeta=0.5, sigma=1.0, rng=np.random.default_rng(1))
    waited = interrupted(lambda: [VariationalGarrote(0.0).fit(X, y) for _ in range(100)], 1.0)
    assert waited is not None
    assert waited < 1.0


def test_the_compiled_search_hears_a_signal():
    """A path of very many steps, each too short to listen; it would take several seconds."""
    X, y, _ = sparse_regression(300, 600, 60, zeta=0.9, sigma=1.0, rng=np.random.default_rng(1))
    garrote_path(X[:, :5], y)  # imports take time of their own
    waited = interrupted(lambda: garrote_path(X, y, gammas=3000), 0.3)
    assert waited is not None, "it was done before the signal came"
    assert waited < 0.7


def test_threads_of_an_interrupted_sampler_end(monkeypatch):
    inside = threading.Event()
    sweeps, sweep = [], gibbs.gibbs_sweep

    def counted(*arguments):
        sweeps.append(inside.set())
        sweep(*arguments)

    monkeypatch.setattr(gibbs, "gibbs_sweep", counted)
    X, y = data(4)
    interrupted(lambda: SpikeSlabGibbs(n_draws=10**6, n_jobs=2).fit(X, y), 0.3)
    assert inside.is_set()
    time.sleep(0.1)
    made = len(sweeps)
    time.sleep(0.1)
    assert len(sweeps) == made


def test_workers_do_not_hear_ctrl_c():
    """Their tracebacks would bury what the command says; it ends them itself."""
    before = signal.getsignal(signal.SIGINT)
    command = [sys.executable, "-c", "import signal; print(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)"]
    with kept_from_workers():
        inside = subprocess.run(command, capture_output=True, text=True, check=True)
    assert inside.stdout.strip() == "True"
    assert signal.getsignal(signal.SIGINT) is before
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"


def test_other_threads_leave_ctrl_c_as_it_is():
    ignored = []

    def inside():
        with kept_from_workers():
            ignored.append(signal.getsignal(signal.SIGINT) == signal.SIG_IGN)

    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert ignored == [False]
