"""Second moments of X and y: summary statistics, or the reduction of very many rows."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np
from scipy import linalg

from garrote.arrays import Array, Index
from garrote.block import Block
from garrote.checks import as_floats
from garrote.covariates import EXPLAINED
from garrote.problem import Problem, Samples, as_problem, varying
from garrote.slabs import row_slabs
from garrote.threads import one_blas_thread
from garrote.units import Units


class Moments(Problem):
    """The second moments b, χ and σ_y² of X and y.

    Two Moments of different samples add up to the Moments of all of them.
    """

    #: The regression on the features that were profiled out: (their Gram matrix)⁻¹, their rows of χ, their b.
    _regression: tuple[Array, Array, Array] | None = None

    def __init__(
        self,
        b: Any,
        chi: Any,
        sigma2_y: float,
        n_samples: float,
        *,
        x_mean: Any = None,
        y_mean: float = 0.0,
    ) -> None:
        self.b = as_floats("b", b)
        self.gram = as_floats("chi", chi)
        self.sigma2_y = float(as_floats("sigma2_y", sigma2_y))
        self.n_samples = float(as_floats("n_samples", n_samples))
        self.n_features = self.b.size
        self.x_mean = np.zeros(self.n_features) if x_mean is None else as_floats("x_mean", x_mean)
        self.y_mean = float(as_floats("y_mean", y_mean))
        self._check()
        self.chi = np.ascontiguousarray(self.gram.diagonal())
        self.n_passes = 0
        self.varying = varying(self.x_mean, self.chi)

    def _check(self) -> None:
        n = self.n_features
        if self.b.ndim != 1 or n == 0:
            raise ValueError(f"b has shape {self.b.shape}; give one covariance ⟨x_i y⟩ for each feature.")
        if self.gram.shape != (n, n):
            raise ValueError(f"chi has shape {self.gram.shape}, but b has {n} features; give a {n} × {n} matrix.")
        if self.x_mean.shape != (n,):
            raise ValueError(f"x_mean has shape {self.x_mean.shape}, but b has {n} features; give {n} means.")
        for name in ("b", "gram", "x_mean", "sigma2_y", "n_samples", "y_mean"):
            if not np.all(np.isfinite(getattr(self, name))):
                shown = "chi" if name == "gram" else name
                raise ValueError(f"{shown} contains NaN or infinity; remove those features or impute them first.")
        if self.n_samples < 2:
            raise ValueError(f"n_samples is {self.n_samples:g}; at least two samples are needed.")
        if self.sigma2_y < 0 or (self.gram.diagonal() < 0).any():
            raise ValueError("sigma2_y or the diagonal of chi is negative; they are variances and must be ≥ 0.")
        if not np.allclose(self.gram, self.gram.T, rtol=1e-8, atol=1e-12 * np.abs(self.gram).max(initial=0.0)):
            raise ValueError("chi is not symmetric; give the covariance matrix ⟨x_i x_j⟩.")
        scale = np.sqrt(self.gram.diagonal())
        if (np.abs(self.gram) > (1.0 + 1e-6) * scale * scale[:, None]).any():
            raise ValueError("chi has correlations beyond ±1; give covariances of the same samples.")
        if (np.abs(self.b) > (1.0 + 1e-6) * scale * np.sqrt(self.sigma2_y)).any():
            raise ValueError("b has correlations with y beyond ±1; give b, chi and sigma2_y of the same samples.")

    @classmethod
    @one_blas_thread()  # so that the sums are the same with any number of threads
    def from_data(cls, X: Any, y: Any, sample_weight: Any = None, *, fit_intercept: bool = True) -> Moments:
        """The moments of samples: what is left of X is n_features × n_features."""
        samples = as_problem(X, y, sample_weight, fit_intercept=fit_intercept)
        assert isinstance(samples, Samples)
        everything = np.arange(samples.n_features)
        gram = np.zeros((samples.n_features, samples.n_features))
        for rows in row_slabs(len(samples.y), samples.n_features):
            root = samples.roots(everything, rows)
            gram += root.T @ root
        constant = np.delete(everything, samples.varying)  # what is left of it is rounding, without any correlation
        gram[constant] = gram[:, constant] = 0.0
        b = samples.b.copy()
        b[constant] = 0.0
        return cls(
            b,
            gram,
            samples.sigma2_y,
            samples.n_samples,
            x_mean=samples.x_mean,
            y_mean=samples.y_mean,
        )

    @classmethod
    def from_summary(
        cls,
        statistics: Any,
        ld: Any,
        n_samples: float,
        *,
        var_y: float | None = None,
        alleles: Any = None,
        ld_alleles: Any = None,
        ridge: float = 0.0,
    ) -> Moments:
        """The moments that summary statistics imply; in-sample LD makes them those of the data.

        Parameters
        ----------
        statistics : z of each feature's marginal regression (with an intercept), or a pair (beta, se)
        ld : the features' correlations, in the same order
        n_samples : how many samples the statistics come from; less one for each covariate they were adjusted for
        var_y : the variance of y (divided by n_samples); with (beta, se) it gives coefficients in the units of beta,
            otherwise they are per standard deviation of the feature (and of y)
        alleles, ld_alleles : a pair (counted, other) of the alleles of each feature, as the statistics and as ld count
            them; where they are swapped, the sign of the statistic is
        ridge : ld is replaced by (1 − ridge)·ld + ridge·1. Use 0 for LD of the same samples. LD of a reference panel
            has an error of about 1/√(panel size) in each entry; where each feature explains a few per cent of y at
            most, as in genetics, 0.1 makes up for some of it. Strong effects need the LD of the same samples
        """
        from garrote.sources.summary import from_summary  # most users never need it

        b, chi, sigma2_y = from_summary(
            statistics, ld, n_samples, var_y=var_y, alleles=alleles, ld_alleles=ld_alleles, ridge=ridge
        )
        return cls(b, chi, sigma2_y, n_samples)

    def __add__(self, other: Moments) -> Moments:
        if not isinstance(other, Moments):
            return NotImplemented
        if self.n_features != other.n_features:
            raise ValueError(
                f"cannot add Moments of {self.n_features} and {other.n_features} features; "
                "both must describe the same columns."
            )
        n = self.n_samples + other.n_samples
        mine, theirs = self.n_samples / n, other.n_samples / n
        dx, dy = self.x_mean - other.x_mean, self.y_mean - other.y_mean
        between = mine * theirs  # within-part covariances, plus that of the two means
        return Moments(
            mine * self.b + theirs * other.b + between * dx * dy,
            mine * self.gram + theirs * other.gram + between * np.outer(dx, dx),
            mine * self.sigma2_y + theirs * other.sigma2_y + between * dy**2,
            n,
            x_mean=mine * self.x_mean + theirs * other.x_mean,
            y_mean=mine * self.y_mean + theirs * other.y_mean,
        )

    def profiled(self, unpenalized: Index) -> Moments:
        """The moments of what regression on some features leaves of y and of the others."""
        scale = np.sqrt(np.where(self.chi[unpenalized] > 0, self.chi[unpenalized], 1.0))
        unit = np.outer(scale, scale)
        to_coef = linalg.pinvh(self.gram[np.ix_(unpenalized, unpenalized)] / unit) / unit
        cross, b = self.gram[unpenalized], self.b[unpenalized]
        gram = self.gram - cross.T @ to_coef @ cross
        explained = gram.diagonal() <= EXPLAINED * self.chi
        explained[unpenalized] = True
        gram[explained] = gram[:, explained] = 0.0
        rest = Moments(
            np.where(explained, 0.0, self.b - cross.T @ to_coef @ b),
            gram,
            max(self.sigma2_y - float(b @ to_coef @ b), 0.0),
            self.n_samples,
            x_mean=self.x_mean,
            y_mean=self.y_mean,
        )
        rest.unpenalized, rest._regression = unpenalized, (to_coef, cross, b)
        return rest

    def in_units(self, units: Units) -> Moments:
        other = copy(self)
        other.b, other.x_mean = self.b / units.x / units.y, self.x_mean / units.x
        other.gram = self.gram / units.x / units.x[:, None]
        other.chi = np.ascontiguousarray(other.gram.diagonal())
        other.y_mean, other.sigma2_y = self.y_mean / units.y, self.sigma2_y / units.y / units.y
        if self._regression is not None:
            to_coef, cross, b = self._regression
            unit = units.x[self.unpenalized]
            other._regression = (
                to_coef * unit * unit[:, None],
                cross / units.x / unit[:, None],
                b / unit / units.y,
            )
        return other

    def unpenalized_coef(self, features: Index, v: Array) -> Array:
        if self._regression is None:
            return super().unpenalized_coef(features, v)
        to_coef, cross, b = self._regression
        return to_coef @ (b - cross[:, features] @ v)

    @property
    def fits_one_block(self) -> bool:
        return True

    def block(self, features: Index, *, shorten: bool = True) -> Block:
        gram = self.gram if len(features) == self.n_features else self.gram[np.ix_(features, features)]
        return Block(features, self.chi[features], gram, self.b[features], self.sigma2_y, self.n_samples)
