"""What every linear estimator of the library shares: checking input, and predicting."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

Array = NDArray[np.float64]

#: The dtypes that are used as they are; everything else numeric becomes float64.
KEPT_DTYPES = [np.float64, np.float32]


class LinearModel(RegressorMixin, BaseEstimator):
    """A fitted linear model: ``coef_`` and ``intercept_``."""

    coef_: Array
    intercept_: float

    def _check_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """X as a two-dimensional numeric array (dense or CSC/CSR), y as float64, equal in length."""
        X, y = validate_data(
            self, X, y, accept_sparse=["csc", "csr"], dtype=KEPT_DTYPES, y_numeric=True, ensure_min_samples=2
        )
        return X, np.asarray(y, dtype=np.float64)

    def predict(self, X: Any) -> Array:
        """The expected response, X @ coef_ + intercept_."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse=["csc", "csr"], dtype=KEPT_DTYPES, reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_, dtype=np.float64)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def check_weights(sample_weight: Any, X: Any) -> Array:
    """Weights as float64, one per sample: finite, none negative, not all zero."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64)
    if (weights < 0).any():
        raise ValueError(
            f"sample_weight has the negative value {weights.min():g}; weights count how often a sample was "
            "seen, so give zero or positive numbers."
        )
    if not weights.any():
        raise ValueError(
            "sample_weight is zero for every sample; give at least two samples a positive weight."
        )
    return weights
