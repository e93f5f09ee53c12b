"""The best selections of each size: their energies are those of the model, and they find what no branch leads to."""

from itertools import combinations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit

import garrote.search
from garrote import garrote_path
from garrote.datasets import sparse_regression
from garrote.ladder import CERTAIN, best_pair, falls_without_end, ladder
from garrote.problem import Samples
from garrote.search import Search


@pytest.fixture
def block():
    X, y, _ = sparse_regression(40, 9, 4, zeta=0.8, rng=np.random.default_rng(2))
    return Samples(X, y).block(np.arange(9))


def energy(block, selected, odds, ridge):
    """F + γ·size with the selected features in the model and the others out, from the linear system."""
    selected = list(selected)
    K = block.gram[np.ix_(selected, selected)] + np.diag(block.chi[selected] * ((1.0 + ridge) / expit(CERTAIN) - 1.0))
    noise = block.sigma2_y - block.b[selected] @ np.linalg.solve(K, block.b[selected])
    return 0.5 * block.n_samples * np.log(noise) - odds[selected].sum()


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_every_size_has_the_best_of_all_its_selections(block, ridge):
    odds = np.linspace(-0.5, 0.5, 9)
    rungs = ladder(block, np.arange(9), odds, ridge, 9)
    assert sorted(rung.size for rung in rungs) == list(range(10))
    for rung in rungs:
        best = min(energy(block, some, odds, ridge) for some in combinations(range(9), rung.size))
        assert np.count_nonzero(rung.theta > 0.0) == rung.size
        assert_allclose(rung.energy, best, rtol=1e-9)


def additions(block, selected, gamma, ridge, most):
    """The size to which the best additions lead, while each lowers F, or zero where that is not above ``most``."""
    selected, odds = list(selected), np.zeros(len(block.features))
    while len(selected) <= most:
        others = np.setdiff1d(np.arange(len(odds)), selected)
        change = [
            energy(block, [*selected, j], odds, ridge) - energy(block, selected, odds, ridge) - gamma for j in others
        ]
        if not change or min(change) >= 0.0:
            return 0
        selected.append(others[int(np.argmin(change))])
    return len(selected)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_additions_fall_without_end_where_the_prior_expects_many_useless_features(ridge):
    rng = np.random.default_rng(5)
    noise = Samples(rng.standard_normal((30, 60)), rng.standard_normal(30)).block(np.arange(60))
    sizes = []
    for gamma in (-6.0, -4.0, -2.0, -1.0, 0.0):
        theta = np.where(np.arange(60) < 2, 3.0, -3.0)
        sizes.append(falls_without_end(noise, theta, np.full(60, gamma), ridge, 12.0))
        assert sizes[-1] == additions(noise, range(2), gamma, ridge, 12.0)
        assert (theta == np.where(np.arange(60) < 2, 3.0, -3.0)).all()
    assert sizes[0] == 0 and sizes[-1] == 13


def test_the_best_pair_is_found_among_all(block):
    odds = np.linspace(-2.0, 2.0, 9)
    pairs = {pair: energy(block, pair, odds, 0.2) for pair in combinations(range(9), 2)}
    assert best_pair(block, odds, 0.2) == min(pairs, key=pairs.get)


def test_features_that_the_prior_excludes_are_no_pair(block):
    odds = np.zeros(9)
    odds[:5] = -1e6
    assert set(best_pair(block, odds, 0.0)) <= {5, 6, 7, 8}


def test_copies_of_a_column_are_no_pair():
    X, y, _ = sparse_regression(40, 5, 1, rng=np.random.default_rng(0))
    block = Samples(X[:, [0, 0, 1, 2]], y).block(np.arange(4))
    assert set(best_pair(block, np.zeros(4), 0.0)) != {0, 1}


def test_a_ladder_begins_at_any_selection(block):
    rungs = ladder(block, np.array([2, 7]), np.zeros(9), 0.0, 4)
    assert sorted(rung.size for rung in rungs) == [0, 1, 2, 3, 4]
    assert rungs[0].free_energy(-3.0) == rungs[0].energy + 3.0 * rungs[0].size


def test_the_path_finds_models_that_lie_on_neither_branch(monkeypatch):
    lower = 0
    for seed in range(4):
        X, y, _ = sparse_regression(100, 100, 20, zeta=0.99, sigma=0.1, rng=np.random.default_rng(seed))
        path = garrote_path(X, y)
        with monkeypatch.context() as patched:
            patched.setattr(garrote.search, "COMPILED", False)
            patched.setattr(Search, "climb", lambda self: None)
            difference = path.free_energies - garrote_path(X, y, gammas=path.gammas).free_energies
        lower += (difference < -1.0).sum()
        assert difference.max() < 1e-6
    assert lower >= 20
