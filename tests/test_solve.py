"""One γ: monotone, stationary, robust; with given β and given starts."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from fuzzing import fuzz
from hypothesis import strategies as st
from oracle import centred, printed_free_energy
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from garrote.datasets import correlated_inputs, outputs, random_support, sparse_regression
from garrote.energy import Penalty, evaluate
from garrote.limits import LOST_DIGITS, NOISE_FLOOR, ROUNDING
from garrote.minimise import minimise, minimise_plain, rounding_error
from garrote.problem import Samples
from garrote.solve import solve, warn_unconverged
from garrote.workingset import UNCERTAIN_MASS, Model, WorkingSet


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


def lost_inclusion(end, gamma, sigma2_y):
    """How much of m the digits cost that y − x·v loses where y is interpolated.

    Of an undecided feature the evidence (βn/2) w² d is about −γ, ten more at most. Its β and w² are inverse to and
    proportional to squares of the residual, and a change of θ by one changes m by ¼ at most.
    """
    lost = LOST_DIGITS * np.sqrt(sigma2_y / max(end.noise, NOISE_FLOOR * sigma2_y))
    return 0.25 * (10.0 + abs(gamma)) * 4.0 * lost


def descent(X, y, gamma, ridge=0.0, start=None):
    """The descent on all features that vary, from their prior or a start."""
    problem = Samples(X, y)
    block = problem.block(problem.varying)
    m = expit(gamma) if start is None else start[problem.varying]
    with np.errstate(divide="ignore"):
        theta = np.zeros(len(problem.varying)) + np.clip(logit(m), -500, 500)
    return block, minimise(block, theta, Penalty(np.full(len(theta), gamma), ridge), max_iter=2000)


@fuzz(few=300, drawn=problems())
def test_free_energy_never_rises_and_ends_at_a_fixed_point(drawn):
    X, y, gamma, ridge, start = drawn
    block, run = descent(X, y, gamma, ridge, start)
    largest = np.abs(run.energies).max()  # F is known less exactly where it is larger
    allowed = rounding_error(block, run.end) + ROUNDING * (largest - abs(run.end.free_energy))
    assert (np.diff(run.energies) <= 2 * allowed).all()
    assert run.converged
    assert run.end.residual <= 1e-6 + 2 * lost_inclusion(run.end, gamma, block.sigma2_y)
    assert np.isfinite(run.end.w).all() and np.isfinite(run.end.v).all()


@pytest.mark.parametrize("gamma", [-31.0, -34.0, -37.0])
def test_the_least_inclusions_count_in_the_free_energy_as_in_that_of_the_plain_loop(gamma):
    """Their contributions to the fit are too small to be subtracted from y, but F is known more exactly than that."""
    X, y, _ = sparse_regression(40, 50, 3, sigma=1.0, rng=np.random.default_rng(0))
    y *= (2.0 * np.pi * np.e) ** -0.5 / y.std()  # so that F is about 0, and known to 2e-13
    block, run = descent(X, y, gamma)
    plain = evaluate(block, run.end.theta, Penalty(np.full(50, gamma)))
    assert 0.0 < run.end.m.max() < 1e-8
    assert abs(run.end.free_energy - plain.free_energy) <= rounding_error(block, run.end)


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
        if 1e-5 * h > np.finfo(float).eps * abs(solution.free_energy):  # where m is almost 1, F's digits do not suffice
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
    with pytest.warns(ConvergenceWarning, match=r"did not converge in 1 steps.*gamma = -3.*residual of \S+ > tol"):
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


@pytest.mark.parametrize(
    ("argument", "value"),
    [("gamma", np.nan), ("ridge", -1.0), ("beta", 0.0), ("tol", -1e-9), ("max_iter", 0), ("start", ["a", "b", "c"])],
)
def test_bad_arguments_are_named_first(argument, value):
    X, y, _ = sparse_regression(20, 3, 1, sigma=1.0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=f"^{argument} is "):
        solve(X, y, **{"gamma": -2.0, argument: value})


@pytest.mark.parametrize("start", [[0.5, 0.5], [0.5, 0.5, 1.5], [-0.1, 0.5, 0.5], [[0.5, 0.5, 0.5]]])
def test_starts_that_are_no_inclusions_are_refused_with_their_shape(start):
    X, y, _ = sparse_regression(20, 3, 1, sigma=1.0, rng=np.random.default_rng(0))
    with pytest.raises(
        ValueError, match=r"^start must hold 3 inclusions between 0 and 1, one per feature; got \("
    ) as e:
        solve(X, y, gamma=-2.0, start=start)
    assert str(np.shape(start)) in str(e.value)


def test_prior_log_odds_are_added_to_gamma():
    X, y, _ = sparse_regression(40, 5, 2, sigma=1.0, rng=np.random.default_rng(0))
    shifted = solve(X, y, gamma=-4.0, prior_log_odds=np.full(5, 1.5))
    np.testing.assert_allclose(shifted.m, solve(X, y, gamma=-2.5).m, rtol=1e-6)
    with pytest.raises(ValueError, match="prior_log_odds"):
        solve(X, y, gamma=-4.0, prior_log_odds=np.zeros(4))


@pytest.mark.parametrize("odds", [None, np.array([0.0, 1.0, -2.0])])
@pytest.mark.parametrize("constant", ["y", "X"])
def test_where_nothing_can_be_explained_inclusions_are_their_prior(constant, odds):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    if constant == "y":
        y[:] = 2.0
    else:
        X[:] = 1.0
    solution = solve(X, y, gamma=-1.5, prior_log_odds=odds)
    prior = -1.5 + (np.zeros(3) if odds is None else odds)
    np.testing.assert_allclose(solution.m, expit(prior), rtol=1e-12)
    assert (solution.n_iter, solution.residual, solution.branch) == (0, 0.0, "given")
    np.testing.assert_array_equal(solution.v, 0.0)
    if constant == "X":
        expected = 10 * (1 + np.log(2 * np.pi * y.var())) - np.log1p(np.exp(prior)).sum()
        assert solution.free_energy == pytest.approx(expected, rel=1e-12)
        assert solution.beta == pytest.approx(1 / y.var())


def test_smaller_tolerance_is_met_in_more_steps():
    X, y, _ = sparse_regression(50, 20, 5, zeta=0.9, sigma=0.5, rng=np.random.default_rng(0))
    rough, fine = (solve(X, y, gamma=-3.0, tol=tol) for tol in (1e-1, 1e-10))
    assert rough.n_iter < fine.n_iter
    assert fine.residual <= 1e-10 < rough.residual <= 1e-1
    assert fine.branch == "given"


def test_half_is_not_selected():
    X, y, _ = sparse_regression(20, 3, 1, sigma=1.0, rng=np.random.default_rng(0))
    solution = replace(
        solve(X, y, gamma=-2.0), features=np.array([2, 0, 1]), inclusion=np.array([0.9, 0.5, 0.7]), slab=np.ones(3)
    )
    np.testing.assert_array_equal(solution.selected, [1, 2])


def warn_about(runs):
    gammas, runs = zip(*runs, strict=True)
    warn_unconverged(gammas, [run.converged for run in runs], [run.end.residual for run in runs], 1e-8, 7)


def test_the_warning_names_the_worst_of_several_runs():
    X, y, _ = sparse_regression(50, 20, 5, zeta=0.9, sigma=0.5, rng=np.random.default_rng(0))
    block = Samples(X, y).block(np.arange(20))
    theta = np.full(20, -3.0)
    bad, worse, good = (
        minimise(block, theta, Penalty(np.full(20, gamma)), max_iter=steps)
        for gamma, steps in ((-6.0, 1), (-3.0, 1), (-3.0, 500))
    )
    if bad.end.residual > worse.end.residual:
        bad, worse = worse, bad
    with pytest.warns(
        ConvergenceWarning, match=r"^2 of 3 solutions did not converge in 7 steps; the worst, at"
    ) as seen:
        warn_about([(-1.0, bad), (-2.0, worse), (-3.0, good)])
    (warning,) = seen
    assert f"gamma = -2, has a residual of {worse.end.residual:.1e} > tol = 1.0e-08. Increase max_iter," in str(
        warning.message
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_about([(-3.0, good)])


def test_constant_columns_add_the_free_energy_of_their_prior():
    X, y, _ = sparse_regression(30, 3, 1, sigma=1.0, rng=np.random.default_rng(0))
    wide = np.column_stack([X[:, 0], np.ones(30), X[:, 1:], np.full(30, 7.0)])
    odds = np.array([0.0, 1.0, 0.0, 0.0, -3.0])
    plain, more = solve(X, y, gamma=-2.0), solve(wide, y, gamma=-2.0)
    assert more.free_energy == pytest.approx(plain.free_energy - 2 * np.log1p(np.exp(-2.0)), rel=1e-10)
    more = solve(wide, y, gamma=-2.0, prior_log_odds=odds)
    expected = plain.free_energy - np.log1p(np.exp(-1.0)) - np.log1p(np.exp(-5.0))
    assert more.free_energy == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(more.m[[1, 4]], expit([-1.0, -5.0]), rtol=1e-12)


def test_given_beta_and_perfect_fits_bound_the_reported_beta():
    X = np.random.default_rng(0).standard_normal((30, 2))
    y = 1e5 * X[:, 0]
    assert solve(X, y, gamma=-2.0, start=[1.0, 0.0]).beta <= 1e20 / y.var() * (1 + 1e-9)


@pytest.mark.parametrize("descend", [minimise, minimise_plain])
@pytest.mark.parametrize("sigma", [1e-2, 1e-4])
@pytest.mark.parametrize("theta", [12.0, 20.0, 30.0])
def test_where_the_noise_is_low_a_solution_knows_how_certain_a_feature_is(theta, sigma, descend):
    """The evidence may be so large that F counts a 1 − m which is below any tolerance of m."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3))
    block = Samples(X, X[:, 0] + sigma * rng.standard_normal(50)).block(np.arange(3))
    penalty = Penalty(np.full(3, -9.0))
    solution = descend(block, np.array([500.0, -9.0, -9.0]), penalty).end
    end = descend(block, np.array([theta, *solution.theta[1:]]), penalty).end
    assert end.free_energy == pytest.approx(solution.free_energy, abs=1e-9)


def test_a_descent_that_selects_too_many_features_does_not_look_at_x_again():
    X, y, _ = sparse_regression(60, 1500, 10, sigma=0.5, rng=np.random.default_rng(0))
    active = WorkingSet(Samples(X, y), Model())
    start = active.start(-7.0)
    start[:20] = 12.0
    abandoned = active.descend(-7.0, start, most=5)
    assert not abandoned.run.converged
    assert abandoned.n_passes == 0
    assert active.descend(-7.0, start).n_passes > 0
