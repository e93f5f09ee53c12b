"""Checks of what users pass: each failure is one sentence with the name, the value and the remedy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight, check_array, column_or_1d

from garrote.arrays import Array

#: The dtypes that are used as they are; everything else numeric becomes float64, except integers.
KEPT_DTYPES = [np.float64, np.float32]


def kept_dtypes(X: Any) -> Any:
    """Integer arrays are kept as they are; everything else becomes floating point, if it is not already."""
    dtype = getattr(X, "dtype", None)
    return None if isinstance(dtype, np.dtype) and dtype.kind in "iu" else KEPT_DTYPES


def check_inputs(X: Any, *, finite: bool = True) -> Any:
    """X as a two-dimensional numeric array (dense or CSC/CSR) with at least two rows.

    With ``finite=False`` a float64 array is not searched for NaN and infinity: the caller's own pass over it tells.
    """
    if _is_usual(X, 2) and X.shape[0] > 1 and X.shape[1] > 0 and (not finite or _is_finite(X)):
        return X
    return _named("X", X, accept_sparse=["csc", "csr"], dtype=kept_dtypes(X), ensure_min_samples=2)


def _is_usual(values: Any, ndim: int) -> bool:
    """Whether scikit-learn's checks, which take longer than a small fit, would return this array, if it is finite."""
    usual = type(values) is np.ndarray and values.ndim == ndim and values.dtype == np.float64
    return usual and values.dtype.isnative


def _is_finite(values: Array) -> bool:
    """Whether the values, and so their sum, are finite; False, too, where only the sum is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()))


def _named(name: str, values: Any, **options: Any) -> Any:
    """check_array, with the argument's name in every message."""
    try:
        return check_array(values, input_name=name, **options)
    except (TypeError, ValueError) as error:
        if name in str(error).split():
            raise
        raise type(error)(f"{name} is not usable. {error}") from None


def as_floats(name: str, values: Any) -> Array:
    """Real numbers as float64."""
    try:
        array = np.asarray(values)
        if array.dtype.kind == "c":
            raise TypeError("complex")
        return np.asarray(array, dtype=np.float64, order="C")  # the compiled loops take no strided views
    except (TypeError, ValueError):
        raise ValueError(f"{name} is not made of real numbers; give real numbers.") from None


def check_count(name: str, value: Any) -> int:
    """A whole number, at least one."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} is {value!r}; give a whole number, at least 1.")
    return int(value)


def check_outputs(y: Any, n_samples: int) -> Array:
    """y as float64, one finite number for each sample."""
    if y is None:
        raise ValueError("y is missing; give the outputs, one number for each row of X.")
    if not (_is_usual(y, 1) and len(y) and np.isfinite(y).all()):
        y = np.asarray(column_or_1d(_named("y", y, ensure_2d=False, dtype=np.float64), warn=True))
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} samples but y has {len(y)}; give one output for each row.")
    return y


def check_weights(sample_weight: Any, like: Any) -> Array:
    """Weights as float64, one per sample: finite, none negative, not all zero; ones, if not given."""
    if sample_weight is not None:
        sample_weight = as_floats("sample_weight", sample_weight)
    weights = sample_weight
    if weights is None or weights.ndim != 1 or len(weights) != like.shape[0] or not np.isfinite(weights).all():
        weights = _check_sample_weight(weights, like, dtype=np.float64)  # which takes longer than a small fit
    check_no_negative_weight(weights)
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; give at least two samples a positive weight.")
    return weights


def check_no_negative_weight(weights: Array) -> None:
    """Refuse weights below zero."""
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has the negative value {weights.min():g}; weights count how often a sample was seen, so "
            "give zero or positive numbers."
        )


def check_numeric_columns(name: str, frame: Any) -> None:
    """Refuse a pandas frame with columns that are not made of numbers."""
    from pandas.api.types import is_complex_dtype, is_numeric_dtype

    text = [
        f"{brief(str(column))!r} ({dtype})"
        for column, dtype in zip(frame.columns, frame.dtypes, strict=True)
        if not is_numeric_dtype(dtype) or is_complex_dtype(dtype)
    ]
    if text:
        raise ValueError(
            f"{name} has {plural(len(text), 'column')} that {'is' if len(text) == 1 else 'are'} not numeric: "
            f"{some(text)}; drop {'it' if len(text) == 1 else 'them'}, or encode as numbers "
            "(for instance with pandas.get_dummies)."
        )


def plural(count: int, noun: str) -> str:
    """“1 column”, “3 columns”."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def brief(text: str, most: int = 60) -> str:
    """The beginning of a text that may be of any length, for a message."""
    return text if len(text) <= most else text[: most - 1] + "…"


def some(names: Sequence[str], most: int = 5) -> str:
    """The first few names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


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
    grid = as_floats("gammas", gammas)
    if grid.ndim != 1 or grid.size == 0:
        raise ValueError(f"gammas has shape {grid.shape}; give at least one number, in a list.")
    if not np.isfinite(grid).all():
        raise ValueError("gammas contains NaN or infinity; give finite log prior odds.")
    if (np.diff(grid) <= 0).any():
        raise ValueError("gammas is not strictly ascending; sort it with numpy.unique(gammas).")
    return grid


def check_ridges(ridges: Any) -> Array:
    """A grid of λ: finite, ≥ 0, at least one; ascending and without repetition in the end."""
    grid = np.unique(as_floats("ridges", ridges))
    if grid.size == 0 or not np.isfinite(grid).all() or grid[0] < 0:
        raise ValueError(f"ridges is {ridges!r}; give at least one finite number, none negative.")
    return grid


def check_prior_log_odds(prior_log_odds: Any, n_features: int) -> Array | None:
    """One finite number per feature, or None."""
    if prior_log_odds is None:
        return None
    odds = as_floats("prior_log_odds", prior_log_odds)
    if odds.shape != (n_features,) or not np.isfinite(odds).all():
        raise ValueError(
            f"prior_log_odds must hold {n_features} finite numbers, one per feature; got shape {odds.shape}"
            f"{'' if np.isfinite(odds).all() else ' with NaN or infinity'}."
        )
    return odds
