"""The univariate and orthogonal theory against finite differences, dense grids and brute force."""

from itertools import product

import numpy as np
import pytest
from fuzzing import fuzz
from hypothesis import assume
from hypothesis import strategies as st

from garrote import theory

SAMPLES = st.integers(5, 5000)
RHO = st.floats(0.001, 0.98)
GAMMA = st.floats(-80.0, 2.0)


def slope(function, x, step):
    """The derivative, by a fourth-order central difference."""
    near = function(x + step) - function(x - step)
    far = function(x + 2 * step) - function(x - 2 * step)
    return (8 * near - far) / (12 * step)


def test_critical_point_at_100_samples():
    assert theory.rho_star(100) == pytest.approx(0.2457, abs=5e-5)
    assert theory.gamma_star(100) == pytest.approx(-14.00, abs=5e-3)


def test_printed_values_are_the_large_sample_ones():
    assert theory.rho_star_large_sample(100) == pytest.approx(0.28, abs=5e-3)
    assert theory.gamma_star_large_sample(100) == pytest.approx(-14.14, abs=5e-3)


@pytest.mark.parametrize("delta", [0.0, 0.6])
def test_critical_point_approaches_its_large_sample_form(delta):
    n = 10**8
    assert theory.rho_star(n, delta) == pytest.approx(theory.rho_star_large_sample(n, delta), rel=1e-3)
    assert theory.gamma_star(n) == pytest.approx(theory.gamma_star_large_sample(n), rel=1e-3)


@pytest.mark.parametrize("delta", [0.0, 0.3, 0.7])
def test_range_of_coexistence_closes_at_the_critical_point(delta):
    just_above = theory.rho_star(100, delta) * (1 + 1e-9)
    np.testing.assert_allclose(theory.coexistence_gammas(just_above, 100, delta), theory.gamma_star(100), rtol=1e-6)


@fuzz(few=100, n=st.integers(5, 1000), rho=RHO, delta=st.sampled_from([0.0, 0.3]))
def test_touching_points_satisfy_both_conditions(n, rho, delta):
    assume(rho != theory.rho_star(n, delta))  # where the two are one
    assume(rho < 0.9 * (1 - delta))  # nearer to 1 the doubles around m = 1 are too coarse for 1e-10
    points = theory.touching_points(rho, n, delta)
    assert points.size == (2 if rho > theory.rho_star(n, delta) else 0)
    if not points.size:
        return
    for m, gamma in zip(points, reversed(theory.coexistence_gammas(rho, n, delta)), strict=True):
        assert theory.fixed_point_map(m, rho, gamma, n, delta) == pytest.approx(m, abs=1e-10)
        # f' = f (1 - f) (n/2) rho² / (1 - delta - rho m)², which f(m) = m turns into the quadratic
        derivative = m * (1 - m) * n / 2 * (rho / (1 - delta - rho * m)) ** 2
        assert derivative == pytest.approx(1, abs=1e-10)


def test_derivative_at_touching_points_by_differences():
    low, high = theory.coexistence_gammas(0.5, 100)
    for m, gamma in zip(theory.touching_points(0.5, 100), (high, low), strict=True):
        measured = slope(lambda x, g=gamma: theory.fixed_point_map(x, 0.5, g, 100), m, 1e-3 * min(m, 1 - m))
        assert measured == pytest.approx(1, abs=1e-8)


@fuzz(few=150, n=SAMPLES, rho=RHO, gamma=GAMMA)
def test_solutions_are_fixed_points_one_or_three(n, rho, gamma):
    solutions = theory.univariate_solutions(rho, gamma, n)
    np.testing.assert_allclose(theory.fixed_point_map(solutions.m, rho, gamma, n), solutions.m, rtol=1e-9)
    coexist = rho > theory.rho_star(n)
    if coexist:
        low, high = theory.coexistence_gammas(rho, n)
        assume(abs(gamma - low) > 1e-6 and abs(gamma - high) > 1e-6)
        coexist = low < gamma < high
    assert solutions.m.size == (3 if coexist else 1)


@pytest.mark.parametrize("noise", [1e-6, 1e-9, 1e-12, 1e-15])
def test_solution_near_one_is_found_where_hardly_any_noise_is_left(noise):
    rho = 1 - noise
    solutions = theory.univariate_solutions(rho, -3.0, 3)
    assert solutions.m.size == 3
    assert 1 - solutions.minimum <= noise
    low, high = theory.coexistence_gammas(rho, 3)
    assert low < -3.0 < high
    assert low == pytest.approx(-1.5 / (1 - rho), rel=0.01)  # the evidence at m = 1


@pytest.mark.parametrize(("rho", "gamma"), [(0.1, -5.0), (0.5, -30.0), (0.6, -38.0), (0.9, -100.0), (0.3, -14.0)])
def test_minimum_is_the_lowest_point_of_the_free_energy(rho, gamma):
    solutions = theory.univariate_solutions(rho, gamma, 100)
    # A grid even in logit m, where the minima near 0 and 1 are wide.
    grid = 1 / (1 + np.exp(-np.linspace(-150, 36, 200_001)))
    lowest = theory.univariate_free_energy(grid, rho, gamma, 100).min()
    at_minimum = theory.univariate_free_energy(solutions.minimum, rho, gamma, 100)
    assert at_minimum == pytest.approx(lowest, abs=1e-6)
    if solutions.m.size == 3:
        assert solutions.free_energy[1] == solutions.free_energy.max()
        assert solutions.stable.size == 2


def test_free_energy_slope_vanishes_at_a_solution():
    m = theory.univariate_solutions(0.2, -9.0, 100).minimum
    change = slope(lambda x: theory.univariate_free_energy(x, 0.2, -9.0, 100), m, 1e-4)
    assert change == pytest.approx(0, abs=1e-7)


@fuzz(
    few=60,
    b=st.lists(st.floats(-0.4, 0.4), min_size=1, max_size=6),
    gamma=st.floats(-60.0, 0.0),
    n=st.integers(10, 300),
)
def test_orthogonal_mode_is_the_best_of_all_subsets(b, gamma, n):
    b = np.array(b)

    def log_posterior(s):
        return -n / 2 * np.log(1.0 - s @ b**2) + gamma * s.sum()

    best = max(log_posterior(np.array(s)) for s in product([0.0, 1.0], repeat=b.size))
    mode = theory.orthogonal_mode(b, 1.0, gamma, n)
    assert log_posterior(mode.selected.astype(float)) == pytest.approx(best, abs=1e-9)
    assert mode.noise_variance == pytest.approx(1 - np.sum(b[mode.selected] ** 2))


@fuzz(
    few=60,
    b=st.lists(st.floats(-0.4, 0.4), min_size=1, max_size=6),
    gamma=st.floats(-60.0, 0.0),
    n=st.integers(10, 300),
)
def test_orthogonal_map_satisfies_the_switch_condition(b, gamma, n):
    b = np.array(b)
    solution = theory.orthogonal_map(b, 1.0, gamma, n)
    gain = n / (2 * solution.noise_variance) * b**2 + gamma
    assert (gain[solution.selected] >= -1e-9).all()
    assert (gain[~solution.selected] < 1e-9).all()


def test_switch_gammas_bracket_the_solution():
    b = np.array([0.2, -0.6, 0.4])
    for k, gamma in enumerate(theory.switch_gammas(b, 1.0, 100)):
        assert theory.orthogonal_map(b, 1.0, gamma - 1e-6, 100).selected.sum() == k
        assert theory.orthogonal_map(b, 1.0, gamma + 1e-6, 100).selected.sum() == k + 1


def test_first_switch_is_the_dotted_line_of_the_phase_plot():
    assert theory.switch_gammas([0.5], 1.0, 100)[0] == pytest.approx(-100 * 0.25 / 2)


def test_shrinkage_curves():
    w = np.linspace(-3, 3, 61)
    vg = theory.vg_shrinkage(w, -10, 100)
    np.testing.assert_allclose(vg[np.abs(w) < 0.2], 0, atol=1e-3)
    np.testing.assert_allclose(vg[np.abs(w) > 1], w[np.abs(w) > 1], rtol=1e-6)
    np.testing.assert_allclose(theory.lasso_shrinkage([-2.0, 0.3, 2.0], 0.5), [-1.5, 0.0, 1.5])
    np.testing.assert_allclose(theory.ridge_shrinkage([2.0], 0.5), [1.0])
    np.testing.assert_allclose(theory.garrote_shrinkage([-1.0, 0.0, 0.4, 2.0], 0.25), [-0.75, 0, 0, 1.875])


def test_errors_name_the_value():
    with pytest.raises(ValueError, match=r"rho=0\.9 must lie in \[0, 1 - delta\)"):
        theory.univariate_solutions(0.9, -1, 100, delta=0.2)
    with pytest.raises(ValueError, match="below rho_star"):
        theory.coexistence_gammas(0.1, 100)
    with pytest.raises(ValueError, match=r"sigma2_y=0\.1 must exceed"):
        theory.orthogonal_map([1.0], 0.1, -1, 100)
