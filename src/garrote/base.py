"""What every linear estimator of the library shares: checking input, and predicting."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from garrote.arrays import Array
from garrote.checks import KEPT_DTYPES, check_outputs, check_weights, kept_dtypes
from garrote.design import Design, as_design

__all__ = ["Array", "LinearModel", "all_at_once", "check_weights"]

P = ParamSpec("P")
E = TypeVar("E")


def all_at_once(fit: Callable[Concatenate[E, P], E]) -> Callable[Concatenate[E, P], E]:
    """A ``fit`` that changes its estimator in one step, at the end: interrupted or failed, it changes nothing.

    It works on another estimator of the same parameters, whose attributes then become those of this one.
    """

    @wraps(fit)
    def whole_fit(self: E, /, *args: P.args, **kwargs: P.kwargs) -> E:
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        fit(other, *args, **kwargs)
        self.__dict__ = other.__dict__
        return self

    return whole_fit


class LinearModel(RegressorMixin, BaseEstimator):
    """A fitted linear model: ``coef_`` and ``intercept_``."""

    coef_: Array
    intercept_: float

    def _check_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        """X as a two-dimensional numeric array (dense or CSC/CSR) or a Design, y as float64, equal in length."""
        if isinstance(X, Design):
            self.n_features_in_ = X.shape[1]
            if X.feature_names is not None:
                self.feature_names_in_ = X.feature_names
            elif hasattr(self, "feature_names_in_"):  # of an earlier fit
                del self.feature_names_in_
            return X, check_outputs(y, X.shape[0])
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse=["csc", "csr"],
            dtype=kept_dtypes(X),
            y_numeric=True,
            ensure_min_samples=2,
        )
        return X, np.asarray(y, dtype=np.float64)

    def _check_inputs(self, X: Any) -> Design:
        """The Design of inputs to predict for."""
        check_is_fitted(self)
        if not isinstance(X, Design):
            X = validate_data(self, X, accept_sparse=["csc", "csr"], dtype=KEPT_DTYPES, reset=False)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} was fitted to {self.n_features_in_}."
            )
        elif X.feature_names is not None and hasattr(self, "feature_names_in_"):
            other = X.feature_names != self.feature_names_in_
            if other.any():
                k = int(np.flatnonzero(other)[0])
                raise ValueError(
                    f"X has the feature {X.feature_names[k]!r} in column {k}, but {type(self).__name__} was fitted to "
                    f"{self.feature_names_in_[k]!r} there; give the same features in the same order."
                )
        return as_design(X)

    def predict(self, X: Any) -> Array:
        """The expected response, X @ coef_ + intercept_."""
        design = self._check_inputs(X)
        used = np.flatnonzero(self.coef_)
        return design.dot(used, self.coef_[used]) + self.intercept_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
