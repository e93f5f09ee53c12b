"""The rules of overfitting, one by one."""

import math

import numpy as np
import pytest
from searches import found, random_search, search, several_in
from sklearn.exceptions import ConvergenceWarning

import garrote.overfitting
from garrote import garrote_path
from garrote.datasets import sparse_regression
from garrote.overfitting import NATS, Overfitting, most_named
from garrote.problem import Samples
from garrote.workingset import Model, WorkingSet


def rules(n_samples=40, n_features=100, **model):
    rng = np.random.default_rng(0)
    samples = Samples(rng.standard_normal((n_samples, n_features)), rng.standard_normal(n_samples))
    return Overfitting(samples, Model(**model))


def test_what_counts_as_overfitting():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((21, 20)), rng.standard_normal(21)
    wide = search(X, y, [-5.0, -4.0]).rules  # 20 features, 21 samples: they can interpolate
    tall = search(X[:, :19], y, [-5.0, -4.0]).rules
    ten, eleven = np.repeat([0.9, 0.01], 10), np.repeat([0.9, 0.01], [11, 9])
    assert wide.overfits(found(ten)) == ""
    assert wide.overfits(found(eleven)) == ("11 features are selected from 21 samples: the fit begins to interpolate")
    assert wide.overfits(found(ten, at_rest=False)) == (
        "unselected features together begin to explain y, and no solution comes to rest"
    )
    # unselected features may hold as much as the selected ones, and at least 0.05 of the samples
    assert wide.overfits(found([0.9, 0.4, 0.4])) == ""
    assert wide.overfits(found([0.4, 0.4])) == ""
    assert wide.overfits(found([0.4, 0.4, 0.4])) == (
        "unselected features hold a total inclusion of 1.2, the selected ones 0"
    )
    assert wide.overfits(found([0.9, 0.4, 0.4], outside=0.7)) == (
        "unselected features hold a total inclusion of 1.5, the selected ones 0.9"
    )
    for case in (found(eleven), found(ten, at_rest=False), found([0.4] * 10)):
        assert tall.overfits(case) == ""


def test_features_are_added_by_exchange_only_where_the_prior_expects_less_than_one():
    rng = np.random.default_rng(0)
    few = search(rng.standard_normal((10, 19)), rng.standard_normal(10), [-5.0]).rules
    many = search(rng.standard_normal((10, 20)), rng.standard_normal(10), [-5.0]).rules
    assert few.additions_mean_something(5.0)
    assert many.additions_mean_something(-np.log(20.0) - 0.01)
    assert not many.additions_mean_something(-np.log(20.0) + 0.01)


def test_the_limits_of_overfitting_are_exact():
    rules = random_search(21, 20).rules
    # weak features may hold exactly as much as the strong ones, and exactly 0.05 n_samples
    assert rules.overfits(found([0.75, 0.75, 0.5, 0.5, 0.5])) == ""
    assert rules.overfits(found([0.75, 0.75, 0.5, 0.5, 0.5], outside=0.01)) != ""
    assert rules.overfits(found([0.5, 0.5], outside=0.05)) == ""
    assert rules.overfits(found([0.5, 0.5], outside=0.06)).startswith("unselected features hold a total inclusion of")
    # m = ½ is not selected
    assert rules.overfits(found([0.5] * 11 + [0.9] * 8)) == ""


@pytest.mark.parametrize(("n_features", "can_interpolate"), [(18, False), (19, True), (20, True)])
def test_as_many_features_as_samples_but_one_can_interpolate(n_features, can_interpolate):
    rules = random_search(20, n_features).rules
    assert (rules.overfits(several_in(10, of=n_features)) != "") == can_interpolate
    assert rules.overfits(several_in(9, of=n_features)) == ""  # 9 ≤ (20 − 1)/2


def test_outside_features_may_not_hold_a_sizeable_part_of_the_samples_under_a_flat_prior():
    flat, shrunk = rules(), rules(ridge=0.1)
    ten = np.full(10, 0.9)
    assert flat.overfits(found(ten, outside=6.0)) == ""  # 0.15 of 40 samples
    assert flat.overfits(found(ten, outside=6.1)) == (
        "unselected features hold a total inclusion of 6.1: together they begin to explain y"
    )
    assert shrunk.overfits(found(ten, outside=6.1)) == ""


def test_the_dual_is_not_asked_for_where_the_path_ends(monkeypatch):
    asked, diffuse = [], WorkingSet._diffuse
    monkeypatch.setattr(WorkingSet, "_diffuse", lambda *a, **b: asked.append(a) or diffuse(*a, **b))
    X, y, _ = sparse_regression(50, 1500, 5, sigma=1.0, rng=np.random.default_rng(22))
    path = garrote_path(X, y)
    assert "together they begin to explain y" in path.stopped
    assert not asked
    with pytest.warns(ConvergenceWarning, match=r"^1 of 2 solutions did not come to rest, the first at gamma = -3\.5:"):
        garrote_path(X, y, gammas=[-8.0, -3.5])
    assert asked


# ---- how many features so few samples can tell -----------------------------------------------------------------------


@pytest.mark.parametrize(("n_features", "nats"), [(2000, 180.0), (10_000, 50.0), (30, 12.0), (100_000, 72.5)])
def test_the_most_features_that_can_be_named(n_features, nats):
    size = most_named(n_features, nats)
    assert math.log(math.comb(n_features, size)) <= nats < math.log(math.comb(n_features, size + 1))


def test_one_feature_can_be_named_always_and_half_of_them_at_most():
    assert most_named(10**6, 1.0) == 1
    assert most_named(1, 1.0) == 1
    assert most_named(20, 1e6) == 10


def test_of_very_many_features_fewer_may_be_selected():
    assert rules(40, 79).most_selected == rules(40, 200).most_selected == 19.5
    assert rules(40, 3000).most_selected == most_named(3000, 1.8 * 40) == 11
    assert rules(40, 3000, ridge=0.1).most_selected == 19.5  # a slab prior bounds F
    odds = np.zeros(3000)
    assert rules(40, 3000, prior_log_odds=odds).most_selected == 11
    odds[0] = 1.0  # less is needed to name what is likely
    assert rules(40, 3000, prior_log_odds=odds).most_selected == 19.5


def recovered(n_samples, n_features, n_nonzero, seed):
    """Whether some solution of the path has all weights of a signal without noise, and nothing else."""
    rng = np.random.default_rng(seed)
    X, coef = rng.standard_normal((n_samples, n_features)), np.zeros(n_features)
    coef[rng.choice(n_features, n_nonzero, replace=False)] = rng.standard_normal(n_nonzero)
    path = garrote_path(X, X @ coef + 1e-3 * rng.standard_normal(n_samples))
    return min(np.square(solution.v - coef).sum() for solution in path) < 1e-2 * np.square(coef).sum()


@pytest.mark.parametrize(("n_samples", "n_features"), [(60, 600), (100, 2000), (40, 3000)])
def test_signals_of_more_features_would_not_be_found(n_samples, n_features, monkeypatch):
    few, many = (most_named(n_features, nats * n_samples) for nats in (0.9, NATS))
    assert sum(recovered(n_samples, n_features, few, seed) for seed in range(5)) >= 4
    monkeypatch.setattr(garrote.overfitting, "NATS", np.inf)
    assert not any(recovered(n_samples, n_features, many + 1, seed) for seed in range(5))
