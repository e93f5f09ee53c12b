"""Calibration: do inclusion probabilities, selections and predictive intervals keep their promises?

The small problems come from a spike-and-slab prior whose parameters are known, so that the exact posterior is
calibrated by construction and shows how much of a deviation is chance.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.special import logit, logsumexp
from sklearn.linear_model import LassoCV

from garrote.arrays import Array
from garrote.comparators.exact import ExactSpikeSlab, eliminate, log_joint, ridge_of
from garrote.comparators.pmf import PairedMeanField
from garrote.comparators.registry import selected
from garrote.comparators.spike_slab import Hyperparameters, Regression, centred
from garrote.datasets import correlated_inputs, outputs, random_support
from garrote.estimators import VariationalGarrote, VariationalGarroteCV
from garrote.paper.experiments.measures import generator
from garrote.paper.item import Record

#: The prior that generates the small problems: σ², σ_w², π.
TRUTH = Hyperparameters(noise_variance=1.0, slab_variance=1.0, prior_inclusion=0.25)
#: Samples and features of the small problems, which can be enumerated, and of the larger ones.
SMALL, LARGE = (40, 12), (60, 30)
N_TEST = 200
#: Active features of the larger problems, with weight 1, where there are any.
N_ACTIVE = 3
#: Half the width of a 95 % interval, in standard deviations.
WIDTH = 1.959964
#: Iterations of PMF and of the Lasso at most.
MAX_ITER = 10_000
#: A false discovery that is so correlated with an active feature stands in for it.
STAND_IN = 0.8


class Prediction(NamedTuple):
    """Mean and standard deviation of the response to each new input."""

    mean: Array
    std: Array


def occam_factor(n_samples: int, hyper: Hyperparameters) -> float:
    """−½ log(1 + n_samples σ_w²/σ²), for inputs of unit variance.

    Averaging a weight over the slab takes this off a feature's log odds; VG puts the weight at its maximum instead.
    """
    return -0.5 * float(np.log1p(n_samples * hyper.slab_variance / hyper.noise_variance))


# ---- small problems: reliability and coverage ------------------------------------------------------------------


def small_problem(zeta: float, seed: int, run: int) -> Record:
    """Every method's inclusions on one problem, and how often its 95 % intervals hold new responses."""
    rng = generator(seed, run, round(100 * zeta))
    n_samples, n_features = SMALL
    X = correlated_inputs(n_samples + N_TEST, n_features, zeta, rng)
    active = rng.random(n_features) < TRUTH.prior_inclusion
    coef = active * rng.normal(0.0, TRUTH.slab_variance**0.5, n_features)
    y = outputs(X, coef, TRUTH.noise_variance**0.5, rng)
    inclusion, prediction = _answers(X[:n_samples], y[:n_samples], X[n_samples:])
    return {
        "active": active.tolist(),
        "inclusion": {name: m.tolist() for name, m in inclusion.items()},
        "coverage": {name: coverage(p, y[n_samples:]) for name, p in prediction.items()},
        "width": {name: float(np.mean(p.std)) for name, p in prediction.items()},
    }


def coverage(prediction: Prediction, y: Array) -> float:
    """The share of responses within the 95 % interval."""
    return float(np.mean(np.abs(y - prediction.mean) <= WIDTH * prediction.std))


def _answers(X: Array, y: Array, X_new: Array) -> tuple[dict[str, Array], dict[str, Prediction]]:
    """Inclusions and predictions by each method that has them."""
    log_odds = float(logit(TRUTH.prior_inclusion))
    exact, exact_prediction = exact_posterior(X, y, X_new)
    flat = ExactSpikeSlab(slab_variance=np.inf, prior_inclusion=TRUTH.prior_inclusion).fit(X, y)
    garrotes: dict[str, Any] = {
        "vg": VariationalGarrote(log_odds).fit(X, y),
        "vg-occam": VariationalGarrote(log_odds + occam_factor(len(y), TRUTH)).fit(X, y),
        "vg-default": VariationalGarroteCV().fit(X, y),
    }
    pmf = PairedMeanField(**TRUTH._asdict(), max_iter=MAX_ITER, random_state=0).fit(X, y)
    lasso = LassoCV(max_iter=MAX_ITER).fit(X, y)
    inclusion = {"exact": exact, "exact-flat": flat.inclusion_, "pmf": pmf.inclusion_}
    prediction = {"exact": exact_prediction, "pmf": pmf_prediction(pmf, X, X_new)}
    for name, model in garrotes.items():
        inclusion[name] = model.inclusion_
        prediction[name] = Prediction(*model.predict(X_new, return_std=True))
    folds = garrotes["vg-default"]
    prediction["vg-folds"] = with_fold_error(folds, np.nanmin(folds.mse_path_.mean(axis=2)), X_new)
    prediction["lasso"] = with_fold_error(lasso, lasso.mse_path_.mean(axis=1).min(), X_new)
    return inclusion, prediction


def with_fold_error(model: Any, mse: float, X_new: Array) -> Prediction:
    """Predictions with the error of cross-validation as their standard deviation."""
    mean = np.asarray(model.predict(X_new))
    return Prediction(mean, np.full(len(mean), float(mse) ** 0.5))


def pmf_prediction(pmf: PairedMeanField, X: Array, X_new: Array) -> Prediction:
    """PMF's predictive variance: σ² and Σ var(s_i w_i) (x_i − x̄_i)², the weights' own variance τ_i among it."""
    m, w = pmf.inclusion_, pmf.slab_coef_
    variance = m * (w**2 + pmf.slab_coef_variance_) - (m * w) ** 2
    std = np.sqrt(pmf.noise_variance_ + (X_new - X.mean(axis=0)) ** 2 @ variance)
    return Prediction(np.asarray(pmf.predict(X_new)), std)


def exact_posterior(X: Array, y: Array, X_new: Array) -> tuple[Array, Prediction]:
    """Inclusions and predictions of the posterior under the prior that generated the data, by enumeration."""
    data = centred(X, y, np.ones(len(y)))
    tree = eliminate(data, ridge_of(TRUTH))
    joint = log_joint(tree, TRUTH, data.n_samples)
    mean, covariance, inclusion = mixture_moments(data, np.exp(joint - logsumexp(joint)))
    centred_new = X_new - data.x_mean
    noise = TRUTH.noise_variance * (1.0 + 1.0 / data.n_samples)  # of the new sample, and of the intercept
    variance = noise + np.einsum("ij,jk,ik->i", centred_new, covariance, centred_new)
    return inclusion, Prediction(data.y_mean + centred_new @ mean, np.sqrt(variance))


def mixture_moments(data: Regression, probability: Array) -> tuple[Array, Array, Array]:
    """Mean and covariance of s∘w, and the mean of s, over subsets with these probabilities.

    Bit j of a subset's number says whether feature j is in it; given the subset, w ~ N(A⁻¹c, σ²A⁻¹) on its features.
    """
    n_features = data.sq_norms.size
    subsets = (np.arange(len(probability))[:, None] >> np.arange(n_features)) % 2 == 1
    both = subsets[:, :, None] & subsets[:, None, :]
    A = np.where(both, data.X.T @ data.X, 0.0) + ridge_of(TRUTH) * np.eye(n_features)
    inverse = np.where(both, np.linalg.inv(A), 0.0)
    means = inverse @ (data.X.T @ data.y)
    mean = probability @ means
    second = TRUTH.noise_variance * np.einsum("s,sij->ij", probability, inverse) + (means.T * probability) @ means
    return mean, second - np.outer(mean, mean), probability @ subsets


# ---- larger problems: false discoveries --------------------------------------------------------------------------


def large_problem(zeta: float, n_active: int, seed: int, run: int) -> Record:
    """False and true discoveries of each method: m > ½, or the Lasso's non-zeros."""
    rng = generator(seed, run, round(100 * zeta), n_active)
    n_samples, n_features = LARGE
    X = correlated_inputs(n_samples, n_features, zeta, rng)
    coef = random_support(n_features, n_active, rng)
    y = outputs(X, coef, 1.0, rng)
    log_odds = float(logit(N_ACTIVE / n_features))
    models: dict[str, Any] = {
        "vg": VariationalGarrote(log_odds).fit(X, y),
        "vg-occam": VariationalGarrote(log_odds + occam_factor(n_samples, TRUTH)).fit(X, y),
        "vg-default": VariationalGarroteCV().fit(X, y),
        "pmf": PairedMeanField(max_iter=MAX_ITER, random_state=0).fit(X, y),
        "lasso": LassoCV(max_iter=MAX_ITER).fit(X, y),
    }
    near = np.any(np.abs(np.corrcoef(X.T))[:, coef != 0] >= STAND_IN, axis=1)
    return {name: discoveries(selected(model), coef != 0, near) for name, model in models.items()}


def discoveries(chosen: np.ndarray, active: np.ndarray, near: np.ndarray) -> Record:
    """How many active features were found, how many others were chosen, and how many of these stand in for one."""
    false = chosen & ~active
    return {"true": int((chosen & active).sum()), "false": int(false.sum()), "stand_ins": int((false & near).sum())}
