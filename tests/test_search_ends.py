"""The rules of the search, one by one: what is kept, where the path ends, and what becomes of it then."""

import math
from collections import Counter

import numpy as np
import pytest
from searches import found, one_in, random_search, search, several_in
from sklearn.exceptions import ConvergenceWarning

import garrote.search
from garrote import garrote_path
from garrote.datasets import example2, sparse_regression
from garrote.path import Path, trace
from garrote.points import Point
from garrote.problem import Samples
from garrote.search import Search
from garrote.workingset import Model, WorkingSet

# ---- what is kept, and where the path ends -------------------------------------------------------------------------


def test_a_point_is_kept_only_if_it_is_sound_and_lower():
    rng = np.random.default_rng(0)
    tries = search(rng.standard_normal((30, 3)), rng.standard_normal(30), [-5.0])
    first = Point(found([0.9, 0.1, 0.1], free_energy=1.0), "up")
    tries.best = [first]
    for refused in (
        found([0.1, 0.9, 0.1], free_energy=1.0),
        found([0.1, 0.9, 0.1], free_energy=1.0 - 0.5e-7),
        found([0.1, 0.9, 0.1], free_energy=0.0, converged=False),
    ):
        assert not tries.keep(0, Point(refused, "down"))
        assert tries.best == [first]
    out_of_steps = Point(found([0.1, 0.9, 0.1], free_energy=0.5, converged=False, n_iter=1000), "down")
    lower = Point(found([0.1, 0.1, 0.9], free_energy=0.25), "down")
    for better in (out_of_steps, lower):
        assert tries.keep(0, better)
        assert tries.best == [better]


def test_the_end_of_a_path_where_free_energy_rises_is_cut_off():
    rng = np.random.default_rng(0)
    tries = search(rng.standard_normal((30, 3)), rng.standard_normal(30), [-5.0, -4.0, -3.0, -2.0])
    tries.best = [Point(found([0.1], free_energy=f), "up") for f in (3.0, 2.0, 2.5, 2.75)]
    tries.up, tries.down = [3.0, 2.0, 2.5, 2.75], [3.0, 2.0, 2.5, 2.75]
    reason = tries.trim()
    assert reason == "solutions of lower free energy hold more inclusion in unselected than in selected features"
    assert [point.free_energy for point in tries.best] == tries.up == tries.down == [3.0, 2.0]
    assert tries.trim() == ""
    assert len(tries.best) == 2


def test_points_with_the_same_features_in_are_in_the_same_basin():
    one, same, other = (Point(found(m), "up") for m in ([0.9, 0.5, 0.6], [0.99, 0.01, 0.7], [0.9, 0.6, 0.2]))
    np.testing.assert_array_equal(one.selected, [0, 2])
    assert one.same_selection(same)
    assert not one.same_selection(other)


def test_a_point_that_overfits_is_not_kept_however_low():
    tries = random_search(21, 20)
    tries.best = [first := Point(several_in(5, 1.0), "up")]
    assert not tries.keep(0, Point(several_in(11, -100.0), "down"))
    assert tries.best == [first]
    assert tries.keep(0, Point(several_in(10, -100.0), "down"))


def test_a_descent_that_used_all_its_steps_was_not_abandoned():
    tries = random_search(30, 3)
    tries.best = [one_in(0, 1.0)]
    assert not tries.keep(0, one_in(1, 0.0, converged=False, n_iter=999))
    assert tries.keep(0, one_in(1, 0.0, converged=False, n_iter=1000))


def test_with_a_working_set_free_energy_must_drop_by_more(monkeypatch):
    monkeypatch.setattr(Samples, "ONE_BLOCK", 2)
    tries = random_search(30, 3)
    tries.best = [one_in(0, 1.0)]
    assert not tries.keep(0, one_in(1, 1.0 - 0.9e-3))
    assert tries.keep(0, one_in(1, 1.0 - 1.1e-3))


@pytest.mark.parametrize(("largest_block", "sizes"), [(2, [5]), (3, [])])
def test_features_that_no_kept_point_needs_leave_the_working_set(largest_block, sizes, monkeypatch):
    monkeypatch.setattr(Samples, "ONE_BLOCK", largest_block)
    tries, asked = random_search(30, 3), []
    monkeypatch.setattr(tries.active, "shrink", asked.append)
    tries.best = [Point(found([0.9] * size), "up") for size in (2, 5, 3)]
    tries.tidy()
    assert asked == sizes


def test_equal_free_energies_at_the_end_are_not_cut_off():
    tries = random_search(30, 3)
    tries.best = [one_in(0, f) for f in (2.0, 2.0)]
    tries.up, tries.down = [2.0, 2.0], [2.0, 2.0]
    assert tries.trim() == ""
    assert len(tries.best) == 2
    tries.best[0] = one_in(0, 1.0)
    assert tries.trim().startswith("solutions of lower free energy")
    assert len(tries.best) == len(tries.up) == len(tries.down) == 1
    assert tries.trim() == ""  # one is left


# ---- the whole -----------------------------------------------------------------------------------------------------


@pytest.fixture
def rising(monkeypatch):
    """A search that is done at once, at points of which the last has a higher F."""

    def anneal_up(self, whole_grid):
        self.best = [Point(several_in(1, f, of=len(self.active.features)), "up") for f in (3.0, 2.0, 2.5)]
        self.up, self.down = [3.0, 2.0, 2.5], [3.5, 2.0, 2.5]
        return "" if whole_grid else "for a reason"

    monkeypatch.setattr(garrote.search, "COMPILED", False)
    for part in ("follow_down", "climb", "settle"):
        monkeypatch.setattr(Search, part, lambda self: None)
    monkeypatch.setattr(Search, "anneal_up", anneal_up)


def traced(n_features=5, *, ridge=0.0, whole_grid=False, **others):
    rng = np.random.default_rng(0)
    problem = Samples(rng.standard_normal((30, n_features)), rng.standard_normal(30))
    return trace(problem, np.array([-5.0, -4.0, -3.0]), Model(ridge=ridge), whole_grid=whole_grid, **others)


def test_only_the_default_grid_is_cut_where_free_energy_rises(rising):
    path, whole = traced(), traced(whole_grid=True)
    np.testing.assert_array_equal(path.gammas, [-5.0, -4.0])
    assert path.stopped.startswith("solutions of lower free energy")
    np.testing.assert_array_equal(path.free_energy_down, [3.5, 2.0])
    np.testing.assert_array_equal(whole.gammas, [-5.0, -4.0, -3.0])
    assert whole.stopped == ""


def test_the_reason_for_which_annealing_ended_is_that_of_the_path(rising, monkeypatch):
    monkeypatch.setattr(Search, "trim", lambda self: "")
    assert traced().stopped == "for a reason"
    assert traced(ridge=0.1).stopped == ""  # a slab prior bounds F, and the path goes on
    monkeypatch.setattr(Samples, "ONE_BLOCK", 2)
    assert traced(ridge=0.1).stopped == "for a reason"  # but not where a background would have to be dense


def test_a_warning_counts_the_solutions_that_ran_out_of_steps():
    X, y, _ = sparse_regression(50, 20, 5, zeta=0.9, sigma=0.5, rng=np.random.default_rng(0))
    grid = [-30.0, -10.0, -5.0]
    with pytest.warns(ConvergenceWarning) as caught:
        garrote_path(X, y, gammas=grid, max_iter=1, tol=1e-7)
    text = str(caught[0].message)
    assert " of 3 solutions did not converge in 1 steps" in text
    assert any(f"gamma = {gamma:.4g}" in text for gamma in grid)
    assert text.count("> tol = 1.0e-07") == 1


def test_restarts_are_made_at_every_gamma_of_a_path(monkeypatch):
    X, y, _ = sparse_regression(40, 20, 6, zeta=0.95, sigma=0.1, rng=np.random.default_rng(5))
    starts = Counter()
    descend = Search.descend

    def counted(self, k, theta, branch, **others):
        starts[k, branch] += 1
        return descend(self, k, theta, branch, **others)

    monkeypatch.setattr(Search, "descend", counted)
    garrote_path(X, y, gammas=[-8.0, -6.0], n_restarts=3, random_state=0)
    assert starts[0, "restart"] == starts[1, "restart"] == 3


def test_a_slab_prior_lets_the_default_grid_go_on_to_its_end():
    X, y = example2(np.random.default_rng(2)).train
    assert len(garrote_path(X, y)) < 50
    path = garrote_path(X, y, ridge=0.5)
    assert (len(path), path.stopped) == (50, "")


@pytest.fixture
def huge():
    """X and y, and y in units of 2⁻⁴⁵⁰, which are not those that it is solved in."""
    X, y, _ = sparse_regression(40, 45, 5, zeta=0.5, sigma=0.5, rng=np.random.default_rng(0))
    return X, y, y * 2.0**450


@pytest.mark.parametrize("gammas", [50, [-12.0, -8.0, -4.0, 2.0]])
def test_a_path_is_in_the_units_of_the_user(huge, gammas):
    X, y, scaled = huge
    plain, path = garrote_path(X, y, gammas=gammas), garrote_path(X, scaled, gammas=gammas)
    assert path.stopped == plain.stopped
    np.testing.assert_allclose(path.gammas, plain.gammas, rtol=1e-12)
    for name in ("free_energies", "free_energy_up", "free_energy_down"):
        np.testing.assert_allclose(getattr(path, name), getattr(plain, name) + 40 * 450 * math.log(2.0), rtol=1e-9)
    np.testing.assert_allclose(path.coefs.toarray() * 2.0**-450, plain.coefs.toarray(), rtol=1e-6, atol=1e-9)


def test_tolerance_and_steps_are_those_of_the_user_in_any_units(huge):
    X, _, scaled = huge
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 2 steps; .* > tol = 1\.0e-12"):
        garrote_path(X, scaled, gammas=[-8.0, -6.0], max_iter=2, tol=1e-12)


def test_a_path_shows_itself_as_its_table():
    X, y, _ = sparse_regression(40, 6, 2, sigma=0.5, rng=np.random.default_rng(0))
    path = garrote_path(X, y, gammas=4)
    assert isinstance(path, Path)
    assert path._repr_html_() == path.summary()._repr_html_()
    assert "Path of the Variational Garrote" in path.summary()._repr_html_()
    assert path[1:3] == path.solutions[1:3]
    assert path.coefs.shape == path.inclusions.shape == (6, 4)


def test_the_cost_of_a_path_is_that_of_its_descents(monkeypatch):
    X, y, _ = sparse_regression(40, 6, 2, sigma=0.5, rng=np.random.default_rng(0))
    runs = []
    descend = WorkingSet.descend

    def counted(self, *args, **others):
        runs.append(result := descend(self, *args, **others))
        return result

    whole = garrote_path(X, y, gammas=4)
    monkeypatch.setattr(garrote.search, "COMPILED", False)
    monkeypatch.setattr(WorkingSet, "descend", counted)
    path = garrote_path(X, y, gammas=4)
    assert (path.n_iter, path.n_factorizations) == (whole.n_iter, whole.n_factorizations)
    assert path.n_iter == sum(result.run.n_iter for result in runs)
    assert path.n_factorizations == sum(result.run.n_factorizations for result in runs)
    assert path.n_passes == 0
