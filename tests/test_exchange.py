"""Exchange moves: the screened change of F is that of the moved solution, and the compiled loop is the plain one."""

import numpy as np
import pytest

from garrote._loops import COMPILED
from garrote.datasets import sparse_regression
from garrote.exchange import DECIDED, MOVES, MUCH, Screen, moves, screened
from garrote.problem import Samples

compiled = pytest.mark.skipif(not COMPILED, reason="there is no compiler")


def block_of(n_features, seed=0, zeta=0.0, n_samples=50):
    X, y, _ = sparse_regression(n_samples, n_features, min(5, n_features), zeta=zeta, rng=np.random.default_rng(seed))
    samples = Samples(X, y)
    return samples.block(samples.varying)


def noise_of(block, m, ridge):
    """E with every w at its best, from its definition, for features that are in (1) or out (0)."""
    on = np.flatnonzero(m)
    K = block.gram[np.ix_(on, on)] + np.diag(ridge * block.chi[on])
    return block.sigma2_y - block.b[on] @ np.linalg.solve(K, block.b[on])


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_screened_changes_are_those_of_the_moved_solution(ridge):
    block, rng = block_of(8), np.random.default_rng(1)
    theta, gamma = rng.normal(0.0, 3.0, 8), rng.normal(-5.0, 1.0, 8)
    m = np.where(theta > 0, 1.0, 0.0)
    before = noise_of(block, m, ridge)
    for change, drop, add in zip(*Screen(block, theta, gamma, ridge).best(100, True, True), strict=True):
        moved, prior = m.copy(), 0.0
        if drop >= 0:
            moved[drop], prior = 0.0, prior + gamma[drop]
        if add >= 0:
            moved[add], prior = 1.0, prior - gamma[add]
        expected = 0.5 * block.n_samples * np.log(noise_of(block, moved, ridge) / before) + prior
        assert change == pytest.approx(expected, rel=1e-9, abs=1e-9)


@compiled
@pytest.mark.parametrize("zeta", [0.0, 0.9])
@pytest.mark.parametrize("n_features", [1, 2, 3, 12, 60])
def test_compiled_screening_is_the_plain_one(n_features, zeta):
    rng = np.random.default_rng(2)
    for seed in range(5):
        block, ridge = block_of(n_features, seed, zeta), 0.01 * (seed % 3)
        theta, gamma = rng.normal(-1.0, 3.0, n_features), rng.normal(-5.0, 1.0, n_features)
        plain, fast = Screen(block, theta, gamma, ridge), block.screen
        assert fast.look(theta, gamma, ridge)
        for adds, swaps in np.ndindex(2, 2):
            ours, theirs = (screen.best(MOVES, bool(adds), bool(swaps)) for screen in (fast, plain))
            np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7, atol=1e-9)
            np.testing.assert_array_equal(ours[1:], theirs[1:])
        touched = (rng.random(n_features) < 0.3).astype(np.uint8)
        ours, theirs = (screen.best_swap(MOVES, touched) for screen in (fast, plain))
        assert ours == theirs if theirs is None else ours == pytest.approx(theirs, rel=1e-7)
        for adds in (False, True):
            ours, theirs = (screen.best_link(MOVES, adds, touched) for screen in (fast, plain))
            assert ours == theirs if theirs is None else ours == pytest.approx(theirs, rel=1e-7)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("screen", ["plain", pytest.param("compiled", marks=compiled)])
@pytest.mark.parametrize("move", [(-1, -1), (2, -1), (-1, 7), (2, 7)])
def test_after_a_move_w_are_those_of_least_squares(move, screen, ridge):
    block, (drop, add) = block_of(12, zeta=0.8), move
    theta, gamma = np.where(np.arange(12) < 4, 9.0, -9.0), np.full(12, -5.0)
    if screen == "compiled":
        assert block.screen.look(theta, gamma, ridge)
    ours = (block.screen if screen == "compiled" else Screen(block, theta, gamma, ridge)).w_after(drop, add)
    on = sorted({0, 1, 2, 3} - {drop} | {add} - {-1})
    rows = np.vstack([block.root[:, on], np.sqrt(ridge) * np.diag(np.sqrt(block.chi[on]))])
    v = np.linalg.lstsq(rows, np.append(block.target, np.zeros(len(on))), rcond=None)[0]
    expected = block.root.T @ (block.target - block.root[:, on] @ v) / (block.chi * (1.0 + ridge))
    expected[on] = v
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


@compiled
@pytest.mark.parametrize("ridge", [0.0, 0.1])
@pytest.mark.parametrize("zeta", [0.0, 0.95])
def test_a_screen_follows_a_selection_that_changes(zeta, ridge):
    """Hundreds of features enter and leave, one or two at a time: rank-one changes, now and then all anew."""
    block, rng = block_of(60, 0, zeta, n_samples=80), np.random.default_rng(3)
    theta, gamma = np.where(np.arange(60) % 4 == 0, 9.0, -9.0), np.full(60, -5.0)
    for _ in range(300):
        theta[rng.choice(60, rng.integers(1, 3), replace=False)] *= -1.0
        assert block.screen.look(theta, gamma, ridge)
        ours, theirs = (screen.best(MOVES, True, True) for screen in (block.screen, Screen(block, theta, gamma, ridge)))
        np.testing.assert_allclose(ours[0], theirs[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(ours[1:], theirs[1:])
        assert block.screen.noise == pytest.approx(Screen(block, theta, gamma, ridge).noise, rel=1e-9)


@compiled
@pytest.mark.parametrize("n_selected", [0, 3, 20])
def test_a_screen_comes_back_to_what_it_remembers(n_selected):
    block, gamma = block_of(60, n_samples=80), np.full(60, -5.0)
    theta = np.where(np.arange(60) < n_selected, 9.0, -9.0)
    assert block.screen.look(theta, gamma, 0.0)
    block.screen.remember()
    before, noise = block.screen.best(MOVES, True, True), block.screen.noise
    for far in (1, 5, 60):  # so many are selected then; more than there was memory for
        assert block.screen.look(np.where(np.arange(60) >= 60 - far, 9.0, -9.0), gamma, 0.0)
        block.screen.recall()
        after = block.screen.best(MOVES, True, True)
        np.testing.assert_allclose(after[0], before[0], rtol=1e-9)
        np.testing.assert_array_equal(after[1:], before[1:])
        assert block.screen.noise == pytest.approx(noise, rel=1e-12)


@compiled
def test_compiled_screening_leaves_copies_of_a_column_to_the_plain_one():
    X, y, _ = sparse_regression(50, 5, 2, rng=np.random.default_rng(0))
    samples = Samples(X[:, [0, 0, 1, 2]], y)
    block, theta, gamma = samples.block(samples.varying), np.array([40.0, 40.0, 2.0, -4.0]), np.full(4, -5.0)
    assert not block.screen.look(theta, gamma, 0.0)
    starts = list(moves(block, theta, gamma, 0.0, adds=True, swaps=True))
    assert any(np.count_nonzero(start.theta[:2] > 0) == 1 for start in starts)  # one of the copies is dropped


@pytest.mark.parametrize("selected", ["none", "all"])
def test_nothing_selected_and_everything_selected_can_be_screened(selected):
    block = block_of(6)
    theta, gamma = np.full(6, -5.0 if selected == "none" else 5.0), np.full(6, -5.0)
    for start in moves(block, theta, gamma, 0.0, adds=True, swaps=True):
        assert np.count_nonzero(start.theta > 0) == (1 if selected == "none" else 5)


def test_chains_touch_no_feature_twice():
    block = block_of(30, zeta=0.95)
    theta = np.where(np.arange(30) < 6, 8.0, -8.0)
    for start in moves(block, theta, np.full(30, -3.0), 0.0, adds=False, swaps=True):
        dropped, added = theta > start.theta, theta < start.theta
        assert dropped.sum() <= 4 and dropped.sum() == np.count_nonzero(theta[dropped] > 0)
        assert added.sum() <= 4 and added.sum() == np.count_nonzero(theta[added] < 0)


def test_undecided_features_are_switched_alone_only_where_that_promises_much():
    block, gamma = block_of(12), np.full(12, -1.0)
    theta = np.array([9.0, 9.0, 1.0, 0.5, -0.5, -1.0] + 6 * [-9.0])
    undecided = np.abs(theta) < DECIDED
    promised, *moved = screened(block, theta, gamma, 0.0).best(12, True, False)
    promise = {max(move): change for change, *move in zip(promised, *moved, strict=True)}  # of one feature each
    switched = [
        np.flatnonzero(start.theta != theta) for start in moves(block, theta, gamma, 0.0, adds=True, swaps=False)
    ]
    alone = [int(features[0]) for features in switched if undecided[features].all()]
    assert all(promise[i] < -MUCH for i in alone)
    left = [i for i in promise if undecided[i] and i not in alone]
    assert alone and left and all(promise[i] >= -MUCH for i in left)
