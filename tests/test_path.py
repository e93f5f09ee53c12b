"""The path: as low in F as the printed algorithm and lower, its grid, its branches, its stop, its sparse storage."""

import pickle
import re
from unittest.mock import patch

import numpy as np
import pytest
from joblib import Parallel, delayed
from oracle import printed_path
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

import garrote.minimise
from garrote import garrote_path
from garrote.datasets import example1, example2, sparse_regression
from garrote.path import default_gammas, gamma_min, trace, wide_gammas
from garrote.problem import Samples
from garrote.search import Search
from garrote.solve import MAX_ITER, TOL, solve
from garrote.workingset import Model

INSTANCES = 20


def strongly_correlated(sigma2):
    return lambda rng: sparse_regression(100, 100, 20, zeta=0.95, sigma=np.sqrt(sigma2), rng=rng)[:2]


FAMILIES = {
    "Example 1": lambda rng: example1(rng).train,
    "Example 2": lambda rng: example2(rng).train,
    "ζ = 0.95, σ² = 0.1": strongly_correlated(1e-1),
    "ζ = 0.95, σ² = 0.01": strongly_correlated(1e-2),
    "ζ = 0.95, σ² = 0.0001": strongly_correlated(1e-4),
}


def free_energies(family, seed):
    """Ours and the printed algorithm's F on the same γ, where the printed one converged."""
    X, y = FAMILIES[family](np.random.default_rng(seed))
    path = garrote_path(X, y)
    with np.errstate(over="ignore", under="ignore"):
        printed = printed_path(X, y, path.gammas)
    both = np.isfinite(printed)
    return path.free_energies[both], printed[both]


@pytest.mark.parametrize("family", FAMILIES)
def test_free_energy_is_not_above_the_printed_algorithm(family):
    tasks = (delayed(free_energies)(family, seed) for seed in range(INSTANCES))
    ours, printed = map(np.concatenate, zip(*Parallel(n_jobs=2)(tasks), strict=True))
    assert len(ours) > 500
    assert np.mean(ours <= printed + 1e-5) >= 0.995
    if "0.95" in family:
        assert np.mean(ours < printed - 1e-5) > 0.5


def free_energies_above_the_plain_solver(family, seed):
    """Our F less that of annealing up and down in NumPy: no compiled code, no working set, no exchange."""
    X, y = FAMILIES[family](np.random.default_rng(seed))
    path = garrote_path(X, y)
    with patch.object(garrote.minimise, "COMPILED", False):
        plain = Search(Samples(X, y), path.gammas, Model(), TOL, MAX_ITER)
        plain.anneal_up(whole_grid=False)
        plain.follow_down()
    return [ours - point.free_energy for ours, point in zip(path.free_energies, plain.best, strict=False)]


@pytest.mark.parametrize("family", FAMILIES)
def test_free_energy_is_not_above_the_plain_solver(family):
    tasks = (delayed(free_energies_above_the_plain_solver)(family, seed) for seed in range(INSTANCES))
    above = np.concatenate(Parallel(n_jobs=2)(tasks))
    assert len(above) > 500
    assert above.max() <= 1e-6


def test_every_solution_is_a_fixed_point():
    X, y, _ = sparse_regression(50, 80, 5, zeta=0.9, sigma=0.3, rng=np.random.default_rng(0))
    path = garrote_path(X, y)
    assert max(solution.residual for solution in path) <= 1e-6
    for solution in path[::7]:
        evidence = 0.5 * solution.beta * len(y) * solution.w**2 * X.var(axis=0)
        np.testing.assert_allclose(solution.m, expit(solution.gamma + evidence), atol=1e-6)


def test_default_grid_is_the_papers():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    X *= 7.0  # γ_min must not depend on the scale of X
    rho = np.array([np.corrcoef(x, y)[0, 1] ** 2 for x in X.T])
    lowest = -30 * rho.max() + logit(1e-3)
    grid = default_gammas(Samples(X, y), 50)
    np.testing.assert_allclose(grid, np.linspace(lowest, 0.02 * lowest, 50))
    np.testing.assert_allclose(garrote_path(X, y).gammas, grid)


def test_at_gamma_min_the_first_feature_has_inclusion_epsilon():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    gamma = gamma_min(Samples(X, y), epsilon=1e-3)
    assert solve(X, y, gamma=gamma).m.max() == pytest.approx(1e-3, rel=0.05)


def test_a_given_grid_is_solved_whole():
    X, y = example2(np.random.default_rng(0)).train
    grid = np.array([-12.0, -7.5, -1.0, 0.5])
    path = garrote_path(X, y, gammas=grid)
    np.testing.assert_array_equal(path.gammas, grid)
    assert path.stopped == ""


def test_hysteresis_is_recorded():
    """Example 1: over a range of γ the solutions found upwards and downwards differ, and the lower F is kept."""
    X, y = example1(np.random.default_rng(3)).merged
    path = garrote_path(X, y)
    split = np.abs(path.free_energy_up - path.free_energy_down) > 1e-3
    assert split.sum() >= 3
    assert (path.free_energies <= np.minimum(path.free_energy_up, path.free_energy_down) + 1e-9).all()
    assert {"up", "down"} <= {solution.branch for solution in path}


def test_the_path_stops_before_it_interpolates():
    X, y = example2(np.random.default_rng(2)).train
    path = garrote_path(X, y)
    assert 0 < len(path) < 50
    assert "inclusion" in path.stopped or "selected" in path.stopped
    assert max(len(solution.selected) for solution in path) < 0.75 * len(y)
    assert min(1 / solution.beta for solution in path) > 1e-3 * y.var()


def test_fewer_features_than_samples_never_stop_the_path():
    X, y, _ = sparse_regression(100, 20, 5, sigma=3.0, rng=np.random.default_rng(0))
    path = garrote_path(X, y)
    assert len(path) == 50
    assert path.stopped == ""


def test_many_features_need_few_passes_and_no_dense_storage():
    X, y, coef = sparse_regression(150, 20_000, 5, sigma=np.sqrt(0.5), rng=np.random.default_rng(0))
    path = garrote_path(np.asfortranarray(X), y)
    truth = set(np.flatnonzero(coef))
    assert any(set(solution.selected) == truth for solution in path)
    assert path.n_passes <= 15
    assert max(len(solution.features) for solution in path) < 1000
    assert path.coefs.shape == (20_000, len(path))
    assert path.coefs.nnz < 1000 * len(path)


def test_dual_is_not_built_where_the_default_grid_ends(monkeypatch):
    """It costs as much as n_samples passes, and what it would find is beyond the end of the grid."""
    X, y, _ = sparse_regression(300, 2000, 5, sigma=np.sqrt(0.5), rng=np.random.default_rng(0))
    monkeypatch.setattr(Samples, "outer", lambda *_: pytest.fail("the dual is built"))
    assert "unselected features" in garrote_path(X, y).stopped


@pytest.mark.parametrize("zeta", [0.5, 0.95])
def test_working_set_path_is_as_low_as_one_block(zeta, monkeypatch):
    X, y, _ = sparse_regression(80, 350, 6, zeta=zeta, sigma=0.5, rng=np.random.default_rng(1))
    whole = garrote_path(X, y)
    monkeypatch.setattr(Samples, "ONE_BLOCK", 100)
    working = garrote_path(X, y)
    common = min(len(whole), len(working))
    assert common > 25
    assert (working.free_energies[:common] <= whole.free_energies[:common] + 0.05).mean() >= 0.95
    for ours, theirs in zip(working[: common - 5 : 5], whole[: common - 5 : 5], strict=True):
        assert ours.free_energy == pytest.approx(theirs.free_energy, abs=0.05)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_results_do_not_depend_on_the_number_of_threads(n_threads):
    X, y, _ = sparse_regression(60, 40_000, 3, sigma=0.5, rng=np.random.default_rng(0))
    X = np.asfortranarray(X)
    with threadpool_limits(1):
        expected = garrote_path(X, y)
    with threadpool_limits(n_threads):
        path = garrote_path(X, y)
    np.testing.assert_allclose(path.free_energies, expected.free_energies, rtol=1e-10)
    assert abs(path.coefs - expected.coefs).max() < 1e-10


def test_every_solution_has_its_cost():
    X, y, _ = sparse_regression(60, 2000, 3, sigma=0.5, rng=np.random.default_rng(0))
    wide, whole = garrote_path(X, y), garrote_path(X[:, :50], y)
    for path, passes in ((wide, 1), (whole, 0)):
        assert 0 < sum(solution.n_factorizations for solution in path) <= path.n_factorizations
        assert all(solution.n_factorizations > 0 for solution in path)
        assert passes <= sum(solution.n_passes for solution in path) <= path.n_passes
    assert solve(X, y, gamma=-8.0).n_passes > 0
    assert solve(X[:, :50], y, gamma=-8.0).n_passes == 0


def test_passes_of_one_path_are_not_counted_in_the_next():
    X, y, _ = sparse_regression(40, 1500, 2, sigma=0.5, rng=np.random.default_rng(0))
    problem = Samples(X, y)
    first, second = (trace(problem, default_gammas(problem, 10), Model(), whole_grid=False) for _ in range(2))
    assert first.n_passes == second.n_passes > 0


def test_paths_are_sequences_of_solutions():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    path = garrote_path(X, y, gammas=7)
    assert len(path) == len(list(path)) == 7
    assert path[-1] is path[6]
    np.testing.assert_allclose(path.coefs.toarray()[:, 3], path[3].v)
    np.testing.assert_allclose(path.inclusions.toarray()[:, 3], path[3].m)
    assert path.n_factorizations >= path.n_iter > 0


@pytest.mark.parametrize("whole", [True, False], ids=["one block", "working set"])
def test_a_solution_is_made_once_and_what_a_path_stacks_is_that_of_its_solutions(whole, monkeypatch):
    monkeypatch.setattr(Samples, "ONE_BLOCK", 600 if whole else 20)
    X, y, _ = sparse_regression(60, 40, 4, sigma=0.5, rng=np.random.default_rng(3))
    path = garrote_path(np.column_stack([X, np.ones(60)]), y)
    assert path[-1] is path[len(path) - 1] is list(path)[-1] is path[-1:][0]
    with pytest.raises(IndexError):
        path[len(path)]
    for k, solution in enumerate(path):
        listed = np.zeros(41)
        listed[solution.features] = solution.inclusion
        np.testing.assert_array_equal(path.inclusions[:, [k]].toarray()[:, 0], listed)
        np.testing.assert_array_equal(path.coefs[:, [k]].toarray()[:, 0], solution.v)
        assert (path.gammas[k], path.free_energies[k]) == (solution.gamma, solution.free_energy)
    path.coefs.data[:] = np.nan  # arrays of its own
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.coefs.toarray(), path.coefs.toarray())
    assert again[3].n_iter == path[3].n_iter and again[3].branch == path[3].branch


def test_no_grid_is_the_default_grid():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    np.testing.assert_allclose(garrote_path(X, y, gammas=None).gammas, default_gammas(Samples(X, y), 50))


@pytest.mark.parametrize(("argument", "value"), [("ridge", -1.0), ("tol", -1e-9), ("max_iter", 0)])
def test_bad_arguments_are_named_first(argument, value):
    X, y, _ = sparse_regression(20, 3, 1, sigma=1.0, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=f"^{argument} is "):
        garrote_path(X, y, **{argument: value})


@pytest.mark.parametrize("gammas", [0, -3, 2.5, True, "many"])
@pytest.mark.parametrize("grid", [default_gammas, wide_gammas])
def test_a_number_of_gammas_that_is_none_is_refused_with_its_value(grid, gammas):
    X, y, _ = sparse_regression(20, 3, 1, sigma=1.0, rng=np.random.default_rng(0))
    expected = f"gammas is {gammas!r}; give the number of grid points (at least 1) or the grid itself."
    with pytest.raises(ValueError, match=f"^{re.escape(expected)}$"):
        grid(Samples(X, y), gammas)
    assert len(grid(Samples(X, y), 1)) == 1


def test_prior_log_odds_move_the_default_grid():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    odds = np.linspace(-1.0, 2.0, 10)
    path = garrote_path(X, y, gammas=5, prior_log_odds=odds)
    rho = np.array([np.corrcoef(x, y)[0, 1] ** 2 for x in X.T])
    assert path.gammas[0] == pytest.approx(logit(1e-3) - (30 * rho + odds).max())


@pytest.mark.parametrize("grid", [default_gammas, wide_gammas])
def test_where_prior_log_odds_put_the_grid_above_zero_it_spans_five(grid):
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    odds = np.full(10, -60.0)
    lowest = gamma_min(Samples(X, y), odds)
    assert lowest > 0
    np.testing.assert_allclose(grid(Samples(X, y), 11, odds), np.linspace(lowest, lowest + 5.0, 11))


def test_where_nothing_varies_the_grid_begins_at_the_log_odds_of_epsilon():
    y = np.random.default_rng(0).standard_normal(20)
    assert gamma_min(Samples(np.ones((20, 3)), y), epsilon=0.01) == pytest.approx(logit(0.01))
    assert gamma_min(Samples(np.column_stack([y, y**2]), np.ones(20)), epsilon=0.01) == pytest.approx(logit(0.01))


def test_the_wide_grid_falls_in_equal_ratios_and_goes_on_into_the_dense_regime():
    X, y, _ = sparse_regression(60, 10, 2, sigma=0.1, rng=np.random.default_rng(0))
    grid = wide_gammas(Samples(X, y), 40)
    assert len(grid) == 40
    sparse_part, dense_part = grid[:35], grid[35:]
    assert sparse_part[0] == pytest.approx(gamma_min(Samples(X, y)))
    assert sparse_part[-1] == pytest.approx(-0.3)
    np.testing.assert_allclose(np.diff(np.log(-sparse_part)), np.log(sparse_part[1] / sparse_part[0]))
    np.testing.assert_allclose(dense_part, [0.0, 0.5, 2.0, 4.5, 8.0])


def test_fewer_steps_are_allowed_and_a_looser_tolerance_needs_fewer():
    X, y, _ = sparse_regression(50, 20, 5, zeta=0.9, sigma=0.5, rng=np.random.default_rng(0))
    with pytest.warns(ConvergenceWarning, match="did not converge in 1 steps"):
        garrote_path(X, y, gammas=5, max_iter=1)
    rough, fine = (garrote_path(X, y, gammas=10, tol=tol) for tol in (1e-2, 1e-10))
    assert rough.n_iter < fine.n_iter
    assert max(solution.residual for solution in fine) <= 1e-10


def test_constant_columns_shift_every_recorded_free_energy():
    X, y = example1(np.random.default_rng(3)).merged
    grid = np.linspace(-30.0, -5.0, 12)
    plain = garrote_path(X, y, gammas=grid)
    wide = garrote_path(np.column_stack([np.ones((len(y), 2)), X]), y, gammas=grid)
    shift = -2 * np.log1p(np.exp(grid))
    for name in ("free_energies", "free_energy_up", "free_energy_down"):
        np.testing.assert_allclose(getattr(wide, name), getattr(plain, name) + shift, rtol=1e-9)
    assert (wide.n_passes, wide.n_iter, wide.n_factorizations) == (plain.n_passes, plain.n_iter, plain.n_factorizations)


def test_a_path_on_a_constant_y_is_empty_and_free():
    X = np.random.default_rng(0).standard_normal((20, 3))
    path = garrote_path(X, np.ones(20), gammas=[-4.0, -2.0])
    np.testing.assert_array_equal(path.gammas, [-4.0, -2.0])
    assert (path.stopped, path.n_passes, path.n_factorizations, path.n_iter) == ("", 0, 0, 0)
    np.testing.assert_array_equal(path.free_energy_up, path.free_energies)
    np.testing.assert_array_equal(path.free_energy_down, path.free_energies)
    np.testing.assert_array_equal(path.coefs.toarray(), np.zeros((3, 2)))
    np.testing.assert_allclose(path[1].m, expit(-2.0))


def test_a_grid_that_begins_just_above_zero_spans_five_too():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    problem = Samples(X, y)
    grid = default_gammas(problem, 3, np.full(10, gamma_min(problem) - 0.5))
    np.testing.assert_allclose(grid, [0.5, 3.0, 5.5])


def test_the_wide_grid_is_wide_unless_its_ratios_would_be_small():
    X, y, _ = sparse_regression(60, 10, 2, sigma=1.0, rng=np.random.default_rng(0))
    problem = Samples(X, y)

    def grid(lowest):
        """From there, by prior log odds."""
        return wide_gammas(problem, 16, np.full(10, gamma_min(problem) - lowest))

    np.testing.assert_allclose(grid(-1.5), [*-np.geomspace(1.5, 0.3, 14), 0.0, 8.0])
    np.testing.assert_allclose(grid(-0.9), np.linspace(-0.9, -0.018, 16))
