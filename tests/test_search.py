"""The rules of the search, one by one: what is tried, and from where.

Most of these tests give the search the ends of descents, instead of descending, and look at what it does with them.
"""

import math

import numpy as np
import pytest
from scipy.special import expit
from searches import Descents, found, one_in, random_search, search, several_in

import garrote.search
from garrote.points import Point, Start
from garrote.problem import Samples
from garrote.search import Search
from garrote.workingset import Model


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
    one, other = [0.9, 0.1, 0.1], [0.1, 0.9, 0.1]
    ends = {k: [found(other if k % 2 else one, free_energy=9.0 - k, target=[k, -k, 0.0])] for k in range(4)}
    descents = Descents(tries, monkeypatch, ends)
    assert tries.anneal_up(False) == ""
    assert [(k, branch) for k, _, branch, _ in descents.asked] == [(k, "up") for k in range(4)]
    starts = [theta.tolist() for _, theta, _, _ in descents.asked]
    assert starts == [[-5.0] * 3, [0.0, 0.0, 0.0], [1.0, -1.0, 0.0], [2.0, -2.0, 0.0]]
    assert descents.near[0].w is None
    for near, point in zip(descents.near[1:], tries.best[:3], strict=True):
        assert near.w is point.w
    assert tries.up == [point.free_energy for point in tries.best] == [9.0, 8.0, 7.0, 6.0]
    assert tries.end == 4


def test_annealing_foresees_a_point_from_those_of_the_same_branch(monkeypatch):
    tries = random_search(30, 3, grid=(-5.0, -4.0, -2.0, -1.0, 0.0))
    thetas = [[1.0, -3.0, -1.0], [1.5, -4.0, -0.1], [2.0, -4.5, -0.3], [2.0, 1.0, -0.4], [2.0, 1.0, -0.5]]
    ends = {k: [found(expit(theta), free_energy=9.0 - k)] for k, theta in enumerate(thetas)}
    descents = Descents(tries, monkeypatch, ends)
    tries.anneal_up(False)
    descents.assert_foreseen(2, tries.grid, -1, tries.best[1::-1])
    descents.assert_foreseen(3, tries.grid, -1, tries.best[2::-1])
    np.testing.assert_allclose(descents.asked[4][1], expit(thetas[3]))  # one has jumped in


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


@pytest.mark.parametrize(
    ("n_samples", "gamma", "most"),
    [
        (201, -4.0, 13),  # 400 e^−4 useless features are expected: after ten more than three the cascade is looked at
        (201, -7.0, math.inf),  # but not where less than one is expected
        (61, -4.0, math.inf),  # nor where no more than 27 others may be selected
    ],
)
def test_a_cascade_on_the_way_up_is_looked_at_where_it_may_be_a_long_avalanche(n_samples, gamma, most, monkeypatch):
    tries = random_search(n_samples, 402, [gamma])
    assert tries.cut
    descents = Descents(tries, monkeypatch, {0: [several_in(3, of=402)]})
    tries.anneal(0, Start(np.where(np.arange(402) < 3, 1.0, -5.0), None))
    assert descents.most == [most]
    tries.cut = False  # a given grid is solved whole
    descents = Descents(tries, monkeypatch, {0: [several_in(3, of=402)]})
    tries.anneal(0, Start(np.where(np.arange(402) < 3, 1.0, -5.0), None))
    assert descents.most == [math.inf]


@pytest.mark.parametrize("size", [0, 101])
def test_an_avalanche_ends_the_path_and_another_cascade_goes_on(size, monkeypatch):
    tries = random_search(201, 402, [-4.0])
    ends = [several_in(14, of=402, converged=False), several_in(20, of=402)]
    descents = Descents(tries, monkeypatch, {0: list(ends)})
    monkeypatch.setattr(garrote.search, "falls_without_end", lambda *_: size)
    point, reason = tries.anneal(0, Start(np.where(np.arange(402) < 3, 1.0, -5.0), None))
    if size:
        assert descents.most == [13] and point.found is ends[0]
        assert reason == "101 features are selected from 201 samples: the fit begins to interpolate"
    else:
        assert descents.most == [13, math.inf] and point.found is ends[1] and reason == ""
        np.testing.assert_array_equal(descents.asked[1][1], ends[0].run.end.theta)
        np.testing.assert_array_equal(descents.near[1].w, ends[0].run.end.w)


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
    for which, trail in enumerate([[best[3]], [lower, best[3]], [higher, lower, best[3]]]):
        descents.assert_foreseen(which, tries.grid, 1, trail)
    assert descents.homes == best[2::-1]  # where it comes to one of these, it has merged
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
    tries, descents = descended(monkeypatch, best, ends)
    assert descents.where == [2, 1, 0]
    descents.assert_foreseen(1, tries.grid, 1, best[2:])
    descents.assert_foreseen(2, tries.grid, 1, [fresh, *best[2:]])


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


def test_the_neighbours_branch_is_foreseen_where_it_goes_on_beyond_it(monkeypatch):
    tries = random_search(30, 3)
    goes_on = Point(found([0.1, 0.8, 0.1], free_energy=6.0), "up")
    tries.best, tries.end = [one_in(0, 9.0), one_in(1, 7.0), goes_on, one_in(2, 5.0)], 4
    descents = Descents(tries, monkeypatch, {0: [one_in(1, 8.5)], 2: [one_in(2, 5.5)]})
    assert tries.try_neighbour(0, 1)
    descents.assert_foreseen(0, tries.grid, 1, tries.best[1:])
    assert tries.try_neighbour(2, 3)  # there is nothing beyond the last
    np.testing.assert_array_equal(descents.asked[1][1], tries.best[3].theta)


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
    np.testing.assert_array_equal(theta, above.theta)
    np.testing.assert_array_equal(descents.near[1].w, above.w)
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
    starts = [Start(np.array(theta), np.ones(3)) for theta in ([5.0, 1.0, -5.0], [5.0, -5.0, 1.0])]
    asked = exchanged(tries, monkeypatch, starts)
    ends = [one_in(1, 9.0), better := one_in(2, 8.0), best := one_in(1, 7.0), one_in(0, 7.5), one_in(0, 7.5)]
    descents = Descents(tries, monkeypatch, {0: ends})
    assert tries.try_exchange(0)
    assert tries.best == [best]
    assert [beat for *_, beat in descents.asked] == [first, first, better, best, best]
    assert {branch for _, _, branch, _ in descents.asked} == {"exchange"}
    for (_, theta, _, _), near, expected in zip(
        descents.asked, descents.near, [*starts, starts[0], *starts], strict=True
    ):
        np.testing.assert_array_equal(theta, expected.theta)
        assert near is expected
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
