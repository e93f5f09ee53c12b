"""Credible signals: blocks of correlated features with a total inclusion."""

import types

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from garrote import Moments, VariationalGarrote, garrote_path
from garrote.datasets_genetics import simulate_cohort, simulate_trait
from garrote.signals import credible_signals
from garrote.sources import plink


def blocks(n_samples=300):
    """Three blocks of four features that are nearly the same, and four features alone."""
    rng = np.random.default_rng(2)
    common = rng.standard_normal((n_samples, 3)).repeat(4, axis=1)
    X = np.column_stack([common + 0.2 * rng.standard_normal((n_samples, 12)), rng.standard_normal((n_samples, 4))])
    return X, X[:, 1] - X[:, 6] + 0.8 * X[:, 13] + 0.5 * rng.standard_normal(n_samples)


X, Y = blocks()


def model_with(inclusion):
    """Something fitted, with these inclusions."""
    return types.SimpleNamespace(inclusion_=np.asarray(inclusion, dtype=float))


def test_inclusion_spread_over_a_block_is_one_signal():
    m = np.full(16, 1e-4)
    m[[0, 1, 2]] = 0.3, 0.35, 0.3  # none of them is selected
    m[13] = 0.9
    first, second = credible_signals(model_with(m), X)
    assert (first.lead, second.lead) == (13, 1)
    assert_array_equal(first.members, [13])
    assert_array_equal(second.members, [0, 1, 2, 3])
    assert_allclose(second.inclusion, 0.95 + 1e-4)
    assert_allclose(second.correlation, np.corrcoef(X.T)[1, :4], rtol=1e-10)


@pytest.mark.parametrize("form", ["array", "data frame", "moments", "solution"])
def test_signals_of_a_fit(form):
    frame = pd.DataFrame(X).add_prefix("x")
    inputs = {"data frame": frame, "moments": Moments.from_data(X, Y)}.get(form, X)
    model = garrote_path(X, Y, gammas=[-12.0])[0] if form == "solution" else VariationalGarrote(-12.0).fit(X, Y)
    signals = credible_signals(model, inputs)
    assert sorted(tuple(signal.members) for signal in signals) == [(0, 1, 2, 3), (4, 5, 6, 7), (13,)]
    assert_allclose([signal.inclusion for signal in signals], 1.0, atol=0.01)
    table = signals.to_frame()
    assert list(table["n_members"]) == [len(signal.members) for signal in signals]
    if form == "data frame":
        assert list(table["name"]) == [f"x{signal.lead}" for signal in signals]


def test_threshold_and_least_inclusion():
    m = np.zeros(16)
    m[[1, 6, 13]] = 0.9, 0.4, 0.02
    assert [signal.lead for signal in credible_signals(model_with(m), X, least=0.0)] == [1, 6]
    assert [signal.lead for signal in credible_signals(model_with(m), X)] == [1]
    assert_array_equal(credible_signals(model_with(m), X, threshold=1.0)[0].members, [1])


def test_more_leads_than_one_pass_looks_at():
    independent = np.random.default_rng(0).standard_normal((200, 30))
    signals = credible_signals(model_with(np.linspace(0.6, 1.0, 30)), independent)
    assert [signal.lead for signal in signals] == list(range(29, -1, -1))


def test_nothing_selected_is_no_signal():
    assert credible_signals(model_with(np.full(16, 1e-5)), X) == ()


@pytest.fixture(scope="module")
def cohort(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("signals") / "cohort"
    simulate_cohort(prefix, n_samples=400, n_chromosomes=3, length=1e5, seed=5)
    return plink.open(prefix)


def test_variants_know_their_place(cohort):
    y, causal, _ = simulate_trait(cohort, 3, 0.7, np.random.default_rng(1))
    signals = credible_signals(VariationalGarrote(-10.0).fit(cohort, y), cohort)
    assert all(any(k in signal.members for signal in signals) for k in causal)
    for signal in signals:
        where = cohort.variants[signal.members]
        assert set(where.chromosome) == {signal.place["chromosome"]}
        assert (where.position.min(), where.position.max()) == (signal.place["start"], signal.place["end"])
        assert signal.place["name"] == cohort.variants.id[signal.lead]
        assert signal.place["counted"] == "G"


def test_members_are_within_the_window(cohort):
    m = np.zeros(cohort.shape[1])
    correlation = np.abs(np.corrcoef(cohort.columns(np.arange(len(m))).T))
    lead = int((correlation > 0.8).sum(axis=0).argmax())
    m[lead] = 1.0
    everything = credible_signals(model_with(m), cohort)[0]
    near = credible_signals(model_with(m), cohort, window=2000)[0]
    distance = np.abs(cohort.variants.position - cohort.variants.position[lead])
    assert_array_equal(near.members, everything.members[distance[everything.members] <= 2000])
    assert len(near.members) < len(everything.members)


def test_bad_arguments_are_refused():
    with pytest.raises(ValueError, match="X has 15 features, but the model has 16"):
        credible_signals(model_with(np.ones(16)), X[:, :15])
    with pytest.raises(ValueError, match=r"threshold is 1\.5"):
        credible_signals(model_with(np.ones(16)), X, threshold=1.5)
    with pytest.raises(ValueError, match="window is -1"):
        credible_signals(model_with(np.ones(16)), X, window=-1)
