"""The Variational Garrote where the answer is known: orthogonal inputs, one input, and the rivals' local optima."""

import numpy as np
import pytest

from garrote import garrote_path
from garrote.comparators.pmf import PairedMeanField, extreme_start
from garrote.datasets import correlated_inputs, outputs
from garrote.solve import solve
from garrote.theory import coexistence_gammas, orthogonal_map, orthogonal_mode, rho_star, univariate_solutions


def orthogonal_inputs(n_samples, n_features, rng):
    """Centred columns with χ = 1 exactly."""
    X = rng.standard_normal((n_samples, n_features))
    q, _ = np.linalg.qr(X - X.mean(axis=0))
    return q * np.sqrt(n_samples)


@pytest.mark.parametrize("seed", range(5))
def test_orthogonal_inputs_are_selected_exactly_where_the_posterior_mode_switches_on(seed):
    """With every m at 0 or 1, F is the negative log posterior: the lowest F is the mode over (s, w, β).

    (Eq. switch_exact, which compares one s_i at a time at the present β, switches on slightly later.)
    """
    rng = np.random.default_rng(seed)
    X = orthogonal_inputs(100, 8, rng)
    y = X @ rng.normal(0, 0.5, 8) + rng.standard_normal(100)
    y -= y.mean()
    b = X.T @ y / 100
    compared = 0
    for solution in garrote_path(X, y, gammas=np.linspace(-40, -0.5, 80)):
        np.testing.assert_allclose(solution.w, b, rtol=1e-8)
        if np.abs(solution.m - 0.5).min() < 0.45:
            continue  # inside a smooth transition
        mode = orthogonal_mode(b, float(np.mean(y**2)), solution.gamma, 100)
        np.testing.assert_array_equal(np.flatnonzero(mode.selected), solution.selected)
        compared += 1
    assert compared >= 40


@pytest.mark.parametrize("seed", range(5))
def test_orthogonal_inputs_agree_with_the_printed_switch_outside_the_transitions(seed):
    """Where m ≈ 0 or 1 from every start, with evidence to spare, Eq. switch_exact selects the same features."""
    rng = np.random.default_rng(seed)
    X = orthogonal_inputs(100, 8, rng)
    y = X @ rng.normal(0, 0.5, 8) + rng.standard_normal(100)
    y -= y.mean()
    b, sigma2_y = X.T @ y / 100, float(np.mean(y**2))
    compared = 0
    for gamma in np.linspace(-40, -0.5, 80):
        low, high = (solve(X, y, gamma=gamma, start=np.full(8, m)) for m in (0.0, 1.0))
        exact = orthogonal_map(b, sigma2_y, gamma, 100)
        before = 50 * b**2 / (exact.noise_variance + b**2 * exact.selected)  # evidence at the β without the feature
        if np.array_equal(low.selected, high.selected) and (np.abs(gamma + before) > 0.3 * np.abs(gamma)).all():
            np.testing.assert_array_equal(np.flatnonzero(exact.selected), low.selected)
            compared += 1
    assert compared >= 10


@pytest.mark.parametrize("rho", [0.1, 0.3, 0.6])
@pytest.mark.parametrize("gamma", [-30.0, -15.0, -5.0])
def test_one_input_has_the_solutions_of_the_theory(rho, gamma):
    rng = np.random.default_rng(0)
    x, e = orthogonal_inputs(100, 2, rng).T
    y = np.sqrt(rho) * x + np.sqrt(1 - rho) * e
    found = {round(float(solve(x[:, None], y, gamma=gamma, start=[m]).m[0]), 6) for m in (0.0, 1.0)}
    solutions = univariate_solutions(rho, gamma, 100)
    assert found <= {round(float(m), 6) for m in solutions.m}
    if rho > rho_star(100):
        low, high = sorted(coexistence_gammas(rho, 100))
        assert (len(found) == 2) == (low < gamma < high)


@pytest.mark.parametrize("seed", [3, 4])
def test_paired_mean_field_has_two_optima_where_the_garrote_has_one(seed):
    """As on the Boston data: noise and sparsity given, random extreme starts, correlated inputs (ζ = 0.9).

    It is not so everywhere. With ζ ≥ 0.95 such starts lead the garrote, too, to several minima, and it is the annealing
    over γ that finds the lowest.
    """
    rng = np.random.default_rng(seed)
    X = correlated_inputs(200, 8, 0.9, rng)
    y = outputs(X, np.array([0, 1.0, 0, 0, -0.7, 0, 0, 0]), np.sqrt(0.5), rng)
    known = {"noise_variance": 0.5, "slab_variance": 1.0, "prior_inclusion": 0.25}
    pmf = [PairedMeanField(**known, init=extreme_start, random_state=start).fit(X, y) for start in range(20)]
    assert len({round(fit.bound_, 1) for fit in pmf}) == 2
    starts = np.random.default_rng(1).integers(0, 2, (20, 8)).astype(float)
    garrote = [solve(X, y, gamma=np.log(0.25 / 0.75), beta=2.0, start=m) for m in starts]
    assert np.ptp([solution.free_energy for solution in garrote]) < 1e-6
    assert garrote[0].selected.tolist() == [1, 4]
