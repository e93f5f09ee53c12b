"""The compiled search is the plain one, part by part: the same descents, the same points."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import garrote.search
from garrote import garrote_path
from garrote._loops import COMPILED
from garrote.datasets import sparse_regression
from garrote.moments import Moments
from garrote.path import default_gammas, wide_gammas
from garrote.problem import Samples
from garrote.search import Search
from garrote.workingset import Model

pytestmark = pytest.mark.skipif(not COMPILED, reason="no compiled loops")

TALL, SQUARE, WIDE, CORRELATED = (100, 20, 5, 0.0), (60, 60, 12, 0.0), (30, 70, 5, 0.3), (60, 60, 12, 0.95)


def searches(problem, gammas, model, whole_grid=False, max_iter=1000):
    """The search that a path makes, the plain one, and why each of them ended."""
    compiled, plain = (Search(problem, gammas, model, 1e-8, max_iter) for _ in range(2))
    reasons = [compiled.run(whole_grid), plain.anneal_up(whole_grid)]
    for part in (plain.follow_down, plain.climb, plain.settle):
        part()
    return compiled, plain, reasons


def assert_same(compiled, plain, reasons):
    assert reasons[0] == reasons[1]
    assert (len(compiled.best), compiled.end) == (len(plain.best), plain.end)
    assert_allclose([point.free_energy for point in compiled.best], [point.free_energy for point in plain.best])
    assert_allclose(compiled.up, plain.up)
    assert_allclose(compiled.down, plain.down)
    for mine, other in zip(compiled.best, plain.best, strict=True):
        assert (mine.branch, mine.found.run.n_iter) == (other.branch, other.found.run.n_iter)
        assert mine.found.run.converged == other.found.run.converged
        assert_array_equal(mine.selected, other.selected)
        assert_allclose(mine.w, other.w, rtol=1e-6, atol=1e-9)
    assert compiled.active.n_iter == plain.active.n_iter
    assert compiled.active.n_factorizations == plain.active.n_factorizations


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [TALL, SQUARE, WIDE, CORRELATED])
def test_the_compiled_search_is_the_plain_one(shape, seed):
    n_samples, n_features, n_nonzero, zeta = shape
    rng = np.random.default_rng(seed)
    X, y, _ = sparse_regression(n_samples, n_features, n_nonzero, zeta=zeta, sigma=0.7, rng=rng)
    problem = Samples(X, y)
    assert_same(*searches(problem, default_gammas(problem, 25), Model()))
    assert_same(*searches(problem, wide_gammas(problem, 25), Model(ridge=0.1), whole_grid=True))


def test_an_avalanche_is_not_waited_for(monkeypatch):
    asked, falls = [], garrote.search.falls_without_end
    monkeypatch.setattr(garrote.search, "falls_without_end", lambda *what: asked.append(falls(*what)) or asked[-1])
    for seed in range(2):
        X, y, _ = sparse_regression(175, 500, 50, sigma=0.7, rng=np.random.default_rng(seed))
        problem = Samples(X, y)
        assert_same(*searches(problem, default_gammas(problem, 50), Model()))
    assert any(asked) and not all(asked)  # there were both


def test_copies_on_the_way_up_leave_all_to_the_plain_search(monkeypatch):
    import garrote._search

    class Copies:
        def __init__(self, *_):
            pass

        def anneal_up(self, whole_grid):
            raise garrote._search.CopiesError

    X, y, _ = sparse_regression(60, 60, 12, sigma=0.7, rng=np.random.default_rng(0))
    problem = Samples(X, y)
    expected = Search(problem, default_gammas(problem, 25), Model(), 1e-8, 1000)
    reason = expected.run(False)
    monkeypatch.setattr(garrote._search, "BlockSearch", Copies)
    tries = Search(problem, default_gammas(problem, 25), Model(), 1e-8, 1000)
    assert tries.run(False) == reason
    assert_allclose(tries.free_energies, expected.free_energies)


def test_prior_log_odds_and_few_steps_are_those_of_the_plain_search():
    X, y, _ = sparse_regression(40, 30, 5, zeta=0.5, sigma=0.5, rng=np.random.default_rng(0))
    problem, odds = Samples(X, y), np.random.default_rng(1).standard_normal(30)
    assert_same(*searches(problem, default_gammas(problem, 20, odds), Model(odds)))
    assert_same(*searches(problem, default_gammas(problem, 20), Model(), max_iter=3))


def test_moments_are_searched_as_by_the_plain_search():
    X, y, _ = sparse_regression(80, 20, 5, zeta=0.5, sigma=0.5, rng=np.random.default_rng(0))
    problem = Moments.from_data(X, y)
    assert_same(*searches(problem, default_gammas(problem, 20), Model()))


def test_copies_of_a_column_are_left_to_the_plain_search():
    """Their screening needs a pseudo-inverse, which only the plain search has: it goes on from where the other was."""
    X, y, _ = sparse_regression(30, 12, 3, sigma=0.3, rng=np.random.default_rng(0))
    X[:, 4] = X[:, np.abs(X.T @ y).argmax()]
    problem = Samples(X, y)
    compiled, plain, _ = searches(problem, np.linspace(-8.0, 3.0, 12), Model(), whole_grid=True)
    assert any(len(point.selected) > 9 for point in plain.best)  # with the copies among them
    for mine, other in zip(compiled.best, plain.best, strict=True):
        assert mine.free_energy == pytest.approx(other.free_energy, abs=1e-6)


def test_a_path_is_that_of_the_plain_search(monkeypatch):
    X, y, _ = sparse_regression(50, 80, 6, sigma=0.7, rng=np.random.default_rng(4))
    path = garrote_path(X, y)
    monkeypatch.setattr(garrote.search, "COMPILED", False)
    plain = garrote_path(X, y)
    assert path.stopped == plain.stopped != ""
    assert_allclose(path.free_energies, plain.free_energies)
    assert_allclose(path.coefs.toarray(), plain.coefs.toarray(), atol=1e-8)
