"""Very many rows, reduced: their moments, and a few weighted rows that have the same ones.

All that a fit asks of samples are weighted means and products of X and y; a validation error is a quadratic form in
them. So any rows with the same total weight, means and covariances may stand for the rows of a fold, and the many rows
are gone through once for all folds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from garrote.arrays import Array, Index, Split
from garrote.checks import check_outputs, check_weights
from garrote.design import Design
from garrote.problem import CONSTANT_SPREAD, Samples
from garrote.slabs import SLAB_ELEMENTS, row_slabs
from garrote.tall import triangle_of_products, triangle_of_rows
from garrote.threads import one_by_one

#: Rows are left as they are where a mean is so many spreads: the mean is added to what represents them, at a cost of
#: as many units of rounding.
LARGE_MEAN = 1e3

TINY = float(np.finfo(np.float64).tiny)

#: Rows in memory are reduced where at least this many times fewer are left.
FEWER = 2


@dataclass(frozen=True)
class Spread:
    """Weight and mean of some samples, and their weighted squares, or products of columns, about that mean.

    Has room for several groups of samples along the first axis. Spreads of different samples add up to that of all.
    """

    weight: Array  #: n_groups
    mean: Array  #: n_groups × n_columns
    about: Array  #: n_groups × n_columns (squares), or n_groups × n_columns × n_columns (products)

    def __add__(self, other: Spread) -> Spread:
        weight = self.weight + other.weight
        with np.errstate(invalid="ignore", over="ignore"):  # who asked for the sum refuses what is not finite
            share = np.divide(other.weight, weight, out=np.zeros_like(weight), where=weight > 0)
            factor = (self.weight * share).reshape(-1, *[1] * (self.about.ndim - 1))
            moved = other.mean - self.mean
            between = moved**2 if self.about.ndim == 2 else moved[:, :, None] * moved[:, None, :]
            mean = self.mean + share[:, None] * moved  # equal means stay what they are: constant columns are found
            return Spread(weight, mean, self.about + other.about + factor * between)

    @classmethod
    def of_nothing(cls, n_groups: int, n_columns: int) -> Spread:
        """Of groups without samples, with room for products."""
        return cls(np.zeros(n_groups), np.zeros((n_groups, n_columns)), np.zeros((n_groups, n_columns, n_columns)))

    @classmethod
    def of_rows(cls, columns: Array, y: Array, weights: Array) -> Spread:
        """Products of the columns of X, which are overwritten, and of y, over all rows as one group."""
        spread, total = cls.of_nothing(1, columns.shape[1] + 1), weights.sum()
        if total != 0.0:
            spread.weight[0], mean, about = total, spread.mean[0], spread.about[0]
            for _ in range(2):  # the second look removes the rounding of a large mean
                moved, moved_y = weights @ columns / total, weights @ y / total
                columns -= moved
                y = y - moved_y
                mean[:-1] += moved
                mean[-1] += moved_y
            root = np.sqrt(weights)
            columns *= root[:, None]
            y *= root
            about[:-1, :-1] = columns.T @ columns
            about[:-1, -1] = about[-1, :-1] = columns.T @ y
            about[-1, -1] = y @ y
        return spread

    def add_to(self, group: int, other: Spread) -> None:
        """Let one group have other samples, too."""
        one = slice(group, group + 1)
        both = Spread(self.weight[one], self.mean[one], self.about[one]) + other
        self.weight[one], self.mean[one], self.about[one] = both.weight, both.mean, both.about

    def covariances(self) -> Iterator[Array]:
        """Of each group, where ``about`` has products; zero for a column that is constant up to rounding."""
        for weight, mean, about in zip(self.weight, self.mean, self.about, strict=True):
            products = about / max(weight, TINY)
            constant = products.diagonal() <= (CONSTANT_SPREAD * mean) ** 2
            yield np.where(constant | constant[:, None], 0.0, products)


def row_groups(n_samples: int, splits: Sequence[Split]) -> tuple[Index, int]:
    """A number for each row, the same for rows that are in the same parts of every split; and how many there are."""
    group, n_groups = np.zeros(n_samples, dtype=np.intp), 1
    for part in (part for split in splits for part in split):
        times = np.bincount(part, minlength=n_samples)
        group += n_groups * times
        number = np.cumsum(np.bincount(group) > 0) - 1
        group, n_groups = number[group], int(number[-1]) + 1
    return group, n_groups


def representatives(weight: Array, mean: Array, roots: Iterable[Array]) -> tuple[Array, Array]:
    """For each group as many rows as columns, and one more, with the group's means and products; and their weights.

    With RᵀR = χ, a Householder reflection that turns the last axis into the diagonal makes R (and a row of zeros) sum
    to zero over the rows, and leaves their products alone.
    """
    n_groups, n_columns = mean.shape
    n_rows = n_columns + 1
    rows = np.zeros((n_groups, n_rows, n_columns))
    mirror = np.full(n_rows, -(n_rows**-0.5))
    mirror[-1] += 1.0
    mirror *= np.sqrt(2.0) / np.linalg.norm(mirror)
    for g, root in enumerate(roots):
        rows[g, : len(root)] = root
        rows[g] -= np.outer(mirror, mirror @ rows[g])
        rows[g] *= np.sqrt(n_rows)
        rows[g] += mean[g]
    return rows.reshape(-1, n_columns), np.repeat(weight / n_rows, n_rows)


def represented(splits: Iterable[Split], group: Index, n_rows: int) -> list[Split]:
    """Splits of the rows, as splits of the ``n_rows`` representatives of each group."""
    n_groups = int(group.max()) + 1
    first = np.empty(n_groups, dtype=np.intp)
    first[group[::-1]] = np.arange(len(group))[::-1]

    def part(rows: Index) -> Index:
        times = np.bincount(rows, minlength=len(group))[first]
        chosen = np.repeat(np.arange(n_groups), times)
        return (n_rows * chosen[:, None] + np.arange(n_rows)).ravel()

    return [(part(train), part(test)) for train, test in splits]


def condense(
    design: Design, y: Any, sample_weight: Any, splits: Sequence[Split]
) -> tuple[Any, Array, Any, Sequence[Split]]:
    """Few rows in the place of very many in memory, for the rows of every part of every split: one pass over X."""
    n_samples, n_features = design.shape
    n_rows = n_features + 2
    if design.remote or n_features > Samples.ONE_BLOCK:
        return design, y, sample_weight, splits
    group, n_groups = row_groups(n_samples, splits)
    if n_samples < FEWER * n_groups * n_rows:
        return design, y, sample_weight, splits
    y = check_outputs(y, n_samples)
    weights = np.ones(n_samples) if sample_weight is None else check_weights(sample_weight, y)
    members = members_of(group, n_groups)
    spread = spread_of_rows(design, y, weights, members)
    if not np.isfinite(spread.about).all():
        return design, y, sample_weight, splits  # whoever fits says so
    triangles = []
    for its_rows, mean, covariances in zip(members, spread.mean, spread.covariances(), strict=True):
        root = triangle_of_products(covariances)
        triangles.append(_triangle(design, y, weights, its_rows, mean, covariances) if root is None else root)
    if _large_means(spread.mean, triangles):
        return design, y, sample_weight, splits
    rows, weights = representatives(spread.weight, spread.mean, triangles)
    return rows[:, :-1], rows[:, -1].copy(), weights, represented(splits, group, n_rows)


def _large_means(means: Array, roots: Sequence[Array]) -> bool:
    """Whether the mean of a column, unless it is constant, is very many spreads in any group."""
    spread = np.array([np.abs(root).max(axis=0, initial=0.0) for root in roots])
    return bool(((np.abs(means) > LARGE_MEAN * spread) & (spread > 0.0)).any())


def members_of(group: NDArray[np.integer], n_groups: int) -> list[Index]:
    """The rows of each group, ascending."""
    return np.split(np.argsort(group, kind="stable"), np.cumsum(np.bincount(group, minlength=n_groups))[:-1])


def _slabs(rows: Index, n_columns: int) -> list[Index | slice]:
    """Some rows, a few at a time."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return [slice(int(rows[0]) + part.start, int(rows[0]) + part.stop) for part in row_slabs(len(rows), n_columns)]
    return [rows[part] for part in row_slabs(len(rows), n_columns, SLAB_ELEMENTS)]  # they are gathered from far apart


def spread_of_rows(design: Design, y: Array, weights: Array, members: Sequence[Index]) -> Spread:
    """The spread of the columns of X and of y in each group of rows."""
    n_features = design.shape[1]
    everything = np.arange(n_features)

    def part(slab: tuple[int, Index | slice]) -> tuple[int, Spread]:
        g, rows = slab
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asked refuses what is not finite
            return g, Spread.of_rows(design.take(rows).columns(everything), y[rows], weights[rows])

    total = Spread.of_nothing(len(members), n_features + 1)
    slabs = [(g, slab) for g, rows in enumerate(members) for slab in _slabs(rows, n_features)]
    for g, spread in one_by_one(part, slabs):
        total.add_to(g, spread)
    return total


def _triangle(design: Design, y: Array, weights: Array, rows: Index, mean: Array, covariances: Array) -> Array:
    """R with RᵀR the covariances of some rows, from the rows themselves."""
    everything, constant = np.arange(design.shape[1]), covariances.diagonal() == 0.0
    total = weights[rows].sum()

    def part(some: Index | slice) -> Array:
        columns = np.column_stack([design.take(some).columns(everything), y[some]]) - mean
        columns[:, constant] = 0.0
        return columns * np.sqrt(weights[some] / total)[:, None]

    return triangle_of_rows(part, _slabs(rows, len(mean)))


def roots(spread: Spread) -> Iterator[Array]:
    """R with RᵀR = χ of each group, where the rows are not at hand."""
    for covariances in spread.covariances():
        root = triangle_of_products(covariances)
        yield _square_root(covariances) if root is None else root


def _square_root(covariances: Array) -> Array:
    """R with RᵀR = χ, where some columns nearly depend on others, or do."""
    scale = np.sqrt(covariances.diagonal())
    unit = np.where(scale > 0.0, scale, 1.0)
    correlations = covariances / unit / unit[:, None]
    try:
        root = linalg.cholesky(correlations, check_finite=False)
    except linalg.LinAlgError:
        eigenvalue, vector = linalg.eigh(correlations, check_finite=False)
        root = np.sqrt(np.maximum(eigenvalue, 0.0))[:, None] * vector.T
    return root * scale
