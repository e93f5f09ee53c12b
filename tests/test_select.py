"""Choosing γ and λ: validation errors against predictions by hand, what a watch is told, and the rule of choice."""

import numpy as np
import pytest
from scipy.special import expit

from garrote.datasets import sparse_regression
from garrote.path import garrote_path
from garrote.problem import Samples
from garrote.restarts import Restarts
from garrote.select import Unseen, choose, path_errors, validation_errors
from garrote.watch import Watch, watched_by

GAMMAS = np.array([-12.0, -6.0, -3.0])
RIDGES = np.array([0.0, 0.5])


class Recorder(Watch):
    """Keeps what it is told, and may know some folds already."""

    def __init__(self, known=None, live=False):
        self.known, self.live = known, live
        self.steps, self.parts = [], {}

    def begin(self, n_parts, identity, shape):
        self.n_parts, self.identity = n_parts, identity
        return list(self.known or [None] * n_parts)

    def step(self, share):
        self.steps.append(share)

    def done(self, part, result):
        self.parts[part] = result


@pytest.fixture(scope="module")
def data():
    X, y, _ = sparse_regression(40, 6, 2, sigma=1.0, rng=np.random.default_rng(0))
    return X + 3.0, y - 5.0


def splits(n_samples=40, n_folds=3):
    test = np.arange(n_samples) % n_folds
    return [(np.flatnonzero(test != k), np.flatnonzero(test == k)) for k in range(n_folds)]


def errors_of(data, watch, *, weights=None, odds=None, gammas=GAMMAS, ridges=RIDGES, folds=3, **options):
    parts, options = splits(n_folds=folds), {"whole_grid": True, "n_jobs": None} | options
    with watched_by(watch):
        return validation_errors(Samples(*data, weights), parts, gammas, ridges, odds, **options)


@pytest.mark.parametrize("odds", [None, np.array([0.0, 2.0, -1.0, 0.0, 0.0, 1.0])])
def test_errors_are_those_of_predictions_by_hand(data, odds):
    X, y = data
    weights = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    errors, paths = errors_of(data, Watch(), weights=weights, odds=odds)
    assert errors.shape == (2, 3, 3)
    for k, (train, test) in enumerate(splits()):
        for i, ridge in enumerate(RIDGES):
            path = garrote_path(
                X[train], y[train], gammas=GAMMAS, ridge=ridge, sample_weight=weights[train], prior_log_odds=odds
            )
            np.testing.assert_allclose(paths[k][i].coefs.toarray(), path.coefs.toarray(), rtol=1e-7, atol=1e-12)
            mean_x, mean_y = (np.average(a, axis=0, weights=weights[train]) for a in (X[train], y[train]))
            for j, solution in enumerate(path):
                error = y[test] - mean_y - (X[test] - mean_x) @ solution.v
                assert errors[i, j, k] == pytest.approx(np.average(error**2, weights=weights[test]), rel=1e-9)


def test_an_empty_path_predicts_the_mean(data):
    X, y = data
    train, unseen = Samples(X[:20], y[:20]), Samples(X[20:], y[20:])
    path = garrote_path(X[:20], y[:20], gammas=[-500.0])
    assert path[0].m.max() < expit(-400.0)
    assert path_errors(path, train, Unseen.of(unseen)) == pytest.approx([np.mean((y[20:] - y[:20].mean()) ** 2)])


@pytest.mark.parametrize("live", [False, True])
def test_the_watch_is_told_of_every_part(data, live):
    watch = Recorder(live=live)
    errors, _ = errors_of(data, watch)
    assert watch.n_parts == 3
    assert watch.steps == [0.5] * 6
    assert sorted(watch.parts) == [0, 1, 2]
    for k, part in watch.parts.items():
        np.testing.assert_array_equal(part, errors[:, :, k])


def test_folds_that_are_known_are_not_computed_again(data):
    known = [None, np.arange(6.0).reshape(2, 3), None]
    watch = Recorder(known)
    errors, paths = errors_of(data, watch)
    np.testing.assert_array_equal(errors[:, :, 1], known[1])
    assert sorted(watch.parts) == [0, 2]
    assert [len(part) for part in paths] == [2, 0, 2]
    plain, _ = errors_of(data, Watch())
    np.testing.assert_allclose(errors[:, :, [0, 2]], plain[:, :, [0, 2]], rtol=1e-10)


def test_runs_with_any_other_input_have_another_identity(data):
    def identity(change=lambda X, y: (X, y), **options):
        watch = Recorder(live=False)
        errors_of(change(*data), watch, **options)
        return watch.identity

    first = np.eye(40)[0]
    identities = [
        identity(),
        identity(lambda X, y: (2.0 * X, y)),
        identity(lambda X, y: (X, y + first)),
        identity(lambda X, y: (X[:, ::-1], y)),
        identity(weights=1.0 + first),
        identity(weights=np.repeat(2.0, 40)),
        identity(gammas=GAMMAS + 0.5),
        identity(ridges=RIDGES + 0.1),
        identity(odds=np.ones(6)),
        identity(folds=2),
        identity(restarts=Restarts(1, 0)),
        identity(restarts=Restarts(1, 1)),
    ]
    assert len(set(identities)) == len(identities)
    assert identity() == identities[0]


def test_a_path_that_stopped_early_leaves_no_numbers():
    X, y, _ = sparse_regression(12, 30, 2, sigma=0.5, rng=np.random.default_rng(0))
    grid = np.linspace(-20.0, -0.1, 30)
    errors, paths = validation_errors(
        Samples(X, y), splits(12), grid, np.array([0.0]), None, whole_grid=False, n_jobs=None
    )
    lengths = [len(part[0]) for part in paths]
    assert min(lengths) < 30
    for k, length in enumerate(lengths):
        assert np.isfinite(errors[0, :length, k]).all()
        assert np.isnan(errors[0, length:, k]).all()


ERRORS = np.array([[[4.0, 6.0], [2.0, 3.0], [1.9, 2.9], [3.0, 3.0]], [[5.0, 5.0]] * 4])


@pytest.mark.parametrize(
    ("one_standard_error", "chosen"),
    [(False, 1), (True, 1)],
)
def test_ties_go_to_the_sparser_gamma(one_standard_error, chosen):
    """The best mean is 2.4 with a standard error of 0.5: 2.5 is a tie."""
    assert choose(ERRORS, one_standard_error=one_standard_error) == (0, chosen)


def test_only_a_quarter_of_the_standard_error_is_a_tie():
    errors = ERRORS + np.array([0.0, 0.05, 0.0, 0.0])[None, :, None]  # 2.55: above 2.4 + 0.125, below 2.4 + 0.5
    assert choose(errors, one_standard_error=False) == (0, 2)
    assert choose(errors, one_standard_error=True) == (0, 1)
    at_the_bound = np.array([[[2.0, 3.0], [1.5, 3.25]]])  # mean 2.375, standard error 0.875, quarter 0.21875
    assert choose(at_the_bound, one_standard_error=False) == (0, 0)


def test_one_split_has_no_ties():
    assert choose(ERRORS[:, :, :1], one_standard_error=False) == (0, 2)


def test_rounding_does_not_choose():
    assert choose(np.array([[[2.0], [1.0 + 1e-12], [1.0], [1.0 + 1e-6]]]), one_standard_error=False) == (0, 1)
    assert choose(np.array([[[2.0], [1.0 + 1e-6], [1.0]]]), one_standard_error=False) == (0, 2)


def test_the_best_grid_point_fixes_the_ridge():
    errors = np.array([[[3.0, 3.1], [2.0, 2.1]], [[1.0, 1.2], [0.9, 3.0]]])
    assert choose(errors, one_standard_error=False) == (1, 0)
