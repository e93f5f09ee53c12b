"""The pieces of the calibration study, against enumeration, sampling and hand-made cases."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from garrote.comparators.exact import ExactSpikeSlab
from garrote.comparators.spike_slab import centred
from garrote.paper import load
from garrote.paper.calibration import ZETAS, calibration_error, discovery_measures, reliability
from garrote.paper.experiments.calibration import (
    TRUTH,
    Prediction,
    coverage,
    discoveries,
    exact_posterior,
    large_problem,
    mixture_moments,
    small_problem,
)
from garrote.paper.item import Item, Settings
from garrote.paper.output import write
from garrote.paper.runner import run
from garrote.paper.style import styled


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 4)) + 3.0
    return X, X[:, 0] - 0.4 * X[:, 2] + rng.standard_normal(20) + 5.0


def test_enumeration_agrees_with_the_library(data):
    X, y = data
    inclusion, prediction = exact_posterior(X, y, X)
    model = ExactSpikeSlab(**TRUTH._asdict()).fit(X, y)
    assert_allclose(inclusion, model.inclusion_, rtol=1e-9)
    assert_allclose(prediction.mean, model.predict(X), rtol=1e-9)


def test_predictive_variance_is_that_of_draws_from_the_posterior(data):
    X, y = data
    regression = centred(X, y, np.ones(len(y)))
    rng = np.random.default_rng(1)
    probability = rng.dirichlet(np.ones(16))
    mean, covariance, inclusion = mixture_moments(regression, probability)
    parts = []
    for subset, number in enumerate(rng.multinomial(200_000, probability)):
        on = np.flatnonzero((subset >> np.arange(4)) % 2)
        A = regression.X[:, on].T @ regression.X[:, on] + np.eye(len(on))
        part = np.zeros((number, 4))
        if len(on):
            w = np.linalg.solve(A, regression.X[:, on].T @ regression.y)
            part[:, on] = rng.multivariate_normal(w, np.linalg.inv(A), number)
        parts.append(part)
    draws = np.concatenate(parts)
    assert_allclose(draws.mean(axis=0), mean, atol=0.01)
    assert_allclose(np.cov(draws.T), covariance, atol=0.01)
    assert_allclose((draws != 0).mean(axis=0), inclusion, atol=0.01)


def test_calibration_error_of_probabilities_that_are_true_and_that_are_not():
    rng = np.random.default_rng(0)
    m = rng.uniform(size=100_000)
    active = (rng.uniform(size=m.size) < m).astype(float)
    assert calibration_error(m, active) < 0.01
    assert calibration_error(m, 1.0 - active) == pytest.approx(0.5, abs=0.01)
    assert calibration_error(np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)


def test_reliability_counts_every_feature_once():
    predicted, share, count = reliability(np.array([0.0, 0.05, 0.95, 1.0]), np.array([0.0, 1.0, 1.0, 1.0]))
    assert_allclose(predicted, [0.025, 0.975])
    assert_allclose(share, [0.5, 1.0])
    assert_allclose(count, [2, 2])


def test_coverage_of_a_known_normal():
    y = np.random.default_rng(0).standard_normal(100_000)
    assert coverage(Prediction(np.zeros(y.size), np.ones(y.size)), y) == pytest.approx(0.95, abs=0.003)
    assert coverage(Prediction(np.zeros(y.size), np.full(y.size, 0.5)), y) == pytest.approx(0.673, abs=0.005)


def test_discoveries_are_true_false_or_stand_ins():
    chosen, active = np.array([1, 1, 1, 0, 0], bool), np.array([1, 0, 0, 1, 0], bool)
    counted = discoveries(chosen, active, near=np.array([1, 1, 0, 1, 0], bool))
    assert counted == {"true": 1, "false": 2, "stand_ins": 1}
    nothing = discoveries(active & False, active, active)
    measures = discovery_measures([{"vg": counted}, {"vg": nothing}], "vg")
    assert measures["false discoveries"] == 1.0
    assert measures["data sets with any"] == 0.5
    assert measures["false discovery rate"] == pytest.approx(1 / 3)
    assert measures["false ones that stand in"] == 0.5


def test_the_study_is_made_and_its_claims_hold(tmp_path):
    settings, item = Settings(quick=True), load("calibration")
    assert "Not in the paper" in item.caption
    planned = item.instances(settings)
    assert {i.experiment for i in planned} == {small_problem, large_problem}
    small = [i for i in planned if i.experiment is small_problem and i.parameters["run"] < 2]
    large = [i for i in planned if i.experiment is large_problem]
    assert len(large) == 2 * len(ZETAS)
    with styled():
        one = Item(
            item.name, item.caption, lambda settings: [*small, large[-2]], lambda rows: _report(item, rows, large)
        )
        report, n_computed = run(one, settings, tmp_path, n_jobs=1)
    write(one, report, tmp_path)
    assert n_computed == len(small) + 1
    assert not [f"{check.claim}: {check.evidence}" for check in report.checks if not check.holds]
    assert not [note for note in report.notes if "warned" in note]
    assert all((tmp_path / f"calibration{suffix}").stat().st_size > 100 for suffix in (".csv", ".md", ".png", ".svg"))


def _report(item, rows, large):
    """The page of some problems, with the one larger problem in the place of all of them."""
    *small, one = rows
    return item.report([*small, *(one | instance.parameters for instance in large)])
