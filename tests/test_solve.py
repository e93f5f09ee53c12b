"""One γ: monotone, stationary, robust; with given β and given starts."""

import numpy as np
import pytest
from fuzzing import fuzz
from hypothesis import strategies as st
from oracle import centred, printed_free_energy
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from garrote.datasets import correlated_inputs, outputs, random_support, sparse_regression
from garrote.energy import Penalty, evaluate
from garrote.minimise import ROUNDING, minimise, rounding_error
from garrote.problem import Samples
from garrote.solve import solve
from garrote.workingset import UNCERTAIN_MASS


@st.composite
def problems(draw):
    """Random problems: more features than samples, correlations up to 0.999, noise down to 1e-8."""
    n_samples = draw(st.integers(3, 40))
    n_features = draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    zeta = draw(st.sampled_from([0.0, 0.5, 0.95, 0.999]))
    sigma = 10.0 ** draw(st.floats(-8, 1))
    X = correlated_inputs(n_samples, n_features, zeta, rng)
    X *= 10.0 ** rng.uniform(-3, 3, n_features)
    y = outputs(X, random_support(n_features, draw(st.integers(0, n_features)), rng), sigma, rng)
    gamma = draw(st.floats(-40, 3))
    ridge = draw(st.sampled_from([0.0, 0.0, 0.1, 2.0]))
    start = rng.choice([0.0, 1.0, 0.3, 1e-9], n_features) if draw(st.booleans()) else None
    return X, y, gamma, ridge, start


@fuzz(few=300, drawn=problems())
def test_free_energy_never_rises_and_ends_at_a_fixed_point(drawn):
    X, y, gamma, ridge, start = drawn
    problem = Samples(X, y)
    block = problem.block(problem.varying)
    m = expit(gamma) if start is None else start[problem.varying]
    with np.errstate(divide="ignore"):
        theta = np.zeros(len(problem.varying)) + np.clip(logit(m), -500, 500)
    run = minimise(block, theta, Penalty(np.full(len(theta), gamma), ridge), max_iter=2000)
    largest = np.abs(run.energies).max()  # F is known less exactly where it is larger
    allowed = rounding_error(block, run.end) + ROUNDING * (largest - abs(run.end.free_energy))
    assert (np.diff(run.energies) <= 2 * allowed).all()
    assert run.converged
    assert run.end.residual <= 1e-6
    assert np.isfinite(run.end.w).all() and np.isfinite(run.end.v).all()


@pytest.mark.parametrize(("shape", "gamma"), [((60, 8), -2.5), ((20, 30), -6.0)])
def test_finite_differences_of_the_printed_free_energy_vanish_at_a_solution(shape, gamma):
    X, y, _ = sparse_regression(*shape, 3, zeta=0.5, sigma=1.0, rng=np.random.default_rng(3))
    solution = solve(X, y, gamma=gamma)
    data = centred(X, y)

    def F(m, w, beta):
        return printed_free_energy(data, m, w, beta, solution.gamma)

    m, w, beta = solution.m, solution.w, solution.beta
    assert solution.free_energy == pytest.approx(F(m, w, beta), rel=1e-10)
    for i in range(shape[1]):
        e = np.eye(shape[1])[i]
        h = 1e-4 * m[i] * (1 - m[i])
        if h > 0:  # m may be 1 to the last digit
            assert abs(F(m + h * e, w, beta) - F(m - h * e, w, beta)) / (2 * h) < 1e-4
        assert abs(F(m, w + 1e-5 * e, beta) - F(m, w - 1e-5 * e, beta)) / 2e-5 < 1e-4
    assert abs(F(m, w, beta * (1 + 1e-5)) - F(m, w, beta * (1 - 1e-5))) < 1e-8


def test_given_beta_is_kept_and_its_free_energy_is_the_printed_one():
    X, y, _ = sparse_regression(50, 6, 2, zeta=0.5, sigma=1.0, rng=np.random.default_rng(0))
    solution = solve(X, y, gamma=-1.1, beta=0.8)
    assert solution.beta == 0.8
    expected = printed_free_energy(centred(X, y), solution.m, solution.w, 0.8, -1.1)
    assert solution.free_energy == pytest.approx(expected, rel=1e-10)


def test_start_decides_between_two_minima():
    """One strong feature and a very negative γ: m ≈ 0 and m ≈ 1 coexist (Section 3)."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((100, 1))
    y = x[:, 0] + 0.5 * rng.standard_normal(100)
    low, high = solve(x, y, gamma=-60.0, start=[0.0]), solve(x, y, gamma=-60.0, start=[1.0])
    assert low.m[0] < 0.01
    assert high.m[0] > 0.99
    assert max(low.residual, high.residual) < 1e-8


def test_running_out_of_steps_warns_with_the_numbers():
    X, y, _ = sparse_regression(50, 20, 5, zeta=0.9, sigma=0.5, rng=np.random.default_rng(0))
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 steps.*gamma = -3.*\|Δm\|"):
        solve(X, y, gamma=-3.0, max_iter=1)


def test_perfect_fit_is_found_exactly():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 10))
    y = X[:, 2] - 2 * X[:, 7]
    solution = solve(X, y, gamma=-5.0, start=np.eye(10)[2] + np.eye(10)[7])
    np.testing.assert_allclose(solution.v[[2, 7]], [1.0, -2.0], rtol=1e-9)
    assert set(solution.selected) == {2, 7}


@pytest.mark.parametrize(("gamma", "ridge"), [(-7.0, 0.0), (-5.0, 0.0), (-4.0, 1.0), (-2.0, 1.0), (-0.5, 1.0)])
def test_working_set_agrees_with_one_block(gamma, ridge, monkeypatch):
    """From few decided features to more undecided ones than samples, the outside features are accounted for."""
    X, y, _ = sparse_regression(40, 300, 3, zeta=0.3, sigma=0.7, rng=np.random.default_rng(2))
    plain = solve(X, y, gamma=gamma, ridge=ridge)
    monkeypatch.setattr(Samples, "ONE_BLOCK", 100)
    working = solve(X, y, gamma=gamma, ridge=ridge)
    assert len(working.features) < 300
    np.testing.assert_allclose(working.inclusion, plain.m[working.features], atol=5e-3)
    assert working.free_energy == pytest.approx(plain.free_energy, abs=0.03)
    unlisted = np.delete(plain.m, working.features).sum()
    assert working.unlisted_mass == pytest.approx(unlisted, abs=UNCERTAIN_MASS * len(y))  # what a look at X waits for


def test_evaluate_at_the_solution_reproduces_it():
    X, y, _ = sparse_regression(50, 20, 5, zeta=0.5, sigma=1.0, rng=np.random.default_rng(0))
    solution = solve(X, y, gamma=-4.0)
    block = Samples(X, y).block(np.arange(20))
    at = evaluate(block, np.clip(logit(solution.m), -500, 500), Penalty(np.full(20, -4.0)))
    assert at.free_energy == pytest.approx(solution.free_energy, rel=1e-12)
