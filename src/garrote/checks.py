"""Checks of what users pass: each failure is one sentence with the name, the value and the remedy."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_array, check_consistent_length, column_or_1d

from garrote.base import KEPT_DTYPES, Array
from garrote.design import Design
from garrote.problem import Problem, Samples


def as_problem(X: Any, y: Any, sample_weight: Any = None, *, fit_intercept: bool = True) -> Problem:
    """The Problem of inputs and outputs, or the Problem that was given as X."""
    if isinstance(X, Problem):
        if y is not None:
            raise ValueError(f"y is not needed with {type(X).__name__}, which already contains it; leave it out.")
        return X
    if y is None:
        raise ValueError("y is missing; give the outputs, one number for each row of X.")
    y = np.asarray(column_or_1d(check_array(y, ensure_2d=False, dtype=np.float64), warn=True))
    if not isinstance(X, Design):
        X = check_array(X, accept_sparse=["csc", "csr"], dtype=numeric_dtypes(X), ensure_min_samples=2)
        check_consistent_length(X, y)
    elif X.shape[0] != len(y):
        raise ValueError(f"X has {X.shape[0]} samples but y has {len(y)}; give one output for each row.")
    return Samples(X, y, sample_weight, fit_intercept=fit_intercept)


def numeric_dtypes(X: Any) -> Any:
    """Integer and boolean arrays are kept as they are; everything else becomes floating point."""
    dtype = getattr(X, "dtype", None)
    return None if isinstance(dtype, np.dtype) and dtype.kind in "iu" else KEPT_DTYPES


def check_number(name: str, value: Any, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """A finite real number, ≥ least and > above."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value):
        raise ValueError(f"{name} is {value!r}; give a finite number.")
    if value < least or value <= above:
        bound = f"at least {least:g}" if value < least else f"greater than {above:g}"
        raise ValueError(f"{name} is {value!r}; it must be {bound}.")
    return float(value)


def check_gammas(gammas: Any) -> Array:
    """A given grid: finite, one-dimensional, not empty, strictly ascending."""
    grid = np.asarray(gammas, dtype=np.float64)
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"gammas has shape {grid.shape}; give at least one number, in a list.")
    if not np.isfinite(grid).all():
        raise ValueError("gammas contains NaN or infinity; give finite log prior odds.")
    if (np.diff(grid) <= 0).any():
        raise ValueError("gammas is not strictly ascending; sort it with numpy.unique(gammas).")
    return grid


def check_prior_log_odds(prior_log_odds: Any, n_features: int) -> Array | None:
    """One finite number per feature, or None."""
    if prior_log_odds is None:
        return None
    odds = np.asarray(prior_log_odds, dtype=np.float64)
    if odds.shape != (n_features,) or not np.isfinite(odds).all():
        raise ValueError(
            f"prior_log_odds must hold {n_features} finite numbers, one per feature; got shape {odds.shape}"
            f"{'' if np.isfinite(odds).all() else ' with NaN or infinity'}."
        )
    return odds
