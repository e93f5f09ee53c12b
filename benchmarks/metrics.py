"""Accuracy of a path at its best point.

The best point has the smallest error on infinitely many new samples, (v − ŵ)ᵀχ(v − ŵ) with the known χ of the inputs:
what an ever larger validation set would choose, without its chance. A method that returns a single fit is judged on it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from methods import Fits
from problems import Problem
from scipy import sparse

from garrote.arrays import Array


class Accuracy(NamedTuple):
    """How good the best point of a path is."""

    points: int  #: fits on the path
    selected: int  #: features selected at the best point
    l1_error: float  #: ‖δv‖₁
    f1: float  #: of the selected features against the true ones


def accuracy(fits: Fits, problem: Problem, truth: Array) -> Accuracy:
    """The accuracy at the point with the smallest prediction error."""
    coefs = sparse.csc_array(fits.coefs)
    n_points = coefs.shape[1]
    differences = [_difference(coefs, point, truth) for point in range(n_points)]
    best = int(np.argmin([problem.prediction_error(delta, features) for delta, features in differences]))
    selected = _selected(fits, coefs, best)
    hits = int(np.count_nonzero(truth[selected]))
    return Accuracy(
        points=n_points,
        selected=len(selected),
        l1_error=float(np.abs(differences[best][0]).sum()),
        f1=2 * hits / (len(selected) + np.count_nonzero(truth)),
    )


def _difference(coefs: sparse.csc_array, point: int, truth: Array) -> tuple[Array, Array]:
    """v − ŵ where either is not zero, and the features there."""
    rows, values = _column(coefs, point)
    features = np.union1d(rows, np.flatnonzero(truth))
    difference = -truth[features]
    difference[np.searchsorted(features, rows)] += values
    return difference, features


def _selected(fits: Fits, coefs: sparse.csc_array, point: int) -> Array:
    """m > ½ where a method has inclusion probabilities, non-zero weights elsewhere."""
    if fits.inclusions is None:
        return _column(coefs, point)[0]
    rows, m = _column(sparse.csc_array(fits.inclusions), point)
    return rows[m > 0.5]


def _column(matrix: sparse.csc_array, point: int) -> tuple[Array, Array]:
    """Rows and values of the non-zero entries of one column."""
    part = slice(matrix.indptr[point], matrix.indptr[point + 1])
    rows, values = matrix.indices[part], matrix.data[part]
    return rows[values != 0], values[values != 0]
