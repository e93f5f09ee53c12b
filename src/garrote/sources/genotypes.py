"""Genotypes as PLINK packs them, four to a byte, served to a solver without unpacking them as a whole.

Variant by variant, two bits for each sample: 00 is two copies of A1, 10 one, 11 none, and 01 a missing call.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from garrote.arrays import Array, Index
from garrote.design import Design
from garrote.threads import over_threads

try:
    from garrote._packed import add_columns, transpose_dot
except ImportError:
    from garrote._plain_packed import add_columns, transpose_dot

#: A pass visits so many bytes of packed genotypes at a time.
SLAB_BYTES = 2_000_000

#: The two-bit codes of 2, 1 and 0 copies of A1, and of a missing call.
TWO, MISSING, ONE, NONE = range(4)

#: The four codes in each of the 256 bytes; the first sample is in the lowest bits.
CODES = (np.arange(256)[:, None] >> np.array([0, 2, 4, 6])) & 3

#: Copies of A1 in each byte; a missing call counts as none here.
DOSAGES = np.array([2.0, 0.0, 1.0, 0.0])[CODES]


@dataclass(frozen=True)
class MissingCalls:
    """The samples whose call of a variant is missing: ``samples[starts[j]:starts[j + 1]]`` for variant j."""

    starts: Index
    samples: NDArray[np.int32]

    @classmethod
    def of(cls, packed: NDArray[np.uint8], n_samples: int) -> MissingCalls:
        """All missing calls of a file."""
        any_missing = (CODES == MISSING).any(axis=1)

        def one_slab(part: slice) -> tuple[Index, NDArray[np.int32]]:
            slab = packed[part]
            variant, place = np.nonzero(any_missing[slab])
            of_byte, which = np.nonzero(CODES[slab[variant, place]] == MISSING)
            sample = 4 * place[of_byte] + which
            real = sample < n_samples  # the last byte is padded
            counts = np.bincount(variant[of_byte][real], minlength=len(slab))
            return counts.astype(np.intp), sample[real].astype(np.int32)

        found = over_threads(one_slab, _slabs(len(packed), packed.shape[1]))
        starts = np.concatenate([np.zeros(1, dtype=np.intp), *(counts for counts, _ in found)])
        return cls(np.cumsum(starts), np.concatenate([np.empty(0, np.int32), *(samples for _, samples in found)]))


class Genotypes(Design):
    """Copies of A1 for some variants and samples of packed genotypes; a missing call has the variant's mean."""

    def __init__(
        self, packed: NDArray[np.uint8], variants: Index, samples: Index, missing: MissingCalls, mean: Array
    ) -> None:
        self.packed = packed  #: of every variant and sample in the file
        self.variants = variants
        self.samples = samples
        self.missing = missing
        self.mean = mean  #: copies of A1 that stand for a missing call
        self.shape = (len(samples), len(variants))

    @classmethod
    def of(cls, packed: NDArray[np.uint8], samples: Index, n_samples: int) -> tuple[Genotypes, NDArray[np.bool_]]:
        """Every variant, for some of a file's samples, whose means stand for missing calls; and which ones vary."""
        everything = np.arange(len(packed))
        whole = cls(packed, everything, samples, MissingCalls.of(packed, n_samples), np.zeros(len(packed)))
        two, one, none, _ = whole.class_weights(np.ones(len(samples)))
        whole.mean = (2.0 * two + one) / np.maximum(two + one + none, 1.0)
        return whole, np.count_nonzero([two, one, none], axis=0) > 1

    def keep(self, positions: Index) -> Genotypes:
        """The same samples, and some of the variants."""
        return Genotypes(self.packed, self.variants[positions], self.samples, self.missing, self.mean[positions])

    def take(self, rows: Index | slice) -> Genotypes:
        """Some of the samples. X stays as it is: missing calls keep the means that they had."""
        return Genotypes(self.packed, self.variants, self.samples[rows], self.missing, self.mean)

    def transpose_dot(self, r: Array) -> Array:
        return self._pass(r, DOSAGES, self.mean)

    def class_weights(self, weights: Array) -> tuple[Array, Array, Array, Array]:
        """The total weight of the samples with 2, 1 and 0 copies, and of those with a missing call, of each variant."""
        nowhere, everywhere = np.zeros(self.shape[1]), np.ones(self.shape[1])
        two, one, none = (self._pass(weights, np.eye(4)[code, CODES], nowhere) for code in (TWO, ONE, NONE))
        if not len(self.missing.samples):
            return two, one, none, nowhere
        return two, one, none, self._pass(weights, np.zeros_like(DOSAGES), everywhere)

    def moments(self, weights: Array) -> tuple[Array, Array]:
        classes = self.class_weights(weights)
        copies = (np.full(1, 2.0), np.ones(1), np.zeros(1), self.mean)
        mean: Array = sum((w * x for w, x in zip(classes, copies, strict=True)), np.zeros(self.shape[1]))
        variance = sum((w * (x - mean) ** 2 for w, x in zip(classes, copies, strict=True)), np.zeros(self.shape[1]))
        return mean, variance

    def columns(self, features: Index) -> Array:
        if not len(features) or not len(self.samples):
            return np.empty((len(self.samples), len(features)), order="F")
        first, last = int(self.samples.min()) // 4, int(self.samples.max()) // 4 + 1  # the bytes that hold the samples
        values = DOSAGES[self.packed[self.variants[features], first:last]].reshape(len(features), -1)
        for row, feature in zip(values, features, strict=True):
            missing = self._missing(feature)
            start, end = np.searchsorted(missing, (4 * first, 4 * last))
            row[missing[start:end] - 4 * first] = self.mean[feature]
        return np.take(values, self.samples - 4 * first, axis=1).T

    def dot(self, features: Index, v: Array) -> Array:
        n_places = 4 * self.packed.shape[1]

        def one_slab(part: slice) -> Array:
            out, some = np.zeros(n_places), features[part]
            add_columns(
                self.packed,
                self.variants[some],
                DOSAGES,
                self.missing.starts,
                self.missing.samples,
                self.mean[some],
                np.ascontiguousarray(v[part], dtype=np.float64),
                out,
            )
            return out

        total: Array = sum(over_threads(one_slab, self._slabs(len(features))), np.zeros(n_places))
        return total[self.samples]

    def _pass(self, r: Array, values: Array, mean: Array) -> Array:
        """Σ over samples of r times the value of their genotype, which is ``mean`` for a missing call."""
        # Samples that are left out weigh nothing, and those taken twice weigh double.
        in_file = [
            np.bincount(self.samples, column, minlength=4 * self.packed.shape[1]).astype(np.float64)
            for column in r.reshape(len(r), -1).T
        ]
        tables = [np.ascontiguousarray(places.reshape(-1, 4) @ values.T) for places in in_file]
        out = np.empty((len(tables), self.shape[1]))

        def one_slab(part: slice) -> None:
            for sums, table, places in zip(out, tables, in_file, strict=True):
                transpose_dot(
                    self.packed,
                    self.variants[part],
                    table,
                    self.missing.starts,
                    self.missing.samples,
                    mean[part],
                    places,
                    sums[part],
                )

        over_threads(one_slab, self._slabs(self.shape[1]))
        return np.ascontiguousarray(out.T).reshape(-1, *r.shape[1:])

    def _missing(self, feature: int) -> NDArray[np.int32]:
        variant = self.variants[feature]
        return self.missing.samples[self.missing.starts[variant] : self.missing.starts[variant + 1]]

    def _slabs(self, n_variants: int) -> list[slice]:
        return _slabs(n_variants, self.packed.shape[1])


def _slabs(n_variants: int, n_bytes: int) -> list[slice]:
    """Slices of variants with about SLAB_BYTES packed bytes each."""
    step = max(1, SLAB_BYTES // n_bytes)
    return [slice(start, min(start + step, n_variants)) for start in range(0, n_variants, step)]
