"""The rules of the search, one by one: what is tried from where, what is kept, where the path ends.

Most of these tests give the search the ends of descents, instead of descending, and look at what it does with them.
"""

import math
from collections import Counter

import numpy as np
import pytest
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

import garrote.search
from garrote import garrote_path
from garrote.datasets import example2, sparse_regression
from garrote.energy import Energy
from garrote.minimise import Descent
from garrote.path import Path, trace
from garrote.problem import Samples
from garrote.search import Point, Search
from garrote.workingset import Found, Model, WorkingSet


def search(X, y, grid, ridge=0.0):
    return Search(Samples(X, y), np.asarray(grid), Model(ridge=ridge), 1e-8, 1000)


def random_search(n_samples, n_features, grid=(-5.0, -4.0, -3.0, -2.0)):
    rng = np.random.default_rng(0)
    return search(rng.standard_normal((n_samples, n_features)), rng.standard_normal(n_samples), grid)


def found(m, *, at_rest=True, outside=0.0, converged=True, free_energy=0.0, n_iter=3, looked=False, target=None):
    """A descent that ended with these inclusions."""
    m = np.asarray(m, dtype=float)
    end = Energy(logit(m), m, m, m, 1.0, free_energy, m if target is None else np.asarray(target), 0.0)
    run = Descent(end, n_iter=n_iter, converged=converged)
    return Found(run, outside_mass=outside, at_rest=at_rest, looked=looked)


def one_in(position, free_energy, **what):
    """A point with one of three features in."""
    return Point(found(np.where(np.arange(3) == position, 0.9, 0.1), free_energy=free_energy, **what), "up")


def several_in(count, free_energy=0.0, of=20, **what):
    return found(np.where(np.arange(of) < count, 0.9, 0.01), free_energy=free_energy, **what)


class Descents:
    """Stands for ``Search.descend``: ends as told, and remembers from where it was to begin."""

    def __init__(self, tries, monkeypatch, ends):
        self.ends = {k: list(several) for k, several in ends.items()}
        self.asked, self.near = [], []
        monkeypatch.setattr(tries, "descend", self)

    def __call__(self, k, theta, branch, *, near=None, beat=None):
        self.asked.append((k, np.array(theta), branch, beat))
        self.near.append(near)
        end = self.ends[k].pop(0)
        return end if isinstance(end, Point) else Point(end, branch)

    @property
    def where(self):
        return [k for k, *_ in self.asked]


class Question(dict):
    """What ``WorkingSet.descend`` was asked."""

    __getattr__ = dict.__getitem__


def ask(tries, k, theta, branch, monkeypatch, **others):
    """What a search asks its working set for, at the k-th γ; and the point that it makes of the answer."""
    question, answer = Question(), found([0.9])

    def descend(gamma, theta, **asked):
        question.update(gamma=gamma, theta=theta, **asked)
        return answer

    monkeypatch.setattr(tries.active, "descend", descend)
    point = tries.descend(k, np.asarray(theta, dtype=float), branch, **others)
    assert point.found is answer and point.branch == branch
    return question


# ---- one descent ---------------------------------------------------------------------------------------------------


def test_a_descent_is_asked_for_at_its_gamma_with_the_users_tolerance(monkeypatch):
    tries = Search(Samples(np.eye(9)[:, :3], np.arange(9.0)), np.array([-5.0, -4.0]), Model(), 1e-5, 77)
    question = ask(tries, 1, [1.0, -2.0, 0.5], "up", monkeypatch)
    assert (question.gamma, question.tol, question.max_iter, question.rival) == (-4.0, 1e-5, 77, None)
    np.testing.assert_array_equal(question.theta, [1.0, -2.0, 0.5])
    assert question.w is None


def test_a_descent_near_a_point_begins_with_its_w(monkeypatch):
    point = one_in(0, 5.0)
    assert ask(random_search(30, 3), 0, point.theta, "up", monkeypatch, near=point).w is point.found.run.end.w


def test_where_x_can_interpolate_y_a_descent_may_select_half_as_many_features_as_samples(monkeypatch):
    wide, tall = random_search(21, 20), random_search(21, 19)
    nothing = np.full(20, -5.0)
    assert ask(tall, 0, nothing[:19], "up", monkeypatch).most == math.inf
    assert ask(wide, 0, nothing, "up", monkeypatch).most == 10
    assert ask(wide, 0, nothing, "restart", monkeypatch).most == math.inf
    wide.cut, wide.end = False, 2  # a grid that is solved whole, and overfits from its third γ on
    assert [ask(wide, k, nothing, "up", monkeypatch).most for k in range(4)] == [10, 10, math.inf, math.inf]
    assert ask(wide, 0, nothing, "down", monkeypatch).most == 10


@pytest.mark.parametrize(
    ("n_features", "gamma", "most"),
    [
        (19, -5.0, 13),  # ten more than the three of the start
        (20, -5.0, 10),  # but no more than half as many as there are samples
        (60, -5.0, 10),
        (60, -4.0, 3),  # here the prior expects 1.1 useless features
    ],
)
def test_an_exchange_is_no_avalanche(n_features, gamma, most, monkeypatch):
    theta = np.where(np.arange(n_features) < 3, 0.5, -5.0)
    theta[3] = 0.0  # m = ½ is not selected
    assert ask(random_search(21, n_features, [gamma]), 0, theta, "exchange", monkeypatch).most == most


def test_a_descent_knows_whom_it_is_to_beat_and_by_how_much(monkeypatch):
    tries, beat = random_search(30, 3), one_in(0, 5.0)
    question = ask(tries, 0, beat.theta, "exchange", monkeypatch, beat=beat)
    np.testing.assert_array_equal(question.rival.m, beat.found.run.end.m)
    assert question.rival.free_energy == 5.0 - 1e-7
    give_up = question.give_up
    # in the same basin it will end at the same F; elsewhere, features that are not seen yet may lower F by one
    assert give_up(one_in(0, 5.0).found) and not give_up(one_in(0, 5.0 - 2e-7).found)
    assert give_up(one_in(1, 6.0).found) and not give_up(one_in(1, 6.0 - 2e-7).found)


def test_annealing_gives_up_where_the_path_will_end(monkeypatch):
    tries = random_search(21, 20)
    nothing = np.full(20, -5.0)
    give_up = ask(tries, 0, nothing, "up", monkeypatch).give_up
    assert give_up(several_in(11, looked=True))
    assert not give_up(several_in(11, looked=False))  # X has not been looked at: they may leave again
    assert not give_up(several_in(10, looked=True))
    tries.cut = False
    assert not ask(tries, 0, nothing, "up", monkeypatch).give_up(several_in(11, looked=True))
    tries.cut = True
    assert not ask(tries, 0, nothing, "down", monkeypatch).give_up(several_in(11, looked=True))


# ---- up ------------------------------------------------------------------------------------------------------------


def test_annealing_begins_at_the_prior_and_goes_on_from_where_each_point_aims(monkeypatch):
    tries = random_search(30, 3)
    ends = {k: [found([0.9, 0.1, 0.1], free_energy=9.0 - k, target=[k, -k, 0.0])] for k in range(4)}
    descents = Descents(tries, monkeypatch, ends)
    assert tries.anneal_up(False) == ""
    assert [(k, branch) for k, _, branch, _ in descents.asked] == [(k, "up") for k in range(4)]
    starts = [theta.tolist() for _, theta, _, _ in descents.asked]
    assert starts == [[-5.0] * 3, [0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [2.0, -2.0, 0.0]]
    assert descents.near == [None, *tries.best[:3]]
    assert tries.up == [point.free_energy for point in tries.best] == [9.0, 8.0, 7.0, 6.0]
    assert tries.end == 4


OVERFITS = "11 features are selected from 21 samples: the fit begins to interpolate"


def test_the_default_grid_ends_before_the_first_point_that_overfits(monkeypatch):
    tries = random_search(21, 20)
    descents = Descents(
        tries, monkeypatch, {0: [several_in(1, 9.0)], 1: [several_in(2, 8.0)], 2: [several_in(11, 7.0)]}
    )
    assert tries.anneal_up(False) == OVERFITS
    assert descents.where == [0, 1, 2]
    assert tries.up == [point.free_energy for point in tries.best] == [9.0, 8.0]
    assert tries.end == 2


def test_a_path_has_a_first_point_even_if_that_overfits(monkeypatch):
    tries = random_search(21, 20)
    Descents(tries, monkeypatch, {0: [several_in(11, 9.0)], 1: [several_in(2, 8.0)]})
    assert tries.anneal_up(False) == OVERFITS
    assert tries.up == [9.0]
    assert tries.end == 0


def test_a_given_grid_is_solved_beyond_the_first_point_that_overfits_but_no_branch_is_followed_there(monkeypatch):
    tries = random_search(21, 20)
    counts = (1, 11, 2, 12)
    Descents(tries, monkeypatch, {k: [several_in(count, 9.0 - k)] for k, count in enumerate(counts)})
    assert tries.anneal_up(True) == ""
    assert tries.up == [9.0, 8.0, 7.0, 6.0]
    assert (tries.end, tries.cut) == (1, False)


# ---- down ----------------------------------------------------------------------------------------------------------


def descended(monkeypatch, best, ends, end=None):
    """A search whose branches were followed down from these points."""
    tries = random_search(30, 3)
    tries.best, tries.up = list(best), [point.free_energy for point in best]
    tries.end = len(best) if end is None else end
    descents = Descents(tries, monkeypatch, ends)
    tries.follow_down()
    assert all(branch == "down" and beat is None for _, _, branch, beat in descents.asked)
    return tries, descents


def test_a_branch_is_followed_down_from_a_jump_until_it_merges(monkeypatch):
    best = [one_in(0, 9.0), one_in(0, 8.0), one_in(0, 7.0), one_in(1, 6.0)]
    ends = {2: [lower := one_in(1, 6.5)], 1: [higher := one_in(1, 8.5)], 0: [one_in(0, 9.0 + 0.5e-7)]}
    tries, descents = descended(monkeypatch, best, ends)
    assert descents.where == [2, 1, 0]
    assert descents.near == [best[3], lower, higher]
    for (_, theta, _, _), above in zip(descents.asked, descents.near, strict=True):
        np.testing.assert_array_equal(theta, above.theta)
    assert tries.down == [9.0 + 0.5e-7, 8.5, 6.5, 6.0]
    assert tries.best == [best[0], best[1], lower, best[3]]


def test_where_nothing_jumped_nothing_is_followed(monkeypatch):
    best = [one_in(0, 9.0), one_in(1, 8.0), one_in(1, 7.0), one_in(1, 6.0)]
    tries, descents = descended(monkeypatch, best, {0: [one_in(1, 9.5)]})
    assert descents.where == [0]
    assert tries.down == [9.5, 8.0, 7.0, 6.0]


def test_a_branch_that_has_merged_is_left_and_the_next_jump_opens_another(monkeypatch):
    best = [one_in(0, 9.0), one_in(2, 8.0), one_in(0, 7.0), one_in(1, 6.0)]
    merged = Point(found([0.8, 0.2, 0.2], free_energy=7.0), "down")
    ends = {2: [merged], 1: [fresh := one_in(0, 8.25)], 0: [one_in(0, 9.0)]}
    _, descents = descended(monkeypatch, best, ends)
    assert descents.where == [2, 1, 0]
    np.testing.assert_array_equal(descents.asked[1][1], best[2].theta)
    np.testing.assert_array_equal(descents.asked[2][1], fresh.theta)


def test_where_a_branch_is_abandoned_the_next_begins_at_the_best_point_above(monkeypatch):
    best = [one_in(0, 9.0), one_in(2, 8.0), one_in(0, 7.0), one_in(1, 6.0)]
    ends = {2: [one_in(1, 1.0, converged=False)], 1: [one_in(0, 7.75)], 0: [one_in(0, 8.5)]}
    tries, descents = descended(monkeypatch, best, ends)
    np.testing.assert_array_equal(descents.asked[1][1], best[2].theta)
    assert tries.down == [8.5, 7.75, 7.0, 6.0]
    assert [point.free_energy for point in tries.best] == [8.5, 7.75, 7.0, 6.0]


def test_no_branch_comes_down_from_where_the_path_overfits(monkeypatch):
    best = [one_in(0, 9.0), one_in(1, 8.0), one_in(2, 7.0)]
    tries, descents = descended(monkeypatch, best, {0: [one_in(1, 9.5)]}, end=2)
    assert descents.where == [0]
    assert tries.down == [9.5, 8.0, 7.0]


# ---- settle --------------------------------------------------------------------------------------------------------


def settled(monkeypatch, changes, *, end=3):
    """The order in which a search looks for lower F, where the moves named in ``changes`` find it."""
    tries = random_search(30, 3)
    tries.best, tries.end = [one_in(k % 3, 9.0 - k) for k in range(4)], end
    order, brought = [], []

    def move(*name):
        order.append(name)
        return name in changes and order.count(name) <= changes[name]

    monkeypatch.setattr(tries, "try_neighbour", lambda k, neighbour: move("neighbour", k, neighbour))
    monkeypatch.setattr(tries, "try_exchange", lambda k: move("exchange", k))
    monkeypatch.setattr(tries.active, "bring_partners", lambda positions: brought.append(sorted(positions)))
    tries.settle()
    return order, brought


DOWN, UP = [(2, 3), (1, 2), (0, 1)], [(0, -1), (1, 0), (2, 1)]
SWEEP = [move for k, other in DOWN + UP for move in (("neighbour", k, other), ("exchange", k))]


def test_a_sweep_goes_down_and_up_and_is_the_last_if_it_changes_nothing(monkeypatch):
    order, brought = settled(monkeypatch, {})
    assert order == SWEEP
    assert brought == [[0, 1, 2]]


@pytest.mark.parametrize("move", SWEEP[:-1])
def test_after_any_change_the_grid_is_swept_again(move, monkeypatch):
    order, brought = settled(monkeypatch, {move: 1})
    assert order == 2 * SWEEP
    assert len(brought) == 2


def test_sweeps_end_even_if_they_change_something_for_ever(monkeypatch):
    order, _ = settled(monkeypatch, {("exchange", 0): math.inf}, end=1)
    assert order == 10 * [("neighbour", 0, 1), ("exchange", 0), ("neighbour", 0, -1), ("exchange", 0)]


def test_the_neighbours_solution_is_tried_once_and_only_if_it_selects_otherwise(monkeypatch):
    tries = random_search(30, 3)
    tries.best, tries.end = [one_in(0, 9.0), one_in(1, 8.0), one_in(1, 7.0), one_in(2, 6.0)], 3
    ends = {0: [one_in(1, 9.5), one_in(2, 8.75)], 1: [one_in(0, 7.5)]}
    descents = Descents(tries, monkeypatch, ends)
    assert not tries.try_neighbour(0, 1)  # F is not lower
    assert not tries.try_neighbour(0, 1)  # not again
    assert not tries.try_neighbour(1, 2)  # the same selection
    assert not tries.try_neighbour(2, 3)  # beyond the end
    assert not tries.try_neighbour(0, -1)  # before the first
    assert descents.where == [0]
    before, above = tries.best[1], tries.best[0]
    assert tries.try_neighbour(1, 0)  # another γ: not tried there
    k, theta, branch, beat = descents.asked[1]
    assert (k, branch, beat) == (1, "neighbour", before)
    assert descents.near[1] is above
    np.testing.assert_array_equal(theta, above.theta)
    assert tries.best[1].free_energy == 7.5
    tries.best[1] = one_in(2, 7.25)  # another solution: tried
    assert tries.try_neighbour(0, 1)
    assert tries.best[0].free_energy == 8.75


def exchanged(tries, monkeypatch, starts):
    """The descents of a search whose moves lead to these starts; and with what the moves were asked for."""
    asked = []

    def moves(block, solution, gamma, ridge, *, adds, swaps):
        asked.append({"solution": solution, "gamma": gamma, "ridge": ridge, "adds": adds, "swaps": swaps})
        return iter(starts)

    monkeypatch.setattr(garrote.search, "moves", moves)
    return asked


def test_exchange_goes_on_until_no_move_lowers_free_energy(monkeypatch):
    tries = random_search(30, 3)
    tries.best = [first := one_in(0, 9.0)]
    starts = [np.array([5.0, 1.0, -5.0]), np.array([5.0, -5.0, 1.0])]
    asked = exchanged(tries, monkeypatch, starts)
    ends = [one_in(1, 9.0), better := one_in(2, 8.0), best := one_in(1, 7.0), one_in(0, 7.5), one_in(0, 7.5)]
    descents = Descents(tries, monkeypatch, {0: ends})
    assert tries.try_exchange(0)
    assert tries.best == [best]
    assert [beat for *_, beat in descents.asked] == descents.near == [first, first, better, best, best]
    assert {branch for _, _, branch, _ in descents.asked} == {"exchange"}
    for (_, theta, _, _), expected in zip(descents.asked, [*starts, starts[0], *starts], strict=True):
        np.testing.assert_array_equal(theta, expected)
    for question, point in zip(asked, (first, better, best), strict=True):
        np.testing.assert_array_equal(question["solution"], point.theta)
        np.testing.assert_array_equal(question["gamma"], [-5.0] * 3)
        assert question["ridge"] == 0.0 and question["adds"]
    assert not tries.try_exchange(0)  # nothing is tried twice
    assert len(descents.asked) == 5


def test_swaps_of_one_selection_are_tried_at_three_gammas(monkeypatch):
    tries = random_search(30, 3, np.linspace(-5.0, -1.0, 8))
    just_in = Point(found([0.6, 0.1, 0.1]), "up")
    tries.best = [one_in(0, 9.0 - k) for k in range(5)] + [just_in, one_in(1, 3.0), one_in(0, 2.0)]
    asked = exchanged(tries, monkeypatch, [])
    assert not any(tries.try_exchange(k) for k in range(8))
    assert [question["swaps"] for question in asked] == [True, True, True, False, False, False, True, False]
    np.testing.assert_array_equal(asked[5]["gamma"], np.full(3, tries.grid[5]))


def test_features_are_added_by_exchange_only_where_additions_mean_something(monkeypatch):
    tries = random_search(21, 60, [-5.0, -4.0])
    tries.best = [Point(several_in(2, of=60), "up") for _ in range(2)]
    asked = exchanged(tries, monkeypatch, [])
    tries.try_exchange(0)
    tries.try_exchange(1)
    assert [question["adds"] for question in asked] == [True, False]


def test_the_slab_prior_enters_the_exchange(monkeypatch):
    rng = np.random.default_rng(0)
    tries = search(rng.standard_normal((30, 3)), rng.standard_normal(30), [-5.0], ridge=0.25)
    tries.best = [one_in(0, 1.0)]
    asked = exchanged(tries, monkeypatch, [])
    tries.try_exchange(0)
    assert asked[0]["ridge"] == 0.25


def test_nothing_is_exchanged_where_many_features_are_half_in(monkeypatch):
    tries = random_search(200, 60)
    asked = exchanged(tries, monkeypatch, [])
    half_in = {count: np.where(np.arange(60) < count, 0.4, 0.05) for count in (50, 51)}
    tries.best = [Point(found(half_in[51]), "up"), Point(found(half_in[50]), "up")]
    tries.try_exchange(0)
    assert not asked
    tries.try_exchange(1)
    assert len(asked) == 1


def test_features_are_undecided_between_a_twentieth_and_a_half():
    tries = random_search(200, 130)

    def undecided(half_in, selected, m=0.3, rest=0.01):
        return tries.undecided(found(np.repeat([m, 0.9, rest], [half_in, selected, 130 - half_in - selected])))

    assert undecided(51, 50) and not undecided(50, 0)  # fifty are many
    assert undecided(61, 60) and not undecided(60, 60)  # if more than are selected
    assert undecided(51, 0, m=0.5) and not undecided(51, 0, m=0.51)
    assert undecided(51, 0, m=0.051) and not undecided(51, 0, m=0.05)


# ---- what is kept, and where the path ends -------------------------------------------------------------------------


def test_what_counts_as_overfitting():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((21, 20)), rng.standard_normal(21)
    wide = search(X, y, [-5.0, -4.0])  # 20 features, 21 samples: they can interpolate
    tall = search(X[:, :19], y, [-5.0, -4.0])
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


def test_features_are_added_by_exchange_only_where_the_prior_expects_less_than_one():
    rng = np.random.default_rng(0)
    few = search(rng.standard_normal((10, 19)), rng.standard_normal(10), [-5.0])
    many = search(rng.standard_normal((10, 20)), rng.standard_normal(10), [-5.0])
    assert few.additions_mean_something(5.0)
    assert many.additions_mean_something(-np.log(20.0) - 0.01)
    assert not many.additions_mean_something(-np.log(20.0) + 0.01)


def test_points_with_the_same_features_in_are_in_the_same_basin():
    one, same, other = (Point(found(m), "up") for m in ([0.9, 0.5, 0.6], [0.99, 0.01, 0.7], [0.9, 0.6, 0.2]))
    np.testing.assert_array_equal(one.selected, [0, 2])
    assert one.same_selection(same)
    assert not one.same_selection(other)


def test_the_limits_of_overfitting_are_exact():
    tries = random_search(21, 20)
    # weak features may hold exactly as much as the strong ones, and exactly 0.05 n_samples
    assert tries.overfits(found([0.75, 0.75, 0.5, 0.5, 0.5])) == ""
    assert tries.overfits(found([0.75, 0.75, 0.5, 0.5, 0.5], outside=0.01)) != ""
    assert tries.overfits(found([0.5, 0.5], outside=0.05)) == ""
    assert tries.overfits(found([0.5, 0.5], outside=0.06)).startswith("unselected features hold a total inclusion of")
    # m = ½ is not selected
    assert tries.overfits(found([0.5] * 11 + [0.9] * 8)) == ""


@pytest.mark.parametrize(("n_features", "can_interpolate"), [(18, False), (19, True), (20, True)])
def test_as_many_features_as_samples_but_one_can_interpolate(n_features, can_interpolate):
    tries = random_search(20, n_features)
    assert (tries.overfits(several_in(10, of=n_features)) != "") == can_interpolate
    assert tries.overfits(several_in(9, of=n_features)) == ""  # 9 ≤ (20 − 1)/2


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

    for part in ("follow_down", "settle"):
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

    monkeypatch.setattr(WorkingSet, "descend", counted)
    path = garrote_path(X, y, gammas=4)
    assert path.n_iter == sum(result.run.n_iter for result in runs)
    assert path.n_factorizations == sum(result.run.n_factorizations for result in runs)
    assert path.n_passes == 0
