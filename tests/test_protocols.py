"""The paper's Tables 1 and 2 by the paper's protocol, and what the library's defaults add."""

import numpy as np
import pytest
from joblib import Parallel, delayed

from garrote.comparators.registry import METHODS, selected
from garrote.datasets import example1, example2, l1_error

INSTANCES = 20
EXAMPLES = {"Example 1": example1, "Example 2": example2}

#: Test error, number selected and ‖δv‖₁ in Tables 1 and 2: mean and spread over 20 instances.
PAPER = {
    ("Example 1", "vg"): [(1.01, 0.10), (1.20, 0.52), (0.31, 0.30)],
    ("Example 2", "vg"): [(1.15, 0.21), (5.05, 0.51), (0.83, 0.54)],
    ("Example 1", "pmf"): [(1.02, 0.10), (1.50, 1.19), (0.33, 0.37)],
    ("Example 2", "pmf"): [(1.06, 0.11), (5.15, 0.49), (0.67, 0.35)],
}


def measures(example, method, seed):
    data = EXAMPLES[example](np.random.default_rng(seed))
    fit = METHODS[method](data.train, data.validation)
    error = np.mean((data.test.y - fit.predict(data.test.X)) ** 2)
    return error, selected(fit).sum(), l1_error(fit.coef_, data.coef)


def all_measures(example, method, first_seed=0):
    seeds = range(first_seed, first_seed + INSTANCES)
    return np.array(Parallel(n_jobs=2)(delayed(measures)(example, method, seed) for seed in seeds))


@pytest.mark.parametrize(("example", "method"), PAPER)
def test_paper_protocol_is_within_two_standard_errors_of_the_paper(example, method):
    for ours, (mean, spread) in zip(all_measures(example, method).T, PAPER[example, method], strict=True):
        standard_error = np.hypot(spread, ours.std(ddof=1)) / np.sqrt(INSTANCES)
        assert abs(ours.mean() - mean) <= 2 * standard_error


@pytest.mark.parametrize(("example", "bound"), [("Example 1", 0.20), ("Example 2", 0.55)])
def test_defaults_reconstruct_the_weights_better_than_the_paper(example, bound):
    # Seeds below 40 were looked at when the tie rule and the grids of the defaults were chosen; these were not.
    _, _, weights_error = all_measures(example, "vg-default", first_seed=1000).T
    assert weights_error.mean() <= bound
