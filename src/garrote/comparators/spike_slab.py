"""The spike-and-slab model that PMF, Gibbs and exact enumeration share, and what their estimators share.

    y = Σ_i s_i w_i x_i + ξ,   ξ ~ N(0, σ²),   w_i ~ N(0, σ_w²),   s_i ~ Bernoulli(π)

σ² is ``noise_variance``, σ_w² ``slab_variance`` and π ``prior_inclusion``. The intercept has a flat prior and
is profiled out by centring.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr
from scipy.special import logit

from garrote.base import Array, LinearModel, check_weights

#: Where learning starts (the authors' values): σ² as a share of σ_y², σ_w² in units of ``weight_scale``², π.
NOISE_SHARE_START = 0.1
SLAB_START = 2.0
INCLUSION_START = 0.5
#: A learned σ² stays above this share of the variance of y, a learned π this far from 0 and 1.
NOISE_SHARE_FLOOR = 1e-5
INCLUSION_FLOOR = 1e-10


class Regression(NamedTuple):
    """Centred least squares: all that the likelihood sees of the data.

    ``X`` and ``y`` may be any rows with the same inner products as the centred, √weight-scaled samples.
    """

    #: Columns, in Fortran order.
    X: Array
    y: Array
    #: The number of samples: the sum of their weights, not the number of rows of X.
    n_samples: float
    #: ‖x_i‖² of each centred column.
    sq_norms: Array
    x_mean: Array
    y_mean: float

    @property
    def y_variance(self) -> float:
        """σ_y², the variance of y; 1 where y is constant, since any scale then serves."""
        return float(self.y @ self.y) / self.n_samples or 1.0

    @property
    def weight_scale(self) -> float:
        """σ_y/σ_x, σ_x² the mean variance of the columns: the unit in which weights are of order one."""
        x_variance = float(self.sq_norms.mean()) / self.n_samples or 1.0
        return float(np.sqrt(self.y_variance / x_variance))


def centred(X: Any, y: Array, weights: Array) -> Regression:
    """Centre X and y by their weighted means and scale the rows by √weight.

    A sample of weight k thus counts as k samples. Where there are many more rows than columns, [X y] is
    replaced by the triangle of its QR decomposition, which keeps every inner product in few rows.
    """
    X = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    n_samples = float(weights.sum())
    x_mean = weights @ X / n_samples
    y_mean = float(weights @ y) / n_samples
    rows = np.sqrt(weights)[:, None] * np.column_stack([X - x_mean, y - y_mean])
    if rows.shape[0] > 2 * rows.shape[1]:
        rows = qr(rows, mode="r", overwrite_a=True, check_finite=False)[0][: rows.shape[1]]
    columns = np.asfortranarray(rows[:, :-1])
    sq_norms = np.einsum("ij,ij->j", columns, columns)
    return Regression(columns, rows[:, -1].copy(), n_samples, sq_norms, x_mean, y_mean)


class Hyperparameters(NamedTuple):
    """σ², σ_w² and π."""

    noise_variance: float
    slab_variance: float
    prior_inclusion: float

    def slab_posterior_variance(self, sq_norms: Array) -> Array:
        """τ_i = 1/(‖x_i‖²/σ² + 1/σ_w²), the variance of w_i given s_i = 1 and all other features."""
        return 1 / (sq_norms / self.noise_variance + 1 / self.slab_variance)

    def log_odds_bias(self, tau: Array) -> Array:
        """logit π + ½ log(τ_i/σ_w²): the log odds of s_i = 1 but for μ_i²/(2τ_i)."""
        return logit(self.prior_inclusion) + 0.5 * np.log(tau / self.slab_variance)


class GivenHyperparameters(NamedTuple):
    """The hyperparameters as the user gave them: a number is held fixed, None is learned."""

    noise_variance: float | None
    slab_variance: float | None
    prior_inclusion: float | None

    def override(self, learned: Hyperparameters) -> Hyperparameters:
        """The given numbers, and the learned ones where nothing was given."""
        return Hyperparameters(*(new if held is None else float(held) for held, new in zip(self, learned, strict=True)))

    def start(self, data: Regression) -> Hyperparameters:
        """The given numbers, and starting values for those to be learned."""
        noise = NOISE_SHARE_START * data.y_variance
        slab = SLAB_START * data.weight_scale**2
        return self.override(Hyperparameters(noise, slab, INCLUSION_START))


class SpikeSlabRegressor(LinearModel):
    """The plumbing of a spike-and-slab estimator: from parameters and data to a model, back to attributes."""

    noise_variance: float | None
    slab_variance: float | None
    prior_inclusion: float | None

    inclusion_: Array
    slab_coef_: Array
    noise_variance_: float
    slab_variance_: float
    prior_inclusion_: float

    #: Whether ``slab_variance=np.inf``, the paper's flat prior on w, makes sense for this method.
    _flat_slab_allowed = False

    def _regression(self, X: Any, y: Any, sample_weight: Any = None) -> Regression:
        X, y = self._check_data(X, y)
        return centred(X, y, check_weights(sample_weight, X))

    def _given(self) -> GivenHyperparameters:
        """The hyperparameters of the constructor, checked."""
        check_positive("noise_variance", self.noise_variance)
        if not (self._flat_slab_allowed and self.slab_variance == np.inf):
            check_positive("slab_variance", self.slab_variance)
        if self.prior_inclusion is not None and not 0 < self.prior_inclusion < 1:
            raise ValueError(
                f"prior_inclusion={self.prior_inclusion!r} must be a probability strictly between 0 and 1, "
                "or None to learn it."
            )
        return GivenHyperparameters(self.noise_variance, self.slab_variance, self.prior_inclusion)

    def _set_solution(
        self, data: Regression, hyper: Hyperparameters, inclusion: Array, coef: Array, slab_coef: Array
    ) -> None:
        self.inclusion_ = inclusion
        self.coef_ = coef
        self.slab_coef_ = slab_coef
        self.intercept_ = float(data.y_mean - data.x_mean @ coef)
        self.noise_variance_, self.slab_variance_, self.prior_inclusion_ = hyper


def check_positive(name: str, value: float | None) -> None:
    """A finite number above zero, or None."""
    if value is not None and not 0 < value < np.inf:
        raise ValueError(f"{name}={value!r} must be a finite positive number, or None to learn it.")


def check_count(name: str, value: int) -> None:
    """A whole number, at least one."""
    if not isinstance(value, (int, np.integer)) or value < 1:
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1.")


def conditional_mean(mean: Array, inclusion: Array) -> Array:
    """E[w | s = 1] = E[s w]/E[s]; zero where s = 1 has no probability at all."""
    return np.divide(mean, inclusion, out=np.zeros_like(mean), where=inclusion > 0)
