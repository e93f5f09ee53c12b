"""The one protocol a solver sees, of :class:`Samples` (a design and y) and :class:`~garrote.moments.Moments`.

In the notation of the paper's Eq. (likelihood), with all means removed implicitly,

    b_i = ⟨x_i y⟩,   χ_ij = ⟨x_i x_j⟩,   σ_y² = ⟨y²⟩,

where ⟨·⟩ averages over the samples (with their weights). A problem knows b, χ_ii and σ_y², makes a :class:`Block`
of a few features on which the free energy is computed, and can say how all features correlate with a residual.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg

from garrote._loops import centre_columns
from garrote.arrays import Array, Index
from garrote.block import Block
from garrote.checks import check_inputs, check_outputs, check_prior_log_odds, check_weights
from garrote.covariates import EXPLAINED, Projection, column_positions, find_covariates
from garrote.design import Design, Respond, as_design, is_dask
from garrote.slabs import feature_slabs, row_slabs
from garrote.tall import triangle_of_products, triangle_of_rows
from garrote.threads import sum_over_threads
from garrote.units import Units, in_units

#: A column whose standard deviation is below this fraction of its mean is constant up to rounding.
CONSTANT_SPREAD = 16 * float(np.finfo(np.float64).eps)

#: A standard deviation below this is zero: its square is not a normal number.
LEAST_SPREAD = 1e-153

#: float32 columns are used in float64 when their scale is beyond this or its inverse, or their mean so many spreads.
SINGLE_SCALE, SINGLE_MEAN = 2.0**30, 1e3


def varying(mean: Array, variance: Array) -> Index:
    """The columns that are not constant, up to rounding."""
    if len(mean):
        bound = max(CONSTANT_SPREAD * float(max(mean.max(), -mean.min())), LEAST_SPREAD)
        if variance.min() > bound * bound:
            return np.arange(len(mean))  # all of them, as a rule
    found = np.empty(len(mean), dtype=bool)
    for part in feature_slabs(len(mean)):
        found[part] = np.sqrt(variance[part]) > np.maximum(CONSTANT_SPREAD * np.abs(mean[part]), LEAST_SPREAD)
    return found.nonzero()[0]


def varies(mean: float, variance: float) -> bool:
    """Whether numbers with this mean and variance are not constant, up to rounding."""
    return math.sqrt(variance) > max(CONSTANT_SPREAD * abs(mean), LEAST_SPREAD)


def second_moment(mean: Array, variance: Array) -> Array:
    with np.errstate(over="ignore"):  # whoever asks refuses what is infinite
        return variance + mean**2


def beyond_single(mean: Array, variance: Array) -> bool:
    """Whether products in float32 would overflow, or would lose too much to the mean."""
    spread = np.sqrt(variance[varying(mean, variance)])
    mean = np.abs(mean[varying(mean, variance)])
    scale = np.maximum(spread, mean)
    return bool(((scale > SINGLE_SCALE) | (scale < 1.0 / SINGLE_SCALE) | (mean > SINGLE_MEAN * spread)).any())


class Problem(ABC):
    """What a solver may ask: sizes, b, χ_ii, σ_y², a Block, and the correlations with a residual."""

    n_samples: float  #: the sum of the weights
    n_features: int
    b: Array
    chi: Array
    sigma2_y: float
    x_mean: Array
    y_mean: float
    n_passes: int  #: passes over all features so far

    #: Features that carry any information; a constant column is left out of every Block.
    varying: Index

    #: Features that are always in the model: no Block has them, and every Solution lists them with m = 1.
    unpenalized: Index = np.empty(0, dtype=np.intp)

    @abstractmethod
    def block(self, features: Index, *, shorten: bool = True) -> Block:
        """The Block of some features; its rows may be fewer than the samples, if ``shorten``."""

    @abstractmethod
    def in_units(self, units: Units) -> Problem:
        """The same problem in other units of the features and of y."""

    @property
    @abstractmethod
    def fits_one_block(self) -> bool:
        """Whether all features together are small enough for a single Block."""

    def profiled(self, unpenalized: Index) -> Problem:
        """The problem of what regression on some features leaves of y and of the others."""
        raise TypeError(f"X is {type(self).__name__}, from which no feature can be profiled out; pass the samples.")

    def intercept(self, features: Index, v: Array) -> float:
        """w_0 = ȳ − x̄·v."""
        return float(self.y_mean - self.x_mean[features] @ v)

    def unpenalized_coef(self, features: Index, v: Array) -> Array:
        """The least-squares coefficients of the unpenalized features, given those of the others."""
        return np.empty(0)

    def with_unpenalized(self, features: Index, m: Array, w: Array) -> tuple[Index, Array, Array]:
        """A solution's features, m and w, and those of the unpenalized features after them."""
        if not len(self.unpenalized):
            return features, m, w
        coef = self.unpenalized_coef(features, m * w)
        return (
            np.concatenate([features, self.unpenalized]),
            np.concatenate([m, np.ones(len(coef))]),
            np.concatenate([w, coef]),
        )

    def check_log_odds(self, prior_log_odds: Any) -> Array | None:
        """Prior log odds of every feature, which may be given for the penalized ones only."""
        if prior_log_odds is None:
            return None
        penalized = np.delete(np.arange(self.n_features), self.unpenalized)
        if np.shape(prior_log_odds) != penalized.shape:
            return check_prior_log_odds(prior_log_odds, self.n_features)
        odds = np.zeros(self.n_features)
        odds[penalized] = check_prior_log_odds(prior_log_odds, len(penalized))
        return odds


class Samples(Problem):
    """Inputs and outputs of some samples, centred implicitly, weighted.

    Weights are counts: an integer weight equals that many repetitions of the row.
    """

    #: With at most this many features all of them form one Block, and dense models are within reach.
    ONE_BLOCK = 600

    def __init__(
        self,
        X: Any,
        y: Array,
        sample_weight: Any = None,
        *,
        fit_intercept: bool = True,
        unpenalized: Index | None = None,
    ) -> None:
        self.design: Design = as_design(X)
        self.n_features = self.design.shape[1]
        self.fit_intercept = fit_intercept
        if sample_weight is None:
            self.n_samples = float(len(y))
            self.weights = np.full(len(y), 1.0 / self.n_samples)
        else:
            weights = check_weights(sample_weight, y)
            self.n_samples = float(weights.sum())
            self.weights = weights / self.n_samples
        self.root_weights = np.sqrt(self.weights)
        self._set_outputs(y)
        self.n_passes = 1
        mean, variance, products = self.design.first_look(
            self.weights, self.weights * self.y if fit_intercept else None
        )
        np.maximum(variance, 0.0, out=variance)  # rounding
        square = variance if fit_intercept else second_moment(mean, variance)
        if not np.isfinite(square).all():
            j = int(np.flatnonzero(~np.isfinite(square))[0])
            raise ValueError(
                f"X has values in column {j} whose squares overflow; divide that column by a power of ten."
            )
        in_double = self.design.in_double()
        if in_double is not self.design and beyond_single(mean, variance):
            self.design = in_double
        self.x_mean, self.chi = (mean, variance) if fit_intercept else (np.zeros_like(mean), square)
        self.varying = varying(self.x_mean, self.chi)
        self.projection: Projection | None = None
        if unpenalized is not None and len(unpenalized):
            self._project(unpenalized)
        if products is None or self.projection is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                products = self.correlations(self.root_target)
        self.b: Array = products
        if not np.isfinite(self.b).all():
            j = int(np.flatnonzero(~np.isfinite(self.b))[0])
            raise ValueError(
                f"X has values in column {j} whose products with y overflow; divide that column or y by a power of ten."
            )

    def _set_outputs(self, y: Array) -> None:
        """y, less its mean if there is an intercept, and what is known of it."""
        self.y_mean = 0.0
        if self.fit_intercept:
            self.y_mean = float(self.weights @ y)
            self.y_mean += float(self.weights @ (y - self.y_mean))
        self.y: Array = np.asarray(y - self.y_mean, dtype=np.float64)
        self.sigma2_y = float(linalg.blas.ddot(self.weights * self.y, self.y))  # which may overflow without a word
        if not math.isfinite(self.sigma2_y):
            raise ValueError("y has values whose squares overflow; divide it by a power of ten.")
        if not varies(self.y_mean, self.sigma2_y):  # y is constant: nothing to explain
            self.y, self.sigma2_y = np.zeros(len(y)), 0.0

    def _project(self, unpenalized: Index) -> None:
        """Profile the coefficients of some features out of everything that is known of the others."""
        self.unpenalized = unpenalized
        self.projection = Projection(self.roots(unpenalized), self.correlations)
        left = self.chi - np.square(self.projection.coordinates).sum(axis=1)
        explained = left <= EXPLAINED * self.chi
        explained[unpenalized] = True
        self.varying = np.setdiff1d(self.varying, np.flatnonzero(explained))
        self.chi = np.where(explained, 0.0, left)
        rest = float(self.root_target @ self.root_target)
        self.sigma2_y = rest if rest > EXPLAINED**2 * self.sigma2_y else 0.0

    @property
    def fits_one_block(self) -> bool:
        return len(self.varying) <= self.ONE_BLOCK

    def take(self, rows: Index) -> Samples:
        """The problem of some of the samples."""
        weights = self.weights[rows] * self.n_samples
        y = self.y[rows] + self.y_mean
        return Samples(
            self.design.take(rows), y, weights, fit_intercept=self.fit_intercept, unpenalized=self.unpenalized
        )

    def in_units(self, units: Units) -> Samples:
        other = copy(self)
        other.__dict__.pop("_whole_block", None)  # it is in the old units
        other.design = in_units(self.design, units.x)
        other.x_mean, other.chi = self.x_mean / units.x, self.chi / units.x / units.x
        other.y, other.y_mean = self.y / units.y, self.y_mean / units.y
        other.sigma2_y = self.sigma2_y / units.y / units.y
        if self.projection is not None:
            other.projection = self.projection.in_units(units.x, self.unpenalized)
        other.b = other.correlations(other.root_target)  # the user's units may have left few digits of it
        return other

    @property
    def root_target(self) -> Array:
        """y in root coordinates: √weight times the centred outputs, and what covariates leave of it."""
        target = self.root_weights * self.y
        return target if self.projection is None else self.projection.remove(target)

    def correlations(self, e: Array) -> Array:
        """c_i = ⟨x_i r⟩ of every feature, for a residual e = √weight · r in root coordinates, or several: one pass."""
        self.n_passes += 1
        weighted = (self.root_weights * e.T).T
        c, total = self.design.transpose_dot(weighted), weighted.sum(axis=0)
        for part in feature_slabs(len(c)):
            c[part] -= self.x_mean[part] * total if e.ndim == 1 else np.multiply.outer(self.x_mean[part], total)
        return c if self.projection is None else c - self.projection.coordinates @ (self.projection.basis.T @ e)

    def responses(self, weighted: Array, respond: Respond, v: Array) -> Array:
        """Σ_i v_i x_i in root coordinates, for the v that ``respond`` makes of the products Xᵀ·weighted: one pass.

        ``weighted`` is √weight times a residual, from which covariates have been removed.
        """
        self.n_passes += 1
        fit = self.root_weights * (self.design.round_trip(weighted, respond) - self.x_mean @ v)
        return fit if self.projection is None else self.projection.remove(fit)

    def outer(self, features: Index, scale: Array) -> Array:
        """Σ_i scale_i x_i x_iᵀ of some features, in root coordinates."""
        products = self.design.outer(features, self.x_mean[features], scale)
        products *= np.multiply.outer(self.root_weights, self.root_weights)
        if self.projection is None:
            return products
        return self.projection.remove(self.projection.remove(products).T)

    def roots(self, features: Index, rows: slice = slice(None)) -> Array:
        """Centred columns times √weight: rootᵀroot = χ."""
        columns = (self.design if rows == slice(None) else self.design.take(rows)).columns(features)
        centre_columns(columns, self.x_mean[features], self.root_weights[rows])
        if self.projection is not None:
            columns -= self.projection.basis[rows] @ self.projection.coordinates[features].T
        return columns

    def unpenalized_coef(self, features: Index, v: Array) -> Array:
        if self.projection is None:
            return super().unpenalized_coef(features, v)
        y = self.projection.basis.T @ (self.root_weights * self.y)
        return self.projection.to_coef @ (y - self.projection.coordinates[features].T @ v)

    def shortened(self, features: Index) -> tuple[Array, Array, float]:
        """Root, target and floor with a row per feature, whose products are those of all rows."""
        width, target = len(features), self.root_target
        slabs = row_slabs(len(target), width + 1)

        def products(rows: slice) -> Array:
            root, out = self.roots(features, rows), np.zeros((width + 1, width + 1))
            out[:width, :width] = linalg.blas.dsyrk(1.0, root, trans=1)  # its upper part
            out[:width, width], out[width, width] = root.T @ target[rows], target[rows] @ target[rows]
            return out

        r = triangle_of_products(sum_over_threads(products, slabs))
        if r is None:
            r = triangle_of_rows(lambda rows: np.column_stack([self.roots(features, rows), target[rows]]), slabs)
        return np.asfortranarray(r[:width, :width]), r[:width, width].copy(), float(r[width, width] ** 2)

    def block(self, features: Index, *, shorten: bool = True) -> Block:
        if shorten and (features is self.varying or np.array_equal(features, self.varying)):
            return self._whole_block.copy()  # for its kernel is not to be shared
        return self._block(features, shorten)

    @cached_property
    def _whole_block(self) -> Block:
        """The Block of all features, which paths with several λ ask for."""
        return self._block(self.varying, shorten=True)

    def _block(self, features: Index, shorten: bool) -> Block:
        if shorten and len(self.y) > 2 * len(features):  # more rows than needed
            root, target, floor = self.shortened(features)
        else:
            root, target, floor = self.roots(features), self.root_target, 0.0
        gram = root.T @ root
        return Block(
            features,
            gram.diagonal().copy(),
            gram,
            root.T @ target,
            self.sigma2_y,
            self.n_samples,
            root,
            target,
            floor,
        )


def as_problem(
    X: Any, y: Any, sample_weight: Any = None, *, fit_intercept: bool = True, unpenalized: Any = None
) -> Problem:
    """The Problem of inputs and outputs, or the Problem that was given as X."""
    if isinstance(X, Problem):
        if y is not None or sample_weight is not None:
            raise ValueError(f"{type(X).__name__} already contains y and the weights; pass nothing else.")
        if not fit_intercept and (X.x_mean.any() or X.y_mean):
            raise ValueError(
                f"fit_intercept is False, but the {type(X).__name__} are centred; make them with fit_intercept=False."
            )
        if unpenalized is None:
            return X
        return X.profiled(column_positions(unpenalized, X.n_features))
    names: Any = X.feature_names if isinstance(X, Design) else getattr(X, "columns", None)
    stored = isinstance(X, Design) or is_dask(X)
    design, always = find_covariates(unpenalized, as_design(X if stored else check_inputs(X, finite=False)), names)
    few, y, sample_weight, _ = design.condensed(y, sample_weight, ())
    y = check_outputs(y, few.shape[0])
    try:
        return Samples(few, y, sample_weight, fit_intercept=fit_intercept, unpenalized=always)
    except ValueError:
        if not stored:
            check_inputs(X)  # where X is not finite, it says so
        raise
