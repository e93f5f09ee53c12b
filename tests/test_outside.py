"""What is asked of very many features outside the working set, compiled, against its plain twins."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from garrote import _loops, _plain_outside
from garrote.slabs import SLAB_FEATURES


@pytest.fixture(params=[1, 60, SLAB_FEATURES + 100])
def features(request):
    """c, 1/√χ_ii (of which some are 0) and prior log odds of some features, and which are inside."""
    rng, size = np.random.default_rng(0), request.param
    inverse_norm = np.where(rng.random(size) < 0.1, 0.0, rng.random(size) + 0.1)
    inside = np.sort(rng.choice(size, size // 3, replace=False))
    return rng.standard_normal(size), inverse_norm, rng.standard_normal(size), inside


@pytest.mark.parametrize("alike", [True, False])
def test_bins_hold_the_features_outside(features, alike):
    c, inverse_norm, odds, inside = features
    odds, counts, expected = None if alike else odds, *np.zeros((2, 16))
    width = _loops.bin_correlations(c, inverse_norm, odds, inside, counts, 1e-300)
    assert width == _plain_outside.bin_correlations(c, inverse_norm, odds, inside, expected, 1e-300)
    assert_allclose(counts, expected, rtol=1e-12)
    assert_allclose(counts.sum(), np.delete(np.ones(len(c)) if alike else np.exp(odds), inside).sum())


def test_correlations_of_zero_are_in_the_first_bin():
    counts = np.zeros(16)
    for bins in (_loops.bin_correlations, _plain_outside.bin_correlations):
        assert bins(np.full(5, 1e-305), np.ones(5), None, np.array([2]), counts, 1e-300) == 1.0 / 15.5
    assert_array_equal(counts, [8.0] + [0.0] * 15)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize(("most", "above"), [(1, -np.inf), (7, -np.inf), (7, 1.0), (10**6, 1.0), (7, 1e6)])
def test_the_likeliest_are_found(features, alike, most, above):
    c, inverse_norm, odds, inside = features
    what = (c, inverse_norm, None if alike else odds, inside, 2.0, above, most)
    value = 2.0 * (c * inverse_norm) ** 2 + (0.0 if alike else odds)
    value[inside] = -np.inf
    order = np.argsort(-value)
    expected = order[value[order] > above][:most]
    for likeliest in (_loops.likeliest, _plain_outside.likeliest):
        found = likeliest(*what)
        assert_array_equal(found, np.sort(found))
        assert_array_equal(np.sort(value[found]), np.sort(value[expected]))  # some are equal


def test_the_likeliest_of_every_other_number():
    c = np.random.default_rng(0).standard_normal((50, 2))
    found = [
        _loops.likeliest(part, np.ones(50), None, np.array([4]), 1.0, 0.0, 9) for part in (c[:, 1], c[:, 1].copy())
    ]
    assert_array_equal(*found)


@pytest.mark.parametrize("moved", [0.0, 0.3])
def test_what_is_included(moved):
    rng = np.random.default_rng(0)
    z, weight = np.sort(rng.random(200)), rng.random(200)
    m, expected = np.empty((2, 200))
    sums = _loops.inclusions(z, weight, -6.0, 8.0, moved, m)
    assert_allclose(sums, _plain_outside.inclusions(z, weight, -6.0, 8.0, moved, expected), rtol=1e-12)
    assert_allclose(m, expected, rtol=1e-12)
    assert m.max() == 1.0  # not more
    assert_allclose(sums, (weight @ m, weight @ (m * z**2)), rtol=1e-12)
    assert _loops.inclusions(*np.empty((2, 0)), -6.0, 8.0, moved, np.empty(0)) == (0.0, 0.0)
