"""The pass that finds a background, compiled and column by column, against its plain twin."""

from dataclasses import astuple

import numpy as np
import pytest
from numpy.testing import assert_allclose

from garrote.background import Background, Look
from garrote.problem import Samples

INSIDE = np.array([3, 17])
GAMMA = -4.0


def found(X, y, *, mixing=1.0, own=None, old=None):
    """Correlations and background of X, given in one order of memory or the other."""
    samples = Samples(X, y)
    old = np.zeros(X.shape[1]) if old is None else old
    kappa = 0.5 * len(y) / samples.sigma2_y
    return Background.build(samples, samples.root_target, Look(GAMMA, kappa, 0.1, None, INSIDE, 0.03, own, mixing, old))


@pytest.mark.parametrize("n_samples", [40, 300])  # below and above the length where the products are BLAS's gemv
@pytest.mark.parametrize(("dtype", "accuracy"), [(np.float64, 1e-10), (np.float32, 2e-5)])  # a series for log(1 − m)
def test_columns_one_after_the_other_are_all_columns_at_once(n_samples, dtype, accuracy):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n_samples, 37)) + 1.0).astype(dtype)  # two panels of columns, and some that are left
    y = X[:, 3] + 0.6 * X[:, 5] + rng.standard_normal(n_samples)
    by_rows, by_columns = np.ascontiguousarray(X), np.asfortranarray(X)
    c, background = found(by_rows, y)
    assert background.mass > 0.1
    assert not background.v[[*INSIDE, 5]].any()  # inside, and likely enough to enter
    for options in ({}, {"mixing": 0.7, "own": background.scaled(0.5), "old": 0.9 * c}):
        expected_c, expected = found(by_rows, y, **options)
        ours_c, ours = found(by_columns, y, **options)
        assert_allclose(ours_c, expected_c, rtol=accuracy, atol=accuracy)
        for value, wanted in zip(astuple(ours), astuple(expected), strict=True):
            assert_allclose(value, wanted, rtol=accuracy, atol=accuracy)
