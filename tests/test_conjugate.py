"""The descent by conjugate gradients: its steps are Newton's and few, and where they fail the other descent ends it."""

import numpy as np
import pytest
from scipy.special import expit, logit

from garrote import garrote_path
from garrote._loops import COMPILED
from garrote.datasets import sparse_regression
from garrote.energy import Penalty, evaluate
from garrote.minimise import minimise, minimise_plain
from garrote.moments import Moments
from garrote.problem import Samples

pytestmark = pytest.mark.skipif(not COMPILED, reason="there is no compiler")


def problem_of(n_samples, n_features, n_nonzero, zeta=0.0, sigma=0.7, seed=0):
    rng = np.random.default_rng(seed)
    return sparse_regression(n_samples, n_features, n_nonzero, zeta=zeta, sigma=sigma, rng=rng)[:2]


def solved(block, gamma, ridge, beta, tol=1e-12):
    penalty = Penalty(np.full(len(block.features), gamma), ridge, beta)
    return penalty, minimise(block, penalty.gamma, penalty, tol=tol).end


@pytest.mark.parametrize("kind", [Samples, Moments.from_data], ids=["samples", "moments"])
@pytest.mark.parametrize(("shape", "zeta"), [((50, 100, 5), 0.0), ((100, 100, 20), 0.95), ((80, 250, 15), 0.3)])
def test_solutions_are_those_of_the_equations_in_double_precision(shape, zeta, kind):
    """On the way there, descents compute in single precision; where they end, F and Eq. (m) are as exact as ever."""
    X, y = problem_of(*shape, zeta=zeta)
    problem = kind(X, y)
    block, path = problem.block(np.arange(shape[1])), garrote_path(problem)
    assert len(path) > 30
    for solution in path:
        theta = logit(np.clip(solution.m, 1e-300, 1.0 - 1e-16))
        exact = evaluate(block, theta, Penalty(np.full(shape[1], solution.gamma)))
        assert abs(expit(exact.target) - solution.m).max() <= 2e-8
        assert abs(exact.free_energy - solution.free_energy) <= 2e-8


def test_what_is_remembered_of_one_y_is_not_used_for_another():
    X, y = problem_of(60, 40, 5)
    blocks = [Samples(X, values).block(np.arange(40)) for values in (y, y[::-1].copy())]
    penalty = Penalty(np.full(40, -5.0))
    fresh = [minimise(block, penalty.gamma, penalty).end.free_energy for block in blocks]
    shared = blocks[0].retargeted(blocks[1].target, blocks[1].floor)  # one kernel for both
    for _ in range(2):
        assert minimise(shared, penalty.gamma, penalty).end.free_energy == pytest.approx(fresh[1], abs=1e-9)
        assert minimise(blocks[0], penalty.gamma, penalty).end.free_energy == pytest.approx(fresh[0], abs=1e-9)


@pytest.mark.parametrize("kind", [Samples, Moments.from_data], ids=["samples", "moments"])
@pytest.mark.parametrize(("ridge", "beta"), [(0.0, None), (0.1, None), (0.0, 2.0)])
@pytest.mark.parametrize("gamma", [-8.0, -4.0, -2.0])
def test_newton_steps_converge_quadratically(gamma, ridge, beta, kind):
    """From 1e-3 beside a solution: what is left of it is of the order of its square after a step or two."""
    X, y = problem_of(80, 30, 5, zeta=0.5)
    block = kind(X, y).block(np.arange(30))
    penalty, end = solved(block, gamma, ridge, beta)
    rng = np.random.default_rng(1)
    theta, w = end.theta + 1e-3 * rng.standard_normal(30), end.w * (1.0 + 1e-3 * rng.standard_normal(30))
    again = minimise(block, theta, penalty, w=w, tol=1e-9)
    assert again.converged and again.n_iter <= 4
    np.testing.assert_allclose(again.end.m, end.m, atol=1e-8)
    np.testing.assert_allclose(again.end.w, end.w, atol=1e-7)
    assert again.end.free_energy == pytest.approx(end.free_energy, rel=1e-12)


def test_a_path_takes_few_evaluations():
    """The cost that the benchmarks measure, without a clock: one and a half as many as on the day this was written."""
    evaluations = []
    for seed in range(4):
        X, y = problem_of(50, 100, 5, seed=seed)
        path = garrote_path(X, y)
        evaluations.append(path.n_factorizations / len(path))
    assert np.mean(evaluations) < 9


@pytest.mark.parametrize("apart", [1e-3, 1e-5, 1e-7, 0.0])
def test_near_copies_of_selected_columns_end_where_the_plain_descent_does(apart):
    X, y = problem_of(60, 10, 3, sigma=0.1)
    strongest = np.abs(X.T @ y).argmax()
    X = np.column_stack([X, X[:, strongest] + apart * np.random.default_rng(1).standard_normal(60)])
    block = Samples(X, y).block(np.arange(11))
    penalty = Penalty(np.full(11, -3.0))
    start = np.full(11, -3.0)
    start[[strongest, 10]] = 5.0, 1.0  # not the same: between two copies that are equally on, rounding would choose
    ours, plain = minimise(block, start, penalty), minimise_plain(block, start, penalty)
    assert ours.converged
    assert ours.end.free_energy <= plain.end.free_energy + 1e-6
    assert (np.diff(ours.energies) <= 1e-9).all()


@pytest.mark.parametrize("size", [1e10, 1e100, 1e282, np.inf, np.nan])
def test_w_of_no_use_are_not_begun_with(size):
    X, y = problem_of(60, 40, 5)
    block = Samples(X, y).block(np.arange(40))
    penalty, start = Penalty(np.full(40, -4.0)), np.linspace(-6.0, 6.0, 40)
    without = minimise(block, start, penalty)
    found = minimise(block, start, penalty, w=size * np.resize([1.0, -0.7, 0.3], 40))
    np.testing.assert_allclose(found.end.free_energy, without.end.free_energy, rtol=1e-12)
    np.testing.assert_allclose(found.end.m, without.end.m, atol=1e-8)


def test_columns_that_depend_on_each_other_leave_f_finite():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 12)) + np.linspace(-20.0, 20.0, 12)
    X[:, 7] = 4.0
    X[np.abs(X) < 1.0] = 0.0
    y, weights = X[:, :3].sum(axis=1) + rng.normal(size=900), rng.integers(0, 4, size=900).astype(float)
    X[:, 4] = X[:, 0] + 1e-3 * X[:, 5]  # screening is lost among such columns, and foresees w of 1e282
    y += 1e3 * (X[:, 4] - X[:, 0])
    train = np.r_[:360, 540:900]
    gammas = [-182.32331290859682, *np.linspace(-125.0, 8.0, 19)]
    path = garrote_path(X[train], y[train], sample_weight=weights[train], gammas=gammas)
    assert np.isfinite(path.free_energies).all()
    assert (np.diff(path.free_energies) < 0.0).all()


def test_a_fit_without_noise_is_left_to_the_other_descent():
    X, _ = problem_of(30, 5, 2)
    y = X[:, 0] - 2.0 * X[:, 3]
    block = Samples(X, y).block(np.arange(5))
    run = minimise(block, np.full(5, 3.0), Penalty(np.full(5, -2.0)))
    assert run.converged
    np.testing.assert_allclose(run.end.v, [1.0, 0.0, 0.0, -2.0, 0.0], atol=1e-6)


def test_steps_at_most_are_counted_in_both_descents():
    X, y = problem_of(50, 80, 6)
    block = Samples(X, y).block(np.arange(80))
    for most in (0, 1, 2, 5):
        run = minimise(block, np.full(80, -3.0), Penalty(np.full(80, -3.0)), max_iter=most)
        assert run.n_iter <= most and len(run.energies) == run.n_iter + 2
        assert run.converged == (run.end.residual <= 1e-8)


@pytest.mark.parametrize("gamma", [-8.0, -5.0, -3.0])
def test_between_exact_copies_the_first_takes_all(gamma):
    """Where they are equal in everything, the point between them is a saddle, to which Newton's steps lead.

    (Where both are certain beyond a millionth, F is flat between them: to drop one is left to exchange.)
    """
    apart = 0
    for seed in range(190, 205):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((30, 3))
        y = 2.0 * X[:, 0] + rng.standard_normal(30)
        block = Samples(np.column_stack([X, X[:, 0]]), y).block(np.arange(4))
        penalty = Penalty(np.full(4, gamma))
        ours, plain = (descend(block, penalty.gamma, penalty) for descend in (minimise, minimise_plain))
        assert ours.converged and ours.end.free_energy <= plain.end.free_energy + 1e-6
        assert (np.diff(ours.energies) <= 1e-9).all()
        apart += ours.end.m[0] > 0.5 > ours.end.m[3]
    assert apart >= 10


def test_powers_of_two_in_the_units_change_no_digit():
    """Every equation of a step is of one dimension: a term that is not would show here."""
    rng = np.random.default_rng(0)
    for seed in range(4):
        X, y = problem_of(50, 40, 8, zeta=0.95, sigma=1.0, seed=seed)
        units = 2.0 ** rng.integers(-20, 20, 40)
        path, other = garrote_path(X, y), garrote_path(X * units, y * 8.0)
        np.testing.assert_array_equal(other.gammas, path.gammas)
        np.testing.assert_array_equal(other.inclusions.toarray(), path.inclusions.toarray())
        assert (other.n_iter, other.n_factorizations) == (path.n_iter, path.n_factorizations)
