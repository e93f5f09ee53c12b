"""The rules of overfitting, one by one, and where they end a path."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import beta
from searches import found, random_search, search, several_in
from sklearn.exceptions import ConvergenceWarning

import garrote.search
from garrote import garrote_path
from garrote.datasets import sparse_regression
from garrote.overfitting import Overfitting, log_sets_as_good
from garrote.path import trace
from garrote.points import Point
from garrote.problem import Samples
from garrote.restarts import check_restarts, restart
from garrote.workingset import Model, WorkingSet


def test_what_counts_as_overfitting():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((21, 20)), rng.standard_normal(21)
    wide = search(X, y, [-5.0, -4.0]).rules  # 20 features, 21 samples: they can interpolate
    tall = search(X[:, :19], y, [-5.0, -4.0]).rules
    ten, eleven = np.repeat([0.9, 0.01], 10), np.repeat([0.9, 0.01], [11, 9])
    assert wide.overfits(found(ten)) == ""
    assert wide.overfits(found(eleven)) == ("11 features are selected from 21 samples: the fit begins to interpolate")
    assert wide.overfits(found(ten, at_rest=False)) == (
        "unselected features together begin to explain y, and no solution comes to rest"
    )
    # unselected features may hold as much as the selected ones, and at least 0.05 of the samples
    assert wide.overfits(found([0.9, 0.4, 0.4])) == ""
    assert wide.overfits(found([0.4, 0.4])) == ""
    assert wide.overfits(found([0.4, 0.4, 0.4])) == (
        "unselected features hold a total inclusion of 1.2, the selected ones 0"
    )
    assert wide.overfits(found([0.9, 0.4, 0.4], outside=0.7)) == (
        "unselected features hold a total inclusion of 1.5, the selected ones 0.9"
    )
    for case in (found(eleven), found(ten, at_rest=False), found([0.4] * 10)):
        assert tall.overfits(case) == ""


def test_features_are_added_by_exchange_only_where_the_prior_expects_less_than_one():
    rng = np.random.default_rng(0)
    few = search(rng.standard_normal((10, 19)), rng.standard_normal(10), [-5.0]).rules
    many = search(rng.standard_normal((10, 20)), rng.standard_normal(10), [-5.0]).rules
    assert few.additions_mean_something(5.0)
    assert many.additions_mean_something(-np.log(20.0) - 0.01)
    assert not many.additions_mean_something(-np.log(20.0) + 0.01)


def test_the_limits_of_overfitting_are_exact():
    rules = random_search(21, 20).rules
    # weak features may hold exactly as much as the strong ones, and exactly 0.05 n_samples
    assert rules.overfits(found([0.75, 0.75, 0.5, 0.5, 0.5])) == ""
    assert rules.overfits(found([0.75, 0.75, 0.5, 0.5, 0.5], outside=0.01)) != ""
    assert rules.overfits(found([0.5, 0.5], outside=0.05)) == ""
    assert rules.overfits(found([0.5, 0.5], outside=0.06)).startswith("unselected features hold a total inclusion of")
    # m = ½ is not selected
    assert rules.overfits(found([0.5] * 11 + [0.9] * 8)) == ""


@pytest.mark.parametrize(("n_features", "can_interpolate"), [(18, False), (19, True), (20, True)])
def test_as_many_features_as_samples_but_one_can_interpolate(n_features, can_interpolate):
    rules = random_search(20, n_features).rules
    assert (rules.overfits(several_in(10, of=n_features)) != "") == can_interpolate
    assert rules.overfits(several_in(9, of=n_features)) == ""  # 9 ≤ (20 − 1)/2


def test_outside_features_may_not_hold_a_sizeable_part_of_the_samples_under_a_flat_prior():
    flat, shrunk = rules(), rules(ridge=0.1)
    ten = np.full(10, 0.9)
    assert flat.overfits(found(ten, outside=6.0)) == ""  # 0.15 of 40 samples
    assert flat.overfits(found(ten, outside=6.1)) == (
        "unselected features hold a total inclusion of 6.1: together they begin to explain y"
    )
    assert shrunk.overfits(found(ten, outside=6.1)) == ""


def test_the_dual_is_not_asked_for_where_the_path_ends(monkeypatch):
    asked, diffuse = [], WorkingSet._diffuse
    monkeypatch.setattr(WorkingSet, "_diffuse", lambda *a, **b: asked.append(a) or diffuse(*a, **b))
    X, y, _ = sparse_regression(50, 1500, 5, sigma=1.0, rng=np.random.default_rng(22))
    path = garrote_path(X, y)
    assert "together they begin to explain y" in path.stopped
    assert not asked
    with pytest.warns(ConvergenceWarning, match=r"^1 of 2 solutions did not come to rest, the first at gamma = -3\.5:"):
        garrote_path(X, y, gammas=[-8.0, -3.5])
    assert asked


# ---- cascades ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "larger", "left"), [(0, 2, 0.5), (5, 17, 0.3), (3, 40, 0.01), (10, 30, 1e-9)])
def test_sets_of_useless_features_are_counted_by_the_beta_distribution(size, larger, left):
    added = larger - size
    exact = math.log(math.comb(500 - size, added)) + beta.logcdf(left, 0.5 * (99 - larger), 0.5 * added)
    bound = log_sets_as_good(100, 500, size, larger, left)
    assert exact - 0.5 < bound <= exact + 1e-9


def test_so_many_pairs_of_useless_features_explain_as_much():
    rng, left, counted = np.random.default_rng(0), 0.6, 0
    for _ in range(10_000):
        r = np.corrcoef(rng.standard_normal((13, 15)))  # of y and twelve features
        y, first, second = r[0, 1:], *np.triu_indices(12, 1)
        between = r[1:, 1:][first, second]
        explained = (y[first] ** 2 + y[second] ** 2 - 2.0 * y[first] * y[second] * between) / (1.0 - between**2)
        counted += np.count_nonzero(explained >= 1.0 - left)
    assert_allclose(counted / 10_000, math.exp(log_sets_as_good(15, 12, 0, 2, left)), rtol=0.05)


def test_nothing_left_is_never_chance_and_all_left_always_is():
    assert log_sets_as_good(50, 200, 2, 10, 0.0) == -math.inf
    assert_allclose(log_sets_as_good(50, 200, 2, 10, 1.0), math.log(math.comb(198, 8)))


def rules(n_samples=40, n_features=100, **model):
    rng = np.random.default_rng(0)
    return Overfitting(
        Samples(rng.standard_normal((n_samples, n_features)), rng.standard_normal(n_samples)),
        Model(**model),
    )


def test_a_cascade_is_more_than_a_move_may_bring_in_and_no_better_than_useless_features():
    assert rules().cascade(-8.0, 2, 14, 1.0, 0.1) == (
        "at gamma = -8 free energy is lowest with 14 features, but the 12 added to 2 "
        "explain no more than the best 12 of 98 useless ones would"
    )
    assert rules().cascade(-8.0, 2, 13, 1.0, 0.1) == ""  # a move and its cascade
    assert rules().cascade(-8.0, 2, 14, 1.0, 1e-4) == ""  # useless ones would not explain so much
    assert rules().cascade(-math.log(100.0) + 0.01, 2, 14, 1.0, 0.1) == ""  # the prior expects a useless one


def test_where_features_are_few_or_not_alike_or_shrunk_no_cascade_is_doubted():
    assert rules(n_features=80).cascade(-8.0, 2, 14, 1.0, 0.1) != ""
    assert rules(n_features=79).cascade(-8.0, 2, 14, 1.0, 0.1) == ""
    assert rules(prior_log_odds=np.full(100, 0.5)).cascade(-8.0, 2, 14, 1.0, 0.1) != ""
    assert rules(prior_log_odds=np.linspace(0.0, 1.0, 100)).cascade(-8.0, 2, 14, 1.0, 0.1) == ""
    assert rules(ridge=0.1).cascade(-8.0, 2, 14, 1.0, 0.1) == ""


def with_noise(count, free_energy, noise):
    point = Point(several_in(count, free_energy, of=100), "up")
    point.found.run.end.noise = noise
    return point


@pytest.fixture
def tries():
    """A search with one feature in at each of its γ, where F is 1."""
    tries = random_search(40, 100, grid=(-9.0, -8.0, -7.0, -6.0))
    tries.best = [with_noise(1, 1.0, 1.0) for _ in range(4)]
    tries.up, tries.down, tries.end = [1.0] * 4, [1.0] * 4, 4
    return tries


def test_a_path_ends_below_a_cascade(tries):
    assert not tries.keep(2, with_noise(13, 0.0, 0.1))
    assert (tries.end, len(tries.best), len(tries.up), len(tries.down)) == (2, 2, 2, 2)
    assert tries.cascade.startswith("at gamma = -7 free energy is lowest with 13 features")
    assert tries.keep(1, with_noise(12, 0.0, 0.1))


def test_a_path_keeps_its_first_point(tries):
    assert not tries.keep(0, with_noise(13, 0.0, 0.1))
    assert (tries.end, len(tries.best)) == (1, 1)


def test_a_given_grid_is_not_cut_by_a_cascade(tries):
    tries.cut = False
    assert tries.keep(2, with_noise(13, 0.0, 0.1))
    assert (tries.end, tries.cascade) == (4, "")


def test_restarts_end_where_the_path_does(tries, monkeypatch):
    ends = iter([*(with_noise(2, 2.0, 0.9) for _ in range(3)), with_noise(13, 0.0, 0.1)])
    monkeypatch.setattr(tries, "descend", lambda k, theta, branch, **_: next(ends))
    monkeypatch.setattr(tries, "try_exchange", lambda k: False)
    monkeypatch.setattr(tries, "settle", lambda: None)
    restart(tries, check_restarts(3, 0))
    assert tries.end == 1
    assert next(ends, None) is None  # three restarts were made at the first γ, one at the second, and none after it


CASCADES = [((30, 200, 2), 18), ((30, 500, 2), 15)]


@pytest.mark.parametrize(("shape", "seed"), CASCADES)
def test_the_default_path_ends_below_a_cascade_but_a_given_grid_does_not(shape, seed):
    X, y, coef = sparse_regression(*shape, sigma=0.7, rng=np.random.default_rng(seed))
    path = garrote_path(X, y)
    assert "useless ones would" in path.stopped
    for solution in path:
        assert not set(np.flatnonzero(solution.m > 0.5)) - set(np.flatnonzero(coef))
    further = garrote_path(X, y, gammas=np.append(path.gammas, [float(path.stopped.split()[3]), -4.0]))
    assert (len(further), further.stopped) == (len(path) + 2, "")
    assert np.count_nonzero(further[-1].m > 0.5) > np.count_nonzero(path[-1].m > 0.5)


@pytest.mark.parametrize(("shape", "seed"), CASCADES)
def test_compiled_and_plain_search_end_below_the_same_cascade(shape, seed, monkeypatch):
    X, y, _ = sparse_regression(*shape, sigma=0.7, rng=np.random.default_rng(seed))
    path = garrote_path(X, y)
    monkeypatch.setattr(garrote.search, "COMPILED", False)
    plain = garrote_path(X, y)
    assert (len(path), path.stopped) == (len(plain), plain.stopped)
    assert_allclose(path.free_energies, plain.free_energies)
    assert (path.n_iter, path.n_factorizations) == (plain.n_iter, plain.n_factorizations)


def test_a_path_with_a_working_set_ends_below_a_cascade():
    X, y, coef = sparse_regression(60, 2000, 4, sigma=0.7, rng=np.random.default_rng(48))
    path = garrote_path(X, y)
    assert path.n_passes > 0 and "useless ones would" in path.stopped
    assert all(np.array_equal(solution.m > 0.5, coef != 0.0) for solution in path)


def test_a_signal_that_comes_at_once_is_no_cascade(monkeypatch):
    """Twenty strong features that enter together explain far more than useless ones would."""
    asked, cascade = [], Overfitting.cascade

    def remembered(self, gamma, size, larger, *noises):
        asked.append((size, larger, cascade(self, gamma, size, larger, *noises)))
        return asked[-1][2]

    monkeypatch.setattr(Overfitting, "cascade", remembered)
    X, y, coef = sparse_regression(100, 300, 20, sigma=0.1, rng=np.random.default_rng(0))
    path = garrote_path(X, y)
    assert any(larger > size + 11 for size, larger, _ in asked)
    assert not any(why for *_, why in asked)
    assert any(np.array_equal(solution.m > 0.5, coef != 0.0) for solution in path)


def test_a_slab_prior_is_searched_whole():
    X, y, _ = sparse_regression(30, 200, 2, sigma=0.7, rng=np.random.default_rng(18))
    problem = Samples(X, y)
    path = trace(problem, garrote_path(X, y).gammas, Model(ridge=0.1), whole_grid=False)
    assert path.stopped == ""
