"""What is peculiar about the columns: constants, copies, and strong correlations with what was selected.

The cost is bounded: one pass over X finds the copies, and one pass per few selected features their neighbours.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import sparse

from garrote.arrays import Array, Index
from garrote.moments import Moments
from garrote.problem import Problem, Samples

#: |r| from which a feature counts as strongly correlated.
STRONG = 0.9

#: Neighbours that are named for each selected feature.
MOST_NEIGHBOURS = 5

#: 1 − |r| below which two columns are copies of each other, up to sign, offset and scale.
COPY = 1e-6

#: Random projections that two columns must share to be looked at as possible copies, and how nearly.
PROJECTIONS = 4
NEARLY = 1e-4

#: Selected features, or pairs, that are looked at in one go; and pairs at most.
AT_ONCE = 16
MOST_PAIRS = 2000


class Neighbour(NamedTuple):
    """Another feature and its correlation."""

    feature: int
    r: float


class Columns(NamedTuple):
    """The peculiarities of the columns."""

    constant: Index
    copies: list[Index]  #: groups of columns that are the same up to sign, offset and scale
    all_copies: bool  #: whether the search for copies was complete
    neighbours: dict[int, list[Neighbour]]  #: of each selected feature, by falling |r|


def inspect(problem: Problem, selected: Index) -> Columns:
    """Constant columns, copies, and what is strongly correlated with the selected features."""
    constant = np.setdiff1d(np.arange(problem.n_features), problem.varying)
    pairs = _alike(problem)
    groups = _groups(_true_copies(problem, pairs[:MOST_PAIRS]), problem.n_features)
    return Columns(constant, groups, len(pairs) <= MOST_PAIRS, _neighbours(problem, selected))


def _neighbours(problem: Problem, selected: Index) -> dict[int, list[Neighbour]]:
    found = {}
    for start in range(0, len(selected), AT_ONCE):
        part = selected[start : start + AT_ONCE]
        for feature, r in zip(part, _correlations(problem, part).T, strict=True):
            r[feature] = 0.0
            order = np.argsort(-np.abs(r))[:MOST_NEIGHBOURS]
            found[int(feature)] = [Neighbour(int(i), float(r[i])) for i in order if abs(r[i]) >= STRONG]
    return found


def _correlations(problem: Problem, features: Index) -> Array:
    """Correlation of every feature (rows) with some (columns): one pass."""
    if isinstance(problem, Moments):
        chi = problem.gram[:, features]
    else:
        assert isinstance(problem, Samples)
        chi = problem.correlations(problem.roots(features))
    scale = _scale(problem)
    return chi / scale[:, None] / scale[features]


def _scale(problem: Problem) -> Array:
    """√χ_ii, infinite for constant columns so that their correlations are zero."""
    scale = np.full(problem.n_features, np.inf)
    scale[problem.varying] = np.sqrt(problem.chi[problem.varying])
    return scale


def _alike(problem: Problem) -> Index:
    """Pairs of columns whose random projections agree up to a common sign: one pass.

    Copies agree in all projections, and sorting by the first one brings them next to each other.
    """
    rng = np.random.default_rng(0)
    if isinstance(problem, Moments):
        scale = _scale(problem)
        projections = problem.gram / scale @ rng.standard_normal((problem.n_features, PROJECTIONS))
    else:
        assert isinstance(problem, Samples)
        projections = problem.correlations(rng.standard_normal((len(problem.y), PROJECTIONS)))
    use = problem.varying
    z = projections[use] / np.sqrt(problem.chi[use])[:, None]
    z *= np.where(z[:, :1] < 0, -1.0, 1.0)
    order = np.argsort(z[:, 0])
    found = []
    for step in (1, 2, 3):  # an unrelated column may lie between two copies
        near, far = order[:-step], order[step:]
        alike = (np.abs(z[near] - z[far]) < NEARLY).all(axis=1)
        found.append(np.column_stack([use[near[alike]], use[far[alike]]]))
    return np.concatenate(found)


def _true_copies(problem: Problem, pairs: Index) -> Index:
    """The pairs with |r| = 1 up to rounding."""
    kept = [pairs[:0]]
    for start in range(0, len(pairs), AT_ONCE):
        part = pairs[start : start + AT_ONCE]
        block = problem.block(np.unique(part), shorten=False)
        i, j = np.searchsorted(block.features, part).T
        r = block.gram[i, j] / np.sqrt(block.chi[i] * block.chi[j])
        kept.append(part[np.abs(r) > 1.0 - COPY])
    return np.concatenate(kept)


def _groups(pairs: Index, n_features: int) -> list[Index]:
    """Connected columns, each group in ascending order."""
    if not len(pairs):
        return []
    graph = sparse.coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(n_features, n_features))
    _, label = sparse.csgraph.connected_components(graph, directed=False)
    members = np.unique(pairs)
    return [members[label[members] == value] for value in np.unique(label[members])]
