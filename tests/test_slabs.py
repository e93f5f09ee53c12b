"""Parts of long arrays."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from garrote.slabs import SLAB_FEATURES, column_slabs, feature_slabs, largest


@pytest.mark.parametrize("n_features", [1, SLAB_FEATURES, 3 * SLAB_FEATURES + 5])
def test_slabs_hold_every_feature_once(n_features):
    features = np.arange(n_features)
    assert_array_equal(np.concatenate([features[part] for part in feature_slabs(n_features)]), features)
    assert_array_equal(np.concatenate([features[part] for part in column_slabs((100, n_features))]), features)


@pytest.mark.parametrize(("most", "above"), [(7, -np.inf), (7, 2.0), (1000, 3.0), (7, 100.0)])
def test_the_largest_values_are_found_slab_by_slab(most, above):
    values = np.random.default_rng(0).standard_normal(2 * SLAB_FEATURES + 100)
    order = np.argsort(values)[::-1]
    expected = np.sort(order[values[order] > above][:most])
    assert_array_equal(largest(lambda part: values[part], len(values), most, above), expected)
