"""Correlated features outside a working set are found for exchange moves, at little cost."""

import numpy as np

import garrote.partners
from garrote.problem import Samples
from garrote.workingset import Model, WorkingSet


def test_correlated_features_enter_the_working_set_for_exchange_moves():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 3000))
    X[:, 2000] = X[:, 5] + 0.1 * rng.standard_normal(50)
    active = WorkingSet(Samples(X, 3 * X[:, 5] + rng.standard_normal(50)), Model())
    active.shrink(10)
    assert 5 in active.features
    active.bring_partners(np.flatnonzero(active.features == 5))
    assert 2000 in active.features
    before = active.problem.n_passes
    active.bring_partners(np.flatnonzero(active.features == 5))
    assert active.problem.n_passes == before  # nobody is asked twice


def test_partners_of_many_features_are_found_in_one_pass():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3000))
    X[:, 1000:1020] = X[:, :20] + 0.3 * rng.standard_normal((400, 20))
    active = WorkingSet(Samples(X, X[:, :20].sum(axis=1)), Model())
    active.shrink(20)
    inside = np.isin(active.features, np.arange(20))
    partners = 1000 + active.features[inside]
    before = active.problem.n_passes
    active.bring_partners(np.flatnonzero(inside))
    assert len(partners) > 10
    assert set(partners) <= set(active.features)
    assert active.problem.n_passes == before + 1


def test_the_columns_of_few_candidates_are_in_memory_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3000))
    X[:, 1000:1020] = X[:, :20] + 0.3 * rng.standard_normal((400, 20))
    read, roots = [], Samples.roots

    def counted(self, features):
        read.append(len(features))
        return roots(self, features)

    def entered():
        active = WorkingSet(Samples(X, X[:, :20].sum(axis=1)), Model())
        read.clear()
        active.bring_partners(np.flatnonzero(active.features < 20))
        return list(active.features), read[:-1]  # the last are those that enter

    monkeypatch.setattr(Samples, "roots", counted)
    at_once, whole = entered()
    monkeypatch.setattr(garrote.partners, "SLAB_ELEMENTS", 1)
    in_slabs, slabs = entered()
    assert in_slabs == at_once
    assert max(whole) > 200
    assert max(slabs) <= 20


def test_where_every_feature_is_inside_there_are_no_partners():
    X = np.random.default_rng(0).standard_normal((20, 6))
    X[:, 5] = 1.0  # but one that is constant
    active = WorkingSet(Samples(X, X[:, 0]), Model())
    inside = np.array([3, 0, 4, 1, 2])
    active.partners = garrote.partners.Partners(active.problem, np.append(np.ones(5), 0.0))
    assert len(active.partners.of(np.array([0, 3]), inside)) == 0
