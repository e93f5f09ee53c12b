"""The features outside a working set that are most correlated with some inside, so that exchange moves can try them."""

from __future__ import annotations

import numpy as np

from garrote._loops import likeliest
from garrote.arrays import Array, Index
from garrote.problem import Samples
from garrote.slabs import SLAB_ELEMENTS, column_slabs

#: So many of the features most correlated with each are partners, if they are so correlated.
PARTNERS = 3
LEAST_CORRELATION = 0.3

#: So many features, relative to n_samples, are summed up to look for others that are correlated with any of them, and
#: for each of them so many are looked at more closely.
SUMMED = 1 / 25
CANDIDATES = 8

#: Sums whose products with all features are found in one pass: this fraction of n_samples, and at least so many.
AT_ONCE = 1 / 16
FEWEST_AT_ONCE = 8


class Partners:
    """Looks for partners, for each feature once."""

    def __init__(self, samples: Samples, inverse_norm: Array) -> None:
        self.samples = samples
        self.inverse_norm = inverse_norm  #: of each column; 0 where it is constant
        self.summed = max(1, int(samples.n_samples * SUMMED))  #: how many columns are summed
        self._seen: Index = np.empty(0, dtype=np.intp)

    def of(self, features: Index, inside: Index) -> Index:
        """The partners, outside, of those of the features whose partners were not asked for before."""
        unseen = np.setdiff1d(features, self._seen)
        if not len(unseen):
            return unseen
        self._seen = np.union1d(self._seen, unseen)
        candidates = self._candidates(unseen, np.sort(inside))
        if not len(candidates):
            return candidates
        correlation = np.abs(self._correlation(candidates, unseen))
        chosen = np.zeros(len(candidates), dtype=bool)
        for column in correlation.T:
            top = np.argsort(column)[-PARTNERS:]
            chosen[top[column[top] > LEAST_CORRELATION]] = True
        return candidates[chosen]

    def _candidates(self, features: Index, inside: Index) -> Index:
        """The outside features that are most correlated with sums of these, with random signs.

        In a sum of few columns, beside n_samples, one that is highly correlated with any of them stands out: a product
        with two sums finds what would take one with each column. (With two, so that no one is hidden by its signs.)
        """
        sums = self._signed_sums(features)
        at_once = max(FEWEST_AT_ONCE, int(AT_ONCE * self.samples.n_samples))  # their products are small beside X
        most = min(CANDIDATES * min(self.summed, len(features)), self.samples.n_features)
        found: list[Index] = []
        for start in range(0, sums.shape[1], at_once):
            product = self.samples.correlations(sums[:, start : start + at_once])
            found += [likeliest(column, self.inverse_norm, None, inside, 1.0, 0.0, most) for column in product.T]
        return np.unique(np.concatenate(found))

    def _signed_sums(self, features: Index) -> Array:
        """Sums of some of the columns each, with random signs; of one or two, themselves."""
        random, sums = np.random.default_rng(0), []
        for start in range(0, len(features), self.summed):
            columns = self._directions(features[start : start + self.summed])
            width = columns.shape[1]
            sums.append(columns @ random.choice([-1.0, 1.0], (width, 2)) if width > 2 else columns)
        return np.hstack(sums)

    def _correlation(self, candidates: Index, features: Index) -> Array:
        """Of each candidate with each of the features, which are fewer."""
        directions = self._directions(features)
        slabs = column_slabs((len(directions), len(candidates)), max(SLAB_ELEMENTS, directions.size))
        return np.vstack([self._directions(candidates[slab]).T @ directions for slab in slabs])

    def _directions(self, features: Index) -> Array:
        """Columns of length one, so that their products are correlations."""
        directions = self.samples.roots(features)
        directions *= self.inverse_norm[features]
        return directions
