"""What is foreseen of the next solution, against functions of e^γ and against solutions."""

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from searches import found, search

from garrote.datasets import sparse_regression
from garrote.foresight import FORESIGHT, foreseen, weights
from garrote.path import default_gammas
from garrote.points import Point
from garrote.problem import Samples


def point(theta, w):
    end = found(expit(np.asarray(theta, dtype=float)))
    end.run.end = replace(end.run.end, theta=np.asarray(theta, dtype=float), w=np.asarray(w, dtype=float))
    return Point(end, "up")


def polynomial(gamma, degree, rng):
    """θ and w of four features whose w and θ − γ are polynomials of e^γ."""
    powers = np.exp(gamma) ** np.arange(degree + 1)
    theta, w = rng.standard_normal((2, 4, degree + 1)) * 0.1 @ powers
    return point(gamma + 30.0 * np.sign(np.arange(4) - 1.5) + theta, w)


@pytest.mark.parametrize("step", [-1, 1])
@pytest.mark.parametrize("degree", [1, 2])
def test_polynomials_of_the_exponential_are_foreseen_exactly(degree, step):
    grid = np.array([-2.0, -1.7, -1.2, -1.0])
    points = [polynomial(gamma, degree, np.random.default_rng(0)) for gamma in grid]
    k = 3 if step < 0 else 0
    others = [points[k + step * (i + 1)] for i in range(degree + 1)]
    start = foreseen(grid, k, step, others)
    assert_allclose(start.theta, points[k].theta, rtol=1e-12)
    assert_allclose(start.w, points[k].w, rtol=1e-12)


def test_nothing_is_foreseen_where_a_feature_jumps():
    grid = np.array([-3.0, -2.0, -1.0])
    near, far = point([5.0, -5.0], [1.0, 0.1]), point([-5.0, -5.0], [0.9, 0.1])
    for points in ([near, far], [near], [near, point([5.0, -5.0, -5.0], [1.0, 0.1, 0.1])]):
        assert foreseen(grid, 2, -1, points) is None


def test_where_a_feature_came_in_the_farthest_point_is_left_out():
    grid = np.array([-4.0, -3.0, -2.0, -1.0])
    near, far, farther = (point([theta, -5.0], [w, 0.1]) for theta, w in ((1.0, 1.0), (0.5, 0.9), (-0.5, 0.8)))
    expected, start = foreseen(grid, 3, -1, [near, far]), foreseen(grid, 3, -1, [near, far, farther])
    assert_array_equal(start.theta, expected.theta)
    assert_array_equal(start.w, expected.w)


def test_theta_changes_by_so_much_at_most():
    near, far = point([9.0, -9.0], [1.0, 0.1]), point([5.0, -5.0], [1.0, 0.1])
    start = foreseen(np.array([-2.2, -2.1, -2.0]), 2, -1, [near, far])
    assert_allclose(start.theta, [9.0 + FORESIGHT, -9.0 - FORESIGHT])


@pytest.mark.parametrize(
    "at",
    [
        [-2000.0, -2001.0],
        [0.0, -1e-9],
        [0.0, -1.0, -1.0 - 1e-9],
        [-900.0, 900.0],
        [0.0, -50.0, -100.0],
        [2.0, 600.0, 1200.0],
    ],
)
def test_nothing_is_foreseen_across_steps_that_are_large_or_very_unequal(at):
    assert all(map(math.isfinite, weights(1.0, at)))
    assert max(map(abs, weights(1.0, at))) < 100.0


def test_solutions_are_foreseen_ten_times_as_well_as_by_extrapolation_in_gamma():
    X, y, _ = sparse_regression(50, 100, 5, sigma=0.7, rng=np.random.default_rng(0))
    grid = default_gammas(Samples(X, y), 50)
    tries = search(X, y, grid)
    tries.anneal_up(False)
    off = []
    for k in range(4, 15):  # where no feature is selected yet
        ours = foreseen(grid, k, -1, tries.best[k - 1 : k - 4 : -1])
        near, far, solution = tries.best[k - 1], tries.best[k - 2], tries.best[k]
        off.append([np.abs(w - solution.w).max() for w in (ours.w, 2.0 * near.w - far.w)])
    ours, linear = np.array(off).T
    assert (ours < 0.1 * linear).all()
