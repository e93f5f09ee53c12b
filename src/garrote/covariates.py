"""Covariates that are always in the model: their coefficients have a flat prior and no selector.

Given the other coefficients v, theirs are those of least squares, so they are profiled out exactly: y and every x_i are
replaced by what is left of them after regression on the covariates. As for the intercept, nothing of this is done to X
itself. With Q an orthonormal basis of the centred covariates in root coordinates and P_i = Qᵀx_i,

    χ_ij → χ_ij − P_i·P_j,   b_i → b_i − P_i·Qᵀy,   σ_y² → σ_y² − ‖Qᵀy‖².

n_samples stays the number of samples, again as for the intercept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Any

import numpy as np
from scipy import linalg

from garrote.arrays import Array, Index
from garrote.checks import as_floats
from garrote.design import DenseDesign, Design, as_design

#: A covariate that the others explain up to this fraction of its length adds no direction.
COLLINEAR = 1e-10

#: What covariates leave of a feature's variance counts as rounding below this fraction.
EXPLAINED = 1e-10


class Beside(Design):
    """Two designs of the same samples, one beside the other; the right one's columns are covariates."""

    def __init__(self, left: Design, right: Design) -> None:
        self.left, self.right = left, right
        self.shape = (left.shape[0], left.shape[1] + right.shape[1])
        self.unpenalized = np.arange(left.shape[1], self.shape[1])
        self.remote = left.remote or right.remote

    def transpose_dot(self, r: Array) -> Array:
        return np.concatenate([self.left.transpose_dot(r), self.right.transpose_dot(r)])

    def columns(self, features: Index) -> Array:
        out = np.empty((self.shape[0], len(features)), order="F")
        for design, here, its in self._parts(features):
            out[:, here] = design.columns(its)
        return out

    def moments(self, weights: Array) -> tuple[Array, Array]:
        (left_mean, left_variance), (mean, variance) = self.left.moments(weights), self.right.moments(weights)
        return np.concatenate([left_mean, mean]), np.concatenate([left_variance, variance])

    def dot(self, features: Index, v: Array) -> Array:
        return sum((design.dot(its, v[here]) for design, here, its in self._parts(features)), np.zeros(self.shape[0]))

    def outer(self, features: Index, centre: Array, scale: Array) -> Array:
        parts = (design.outer(its, centre[here], scale[here]) for design, here, its in self._parts(features))
        return sum(parts, np.zeros((self.shape[0], self.shape[0])))

    def take(self, rows: Index | slice) -> Design:
        return Beside(self.left.take(rows), self.right.take(rows))

    def in_double(self) -> Design:
        left = self.left.in_double()
        return self if left is self.left else Beside(left, self.right)

    def _parts(self, features: Index) -> list[tuple[Design, Index, Index]]:
        """Each design, where its columns are among ``features``, and which of its columns they are."""
        features = np.asarray(features, dtype=np.intp)
        first = self.left.shape[1]
        left, right = np.flatnonzero(features < first), np.flatnonzero(features >= first)
        return [(self.left, left, features[left]), (self.right, right, features[right] - first)]


class Projection:
    """What regression on covariates removes."""

    def __init__(self, root: Array, correlate: Callable[[Array], Array]) -> None:
        """Covariates in root coordinates; ``correlate(e)`` is ⟨x_i e⟩ of every feature, before any projection."""
        length = np.linalg.norm(root, axis=0)
        length[length == 0.0] = 1.0
        u, s, vt = linalg.svd(root / length, full_matrices=False)
        used = s > COLLINEAR * s.max(initial=0.0)  # of collinear covariates, least squares of least norm
        self.basis: Array = u[:, used]
        self.to_coef: Array = (vt[used] / s[used, None]).T / length[:, None]
        self.coordinates = correlate(self.basis)  #: P, one row per feature

    def in_units(self, x_unit: Array, unpenalized: Index) -> Projection:
        """The same for columns in other units, the covariates among them."""
        other = copy(self)
        other.coordinates = self.coordinates / x_unit[:, None]
        other.to_coef = self.to_coef * x_unit[unpenalized, None]
        return other

    def remove(self, e: Array) -> Array:
        """What is left of a vector in root coordinates, or of several."""
        return e - self.basis @ (self.basis.T @ e)


def find_covariates(unpenalized: Any, X: Any, names: Sequence[Any] | None) -> tuple[Any, Index]:
    """X with all covariates among its columns, and the positions of these columns.

    ``unpenalized`` names columns of X, or is a matrix of covariates beside X; by default a Design says for itself.
    """
    if unpenalized is None:
        return X, X.unpenalized if isinstance(X, Design) else np.empty(0, dtype=np.intp)
    if isinstance(unpenalized, str) or np.ndim(unpenalized) not in (1, 2):
        raise ValueError(
            f"unpenalized is {unpenalized!r}; give a list of columns of X, or covariates as a matrix with a row for "
            "each sample."
        )
    if np.ndim(unpenalized) == 1:
        return X, column_positions(unpenalized, X.shape[1], names)
    return beside(X, unpenalized), np.arange(X.shape[1], X.shape[1] + np.shape(unpenalized)[1])


def beside(X: Any, covariates: Any) -> Beside:
    """X with a matrix of covariates beside it."""
    values = as_floats("unpenalized", covariates)
    if len(values) != X.shape[0]:
        raise ValueError(f"unpenalized has {len(values)} rows but X has {X.shape[0]}; give one for each sample.")
    if not np.isfinite(values).all():
        raise ValueError("unpenalized contains NaN or infinity; remove those samples or impute the covariates first.")
    return Beside(as_design(X), DenseDesign(values))


def column_positions(columns: Sequence[Any], n_features: int, names: Sequence[Any] | None = None) -> Index:
    """Positions of columns that are given by name or by number."""
    known = {} if names is None else {name: k for k, name in enumerate(names)}
    out = []
    for column in columns:
        if isinstance(column, int | np.integer) and not isinstance(column, bool) and -n_features <= column < n_features:
            out.append(int(column) % n_features)
        elif isinstance(column, str) and column in known:
            out.append(known[column])
        else:
            raise ValueError(
                f"unpenalized has {column!r}, which is no column of X; give names of its columns or numbers below "
                f"{n_features}, or covariates as a matrix with a row for each sample."
            )
    if len(set(out)) < len(out):
        raise ValueError(f"unpenalized names a column of X twice: {list(columns)!r}.")
    return np.array(out, dtype=np.intp)
