"""A Block that grows and shrinks is the Block of its features; no column is read twice for it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from garrote.block import Columns
from garrote.datasets import sparse_regression
from garrote.energy import Penalty
from garrote.minimise import minimise
from garrote.problem import Samples
from garrote.workingset import Model, WorkingSet

FEATURES = np.array([7, 2, 30, 11, 0, 25])


@pytest.fixture
def samples():
    X, y, _ = sparse_regression(20, 40, 4, zeta=0.5, sigma=0.5, rng=np.random.default_rng(0))
    return Samples(X + 3.0, y, np.random.default_rng(1).uniform(0.5, 2.0, 20), unpenalized=np.array([39]))


def assert_same(block, expected):
    assert_array_equal(block.features, expected.features)
    for name in ("chi", "gram", "b", "root", "target"):
        assert_allclose(getattr(block, name), getattr(expected, name), rtol=1e-12, atol=1e-14, err_msg=name)
    penalty = Penalty(np.full(len(block.features), -3.0))
    ours, theirs = (minimise(each, penalty.gamma, penalty).end for each in (block, expected))
    assert ours.free_energy == pytest.approx(theirs.free_energy, rel=1e-12)


@pytest.mark.parametrize("size", [0, 1, 4, 6])
def test_an_extended_block_is_that_of_all_its_features(samples, size):
    few, more = FEATURES[:size], FEATURES[size:]
    block = samples.block(few, shorten=False)
    block = block.extended(more, Columns(block.root).append(samples.roots(more)))
    assert_same(block, samples.block(FEATURES, shorten=False))


@pytest.mark.parametrize("size", [1, 4, 6])
def test_the_first_features_of_a_block_are_a_block(samples, size):
    block = samples.block(FEATURES, shorten=False)
    assert_same(block.first(size), samples.block(FEATURES[:size], shorten=False))
    assert not np.shares_memory(block.first(size).root, block.root)  # which would keep the memory of all


def test_columns_are_appended_in_place_until_the_room_is_full(monkeypatch):
    monkeypatch.setattr(Columns, "LEAST_ROOM", 6)
    given = np.random.default_rng(0).standard_normal((5, 9))
    columns = Columns(np.asfortranarray(given[:, :2]))
    three, four = columns.append(given[:, 2:3]), columns.append(given[:, 3:4])
    assert np.shares_memory(three, four)
    every = columns.append(given[:, 4:])
    assert not np.shares_memory(four, every)
    assert every.flags.f_contiguous
    for some in (three, four, every):
        assert_array_equal(some, given[:, : some.shape[1]])


def test_the_columns_of_a_working_set_are_read_when_they_enter_and_not_again(monkeypatch):
    X, y, _ = sparse_regression(300, 5000, 10, zeta=0.0, sigma=1.0, rng=np.random.default_rng(2))
    read, roots = [], Samples.roots

    def counted(self, features):
        read.append(features)
        return roots(self, features)

    monkeypatch.setattr(Samples, "roots", counted)
    active = WorkingSet(Samples(X, y), Model())
    theta = active.start(-12.0)
    for gamma in (-12.0, -8.0, -6.0):
        theta = active.descend(gamma, theta).run.end.theta
    assert len(read) >= 3
    assert_array_equal(np.concatenate(read), active.features)
