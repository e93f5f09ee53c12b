"""F against brute force, the printed equations and finite differences; the compiled loop against the plain one."""

import numpy as np
import pytest
from oracle import centred, enumerated_free_energy, printed_dual, printed_free_energy, printed_primal
from scipy.special import logit

from garrote._loops import COMPILED
from garrote.block import Block
from garrote.datasets import sparse_regression
from garrote.energy import Penalty, evaluate, newton_step, precision
from garrote.minimise import minimise, minimise_plain
from garrote.moments import Moments
from garrote.problem import Samples

PROBLEMS = {
    "tall": {"n_samples": 40, "n_features": 6, "n_nonzero": 2, "zeta": 0.5, "sigma": 1.0},
    "wide": {"n_samples": 7, "n_features": 10, "n_nonzero": 2, "zeta": 0.9, "sigma": 0.3},
    "one feature": {"n_samples": 30, "n_features": 1, "n_nonzero": 1, "sigma": 1.0},
}


def problem(name, seed=0):
    X, y, _ = sparse_regression(**PROBLEMS[name], rng=np.random.default_rng(seed))
    return 3.0 + X * np.random.default_rng(seed + 1).uniform(0.1, 10, X.shape[1]), y - 2.0


def block_of(X, y):
    return Samples(X, y).block(np.arange(X.shape[1]))


def inclusions(n_features, seed=2):
    return np.random.default_rng(seed).uniform(0.01, 0.99, n_features)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("seed", range(3))
def test_free_energy_equals_enumeration_of_all_states(name, ridge, seed):
    X, y = problem(name, seed)
    m = inclusions(X.shape[1], seed)
    gamma = np.linspace(-4, 1, X.shape[1])
    at = evaluate(block_of(X, y), logit(m), Penalty(gamma, ridge))
    expected = enumerated_free_energy(X, y, m, at.w, 1 / at.noise, gamma, ridge)
    assert at.free_energy == pytest.approx(expected, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("name", PROBLEMS)
def test_w_and_beta_are_those_of_the_printed_primal(name):
    X, y = problem(name)
    m = inclusions(X.shape[1])
    at = evaluate(block_of(X, y), logit(m), Penalty(np.full(X.shape[1], -2.0)))
    w, beta = printed_primal(centred(X, y), m)
    np.testing.assert_allclose(at.w, w, rtol=1e-8, atol=1e-10)
    assert 1 / at.noise == pytest.approx(beta, rel=1e-9)
    assert at.free_energy == pytest.approx(printed_free_energy(centred(X, y), m, w, beta, -2.0), rel=1e-11)


@pytest.mark.parametrize("name", PROBLEMS)
def test_w_and_beta_are_those_of_the_printed_dual(name):
    X, y = problem(name)
    m = inclusions(X.shape[1])
    at = evaluate(block_of(X, y), logit(m), Penalty(np.full(X.shape[1], -2.0)))
    w, beta = printed_dual(X, y, m)
    np.testing.assert_allclose(at.w, w, rtol=1e-8, atol=1e-10)
    assert 1 / at.noise == pytest.approx(beta, rel=1e-9)


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("ridge", [0.0, 0.7])
@pytest.mark.parametrize("beta", [None, 1.5])
def test_gradient_is_logit_m_minus_target(name, ridge, beta):
    X, y = problem(name)
    block, penalty = block_of(X, y), Penalty(np.full(X.shape[1], -2.0), ridge, beta)
    m = inclusions(X.shape[1])
    at = evaluate(block, logit(m), penalty)
    step = 1e-6
    for i in range(len(m)):
        up, down = m.copy(), m.copy()
        up[i], down[i] = m[i] + step, m[i] - step
        slope = evaluate(block, logit(up), penalty).free_energy - evaluate(block, logit(down), penalty).free_energy
        assert slope / (2 * step) == pytest.approx(logit(m[i]) - at.target[i], rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("beta", [None, 1.5])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_newton_step_solves_the_finite_difference_hessian(ridge, beta):
    X, _ = problem("tall")
    y = np.random.default_rng(8).standard_normal(len(X))  # weak evidence: the Hessian is positive definite everywhere
    block, penalty = block_of(X, y), Penalty(np.full(X.shape[1], -1.0), ridge, beta)
    m = inclusions(X.shape[1])

    def gradient(m):
        at = evaluate(block, logit(m), penalty)
        return logit(m) - at.target

    h = 1e-6
    hessian = np.array([(gradient(m + h * e) - gradient(m - h * e)) / (2 * h) for e in np.eye(len(m))])
    expected = -np.linalg.solve(hessian, gradient(m)) / (m * (1 - m))
    np.testing.assert_allclose(newton_step(block, evaluate(block, logit(m), penalty), penalty), expected, rtol=1e-3)


def test_zero_and_one_are_exact():
    X, y = problem("tall")
    on = np.array([True, False, True, False, False, False])
    theta = np.where(on, 500.0, -500.0)
    at = evaluate(block_of(X, y), theta, Penalty(np.full(6, -2.0)))
    ols, *_ = np.linalg.lstsq(X[:, on] - X[:, on].mean(axis=0), y - y.mean(), rcond=None)
    np.testing.assert_allclose(at.v[on], ols, rtol=1e-10)
    assert np.abs(at.v[~on]).max() < 1e-200
    residual = y - y.mean() - (X[:, on] - X[:, on].mean(axis=0)) @ ols
    assert at.noise == pytest.approx(np.mean(residual**2), rel=1e-10)
    assert at.free_energy == pytest.approx(20 * (1 + np.log(2 * np.pi * at.noise)) + 4.0, rel=1e-12)


def test_noise_keeps_its_digits_when_the_fit_is_very_good():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((100, 5))
    e = 1e-7 * rng.standard_normal(100)
    y = X @ np.ones(5) + e
    at = evaluate(block_of(X, y), np.full(5, 500.0), Penalty(np.full(5, -2.0)))
    centre = X - X.mean(axis=0)
    e = e - e.mean()
    unexplained = e - centre @ np.linalg.lstsq(centre, e, rcond=None)[0]
    assert at.noise == pytest.approx(np.mean(unexplained**2), rel=1e-8)


def test_copies_of_a_column_that_are_both_on_share_its_weight():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(50)
    X = np.column_stack([x, x, rng.standard_normal(50)])
    y = 2 * x + rng.standard_normal(50)
    at = evaluate(block_of(X, y), np.array([500.0, 500.0, -500.0]), Penalty(np.full(3, -2.0)))
    single = evaluate(block_of(X[:, :1], y), np.array([500.0]), Penalty(np.full(1, -2.0)))
    assert at.v[0] == pytest.approx(at.v[1], rel=1e-3)
    assert at.v[:2].sum() == pytest.approx(single.v[0], rel=1e-6)
    assert at.noise == pytest.approx(single.noise, rel=1e-9)


def test_moments_and_samples_give_the_same_energy():
    X, y = problem("wide")
    theta = logit(inclusions(X.shape[1]))
    penalty = Penalty(np.full(X.shape[1], -2.0))
    everything = np.arange(X.shape[1])
    samples = evaluate(Samples(X, y).block(everything), theta, penalty)
    moments = evaluate(Moments.from_data(X, y).block(everything), theta, penalty)
    assert moments.free_energy == pytest.approx(samples.free_energy, rel=1e-10)
    np.testing.assert_allclose(moments.w, samples.w, rtol=1e-7)


@pytest.mark.skipif(not COMPILED, reason="built without a compiler: there is only the plain loop")
@pytest.mark.parametrize("zeta", [0.0, 0.95])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
@pytest.mark.parametrize("beta", [None, 5.0])
@pytest.mark.parametrize("kind", [Samples, Moments.from_data])
def test_compiled_and_plain_descent_have_the_same_minima(zeta, ridge, beta, kind):
    X, y, _ = sparse_regression(40, 60, 5, zeta=zeta, sigma=0.5, rng=np.random.default_rng(1))
    block = kind(X, y).block(np.arange(60))
    theta, nearby = np.full(60, -9.0), np.random.default_rng(2).normal(scale=0.01, size=60)
    for gamma in (-8.0, -5.0, -3.0):
        penalty = Penalty(np.full(60, gamma), ridge, beta)
        plain = minimise_plain(block, theta, penalty)
        compiled = minimise(block, plain.end.theta + nearby, penalty)
        again = minimise_plain(block, plain.end.theta + nearby, penalty)  # the first end may be a saddle
        assert compiled.end.free_energy == pytest.approx(again.end.free_energy, rel=1e-10)
        np.testing.assert_allclose(compiled.end.m, again.end.m, atol=1e-6)
        np.testing.assert_allclose(compiled.end.w, again.end.w, atol=1e-6)
        assert compiled.end.residual <= 1e-7
        theta = plain.end.target


@pytest.mark.skipif(not COMPILED, reason="built without a compiler: there is only the plain loop")
@pytest.mark.parametrize("kind", [Samples, Moments.from_data])
def test_the_w_of_a_solution_spare_work_and_others_do_no_harm(kind):
    X, y, _ = sparse_regression(40, 60, 5, zeta=0.9, sigma=0.5, rng=np.random.default_rng(1))
    block, rng = kind(X, y).block(np.arange(60)), np.random.default_rng(2)
    theta = np.full(60, -9.0)
    for gamma in (-8.0, -5.0, -3.0):
        penalty = Penalty(np.full(60, gamma))
        end = minimise(block, theta, penalty).end
        again = minimise(block, end.theta, penalty, w=end.w)
        assert (again.n_iter, again.n_factorizations) == (0, 1)
        assert again.end.free_energy == pytest.approx(end.free_energy, rel=1e-12)
        others = minimise(block, end.theta, penalty, w=end.w + rng.normal(size=60))
        np.testing.assert_allclose(others.end.m, end.m, atol=1e-6)
        np.testing.assert_allclose(others.end.w, end.w, atol=1e-6)
        theta = end.target


@pytest.mark.skipif(not COMPILED, reason="built without a compiler: there is only the plain loop")
@pytest.mark.parametrize(("n_samples", "ridge"), [(40, 0.3), (40, 0.02), (200, 0.0)], ids=["dual", "thin slab", "tall"])
@pytest.mark.parametrize("beta", [None, 2.0])
def test_compiled_and_plain_descent_agree_where_very_many_features_are_undecided(n_samples, ridge, beta):
    X, y, _ = sparse_regression(n_samples, 150, 30, zeta=0.5, sigma=1.0, rng=np.random.default_rng(1))
    block = Samples(X, y).block(np.arange(150))
    nearby = np.random.default_rng(2).normal(scale=0.01, size=150)
    for gamma in (-0.5, 1.0, 4.0):
        penalty = Penalty(np.full(150, gamma), ridge, beta)
        plain = minimise_plain(block, np.zeros(150) + gamma, penalty)
        compiled = minimise(block, plain.end.theta + nearby, penalty)
        again = minimise_plain(block, plain.end.theta + nearby, penalty)
        assert compiled.end.free_energy == pytest.approx(again.end.free_energy, rel=1e-10)
        np.testing.assert_allclose(compiled.end.m, again.end.m, atol=1e-6)
        np.testing.assert_allclose(compiled.end.w, again.end.w, atol=1e-6)
        assert compiled.end.residual <= 1e-7
        assert compiled.n_iter <= 10  # Newton's steps, though by conjugate gradients


def test_whitened_block_profiles_the_background_exactly():
    """The dual: features eliminated through A give the same F as features in the block."""
    from garrote.background import DiffuseBackground
    from garrote.energy import bernoulli_term

    X, y, _ = sparse_regression(30, 80, 3, zeta=0.5, sigma=0.5, rng=np.random.default_rng(4))
    samples = Samples(X, y)
    m = np.random.default_rng(5).uniform(0.001, 0.45, 80)
    m[:4] = [0.99, 0.9, 0.6, 0.3]
    inside, outside = np.arange(4), np.arange(4, 80)
    gamma = np.full(80, -3.0)
    for ridge in (0.0, 0.4):
        whole = evaluate(samples.block(np.arange(80)), logit(m), Penalty(gamma, ridge))
        background = DiffuseBackground.build(samples, outside, logit(m[4:]), gamma[4:], -3.0, ridge, True)
        block = background.subtract(samples.block(inside, shorten=False))
        part = evaluate(block, logit(m[:4]), Penalty(gamma[:4], ridge))
        assert part.noise == pytest.approx(whole.noise, rel=1e-10)
        np.testing.assert_allclose(part.w, whole.w[:4], rtol=1e-8)
        assert part.free_energy + background.bernoulli == pytest.approx(whole.free_energy, rel=1e-10)
        assert background.bernoulli == pytest.approx(bernoulli_term(logit(m[4:]), m[4:], gamma[4:]))
        e = block.target - block.root @ part.v
        c = samples.correlations(background.residual(e))
        np.testing.assert_allclose(background.contributions(c, slice(None))[4:], whole.v[4:], rtol=1e-8)


def test_near_copies_keep_the_digits_of_an_orthogonal_decomposition():
    """The Gram matrix squares the condition of X (here 1e5); one refinement by the residual restores the digits."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(60)
    X = np.column_stack([x, x + 1e-5 * rng.standard_normal(60), rng.standard_normal(60)])
    y = X @ [1.0, -2.0, 0.5] + rng.standard_normal(60)
    at = evaluate(block_of(X, y), np.full(3, 500.0), Penalty(np.full(3, -2.0)))
    ols, *_ = np.linalg.lstsq(X - X.mean(axis=0), y - y.mean(), rcond=None)
    np.testing.assert_allclose(at.v, ols, rtol=1e-9)


def test_features_outside_the_linear_system_count_to_first_order():
    X, y = problem("tall")
    m = np.array([0.9, 1e-9, 3e-9, 0.4, 2e-10, 1e-9])
    at = evaluate(block_of(X, y), logit(m), Penalty(np.full(6, -2.0)))
    assert set(at.on) == {0, 3}
    w, beta = printed_primal(centred(X, y), m)
    np.testing.assert_allclose(at.w, w, rtol=1e-7)
    np.testing.assert_allclose(at.v, m * w, rtol=1e-7)
    alone = evaluate(block_of(X, y), np.where(m > 0.1, logit(m), -500.0), Penalty(np.full(6, -2.0)))
    assert at.noise - alone.noise == pytest.approx(1 / beta - alone.noise, rel=1e-3)
    assert at.noise < alone.noise


@pytest.mark.parametrize("n_features", [1, 10, 1000])
def test_inclusions_outside_the_linear_system_are_negligible_in_total(n_features):
    X, y, _ = sparse_regression(20, n_features, 1, sigma=1.0, rng=np.random.default_rng(0))
    m = np.random.default_rng(1).permutation(np.geomspace(1e-14, 1e-2, n_features))
    at = evaluate(block_of(X, y), logit(m), Penalty(np.full(n_features, -2.0)))
    assert np.delete(m, at.on).sum() < 1e-7
    assert len(at.on) < max(2, n_features)


def test_without_any_inclusion_nothing_is_explained():
    X, y = problem("tall")
    at = evaluate(block_of(X, y), np.full(6, -300.0), Penalty(np.full(6, -2.0)))
    assert at.noise == pytest.approx(y.var(), rel=1e-12)
    np.testing.assert_allclose(at.w, centred(X, y).b / X.var(axis=0), rtol=1e-10)
    assert at.free_energy == pytest.approx(20 * (1 + np.log(2 * np.pi * y.var())), rel=1e-12)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_precision_is_bounded_relative_to_the_variance_of_y(scale):
    X, y = problem("tall")
    block = block_of(X, scale * y)
    penalty = Penalty(np.full(6, -2.0))
    assert precision(0.0, penalty, block) == pytest.approx(1e20 / (scale**2 * y.var()), rel=1e-9)
    assert precision(scale**2, penalty, block) == pytest.approx(scale**-2)


def test_target_of_an_overwhelming_feature_is_cut_where_m_is_one():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((2000, 1))
    at = evaluate(block_of(x, x[:, 0] + 0.01 * rng.standard_normal(2000)), np.array([5.0]), Penalty(np.array([-2.0])))
    assert at.target[0] == 500.0


def test_moments_that_are_indefinite_by_rounding_share_the_weight_of_copies_evenly():
    """A published correlation matrix is rounded: copies correlate by a little more than 1."""
    gram = np.array([[1.0, 1.0 + 4e-11], [1.0 + 4e-11, 1.0]])
    block = Block(np.arange(2), np.ones(2), gram, np.array([0.5, 0.5]), 1.0, 50.0)
    at = evaluate(block, np.full(2, 500.0), Penalty(np.full(2, -2.0)))
    np.testing.assert_allclose(at.v, [0.25, 0.25], rtol=1e-6)
    assert at.noise == pytest.approx(0.75, rel=1e-6)
