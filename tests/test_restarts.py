"""Restarts on request find minima that the path's own search misses, and are drawn from a seed."""

import numpy as np
import pytest
from joblib import parallel_config
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from garrote import VariationalGarrote, VariationalGarroteCV, garrote_path
from garrote.datasets import sparse_regression
from garrote.path import trace
from garrote.restarts import NONE, STARTS, check_restarts
from garrote.solve import solve
from garrote.watch import Watch, watched_by

N_GAMMAS = 20


@parametrize_with_checks([VariationalGarrote(n_restarts=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def hard_problem(seed):
    """Eight of 40 neighbours with correlation 0.95: F has very many minima."""
    return sparse_regression(50, 40, 8, zeta=0.95, sigma=1.0, rng=np.random.default_rng(seed))[:2]


def test_restarts_find_lower_minima_than_the_path_does():
    gains = []
    for seed in (2, 8, 13, 32):
        X, y = hard_problem(seed)
        plain = garrote_path(X, y, gammas=N_GAMMAS)
        again = garrote_path(X, y, gammas=N_GAMMAS, n_restarts=4, random_state=0)
        assert len(plain) == len(again) == N_GAMMAS
        gain = plain.free_energies - again.free_energies
        assert gain.min() > -1e-6
        gains.append(gain)
        best = again[int(gain.argmax())]
        assert best.residual < 1e-7
        # it is a minimum of the same F: a descent that begins there stays there
        assert solve(X, y, gamma=best.gamma, start=best.m).free_energy == pytest.approx(best.free_energy, abs=1e-6)
    assert max(gain.max() for gain in gains) > 1.0
    assert sum((gain > 1e-3).any() for gain in gains) >= 2


def test_an_estimator_with_restarts_has_a_lower_free_energy():
    X, y = hard_problem(9)
    gammas = garrote_path(X, y, gammas=N_GAMMAS).gammas[[13, 17, 19]]
    plain = [VariationalGarrote(gamma).fit(X, y).free_energy_ for gamma in gammas]
    again = [VariationalGarrote(gamma, n_restarts=4, random_state=0).fit(X, y).free_energy_ for gamma in gammas]
    assert (np.array(again) <= np.array(plain) + 1e-6).all()
    assert min(again[k] - plain[k] for k in range(3)) < -0.1


def test_cross_validation_passes_restarts_on(monkeypatch):
    asked = []

    def recorded(*args, restarts, **kwargs):
        asked.append(restarts.per_gamma)
        return trace(*args, restarts=restarts, **kwargs)

    monkeypatch.setattr("garrote.select.trace", recorded)
    monkeypatch.setattr("garrote.estimators.trace", recorded)
    VariationalGarroteCV(4, ridges=[0.0], cv=2, n_restarts=3, random_state=0).fit(*hard_problem(1))
    assert asked == [3, 3, 3]


def test_data_of_extreme_scale_are_restarted_too():
    gains = []
    for seed in range(10):  # on some of them the path alone finds the lowest minima
        X, y = hard_problem(seed)
        gammas = garrote_path(X, y, gammas=8).gammas
        plain, again = (
            garrote_path(X * 2.0**200, y, gammas=gammas, n_restarts=count, random_state=0).free_energies
            for count in (0, 4)
        )
        assert_array_equal(again, garrote_path(X, y, gammas=gammas, n_restarts=4, random_state=0).free_energies)
        gains.append((plain - again).max())
    assert max(gains) > 0.1


def test_a_seed_decides_everything():
    X, y = hard_problem(3)
    model = VariationalGarroteCV(6, ridges=[0.0], cv=2, n_restarts=2, random_state=5)
    first = model.fit(X, y)
    for n_jobs in (1, 2):
        with parallel_config("threading"):
            other = clone(model).set_params(n_jobs=n_jobs).fit(X, y)
        assert_array_equal(first.mse_path_, other.mse_path_)
        assert_array_equal(first.inclusion_, other.inclusion_)


def test_without_restarts_nothing_is_drawn():
    rng = np.random.RandomState(0)
    before = rng.get_state()[1].copy()
    assert check_restarts(0, rng) is NONE
    assert_array_equal(rng.get_state()[1], before)


def test_restarts_do_not_bring_back_solutions_that_interpolate():
    X, y, _ = sparse_regression(30, 60, 8, zeta=0.8, sigma=0.3, rng=np.random.default_rng(0))
    path = garrote_path(X, y, n_restarts=2, random_state=0)
    assert path.stopped
    assert max(len(solution.selected) for solution in path) <= 0.5 * 29


def test_a_working_set_can_be_restarted():
    X, y, coef = sparse_regression(60, 700, 4, zeta=0.5, sigma=0.5, rng=np.random.default_rng(0))
    plain = garrote_path(X, y, gammas=8)
    again = garrote_path(X, y, gammas=8, n_restarts=2, random_state=0)
    n = min(len(plain), len(again))
    assert (again.free_energies[:n] <= plain.free_energies[:n] + 0.05).all()  # with a working set F is known to so much
    assert set(np.flatnonzero(coef)) <= {int(i) for solution in again for i in solution.selected}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("n_selected", [0, 1, 12])
def test_a_start_has_one_finite_number_for_each_feature(start, n_selected):
    rng = np.random.default_rng(0)
    solution = np.where(np.arange(12) < n_selected, 3.0, -9.0)
    drawn = [start(solution, 10.0, rng) for _ in range(50)]
    assert all(theta.shape == (12,) and np.isfinite(theta).all() for theta in drawn)
    assert n_selected == 0 or len({theta.tobytes() for theta in drawn}) > 1 or start is STARTS[-1]


@pytest.mark.parametrize("n_restarts", [-1, 1.5, True, "2", None])
def test_a_bad_number_of_restarts_is_named(n_restarts):
    X, y = hard_problem(0)
    for fit in (
        lambda: garrote_path(X, y, n_restarts=n_restarts),
        lambda: VariationalGarrote(n_restarts=n_restarts).fit(X, y),
        lambda: VariationalGarroteCV(n_restarts=n_restarts).fit(X, y),
    ):
        with pytest.raises(ValueError, match=r"n_restarts is .*; give a whole number"):
            fit()


def test_folds_of_a_run_with_other_restarts_are_not_taken_over():
    X, y = hard_problem(0)

    class Notes(Watch):
        identities: list = []  # noqa: RUF012

        def begin(self, n_parts, identity, shape):
            self.identities.append(identity)
            return super().begin(n_parts, identity, shape)

    with watched_by(Notes()):
        for options in ({}, {"n_restarts": 1, "random_state": 0}, {"n_restarts": 1, "random_state": 1}):
            VariationalGarroteCV([-9.0, -5.0], ridges=[0.0], cv=2, **options).fit(X, y)
    assert len(set(Notes.identities)) == 3
