"""The spike-and-slab posterior by enumeration of all 2^n_features subsets.

One pass of symmetric elimination serves all subsets at once: level j holds, for each of the 2^j choices
about the features before j, the Gram matrix of the features from j on (and y), the chosen ones eliminated.
Leaving j out drops its row, taking it in subtracts the Schur complement. The matrices shrink as their number
doubles, so the whole tree costs about as much as a few passes over 2^n_features numbers. Posterior means come
back up the same tree, by back-substitution, which is linear and so commutes with averaging over subsets.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit, logsumexp

from garrote.arrays import Array
from garrote.base import all_at_once
from garrote.comparators.spike_slab import (
    NOISE_SHARE_FLOOR,
    GivenHyperparameters,
    Hyperparameters,
    Regression,
    SpikeSlabRegressor,
    conditional_mean,
)

#: More features than this do not fit in time and memory: 2^20 subsets take 0.2 s and 300 MB.
MAX_FEATURES = 20
#: With a flat slab, a column whose remainder is this small beside itself is a combination of earlier ones.
RANK_TOLERANCE = 1e-10
#: The range in which evidence maximisation looks for σ_w² (relative to its natural unit) and logit π.
SLAB_RANGE = 1e6
LOGIT_RANGE = 20.0


class Elimination(NamedTuple):
    """All subsets; bit j of a subset's index says whether feature j is in it."""

    #: Per feature, for each choice about the features before it: its row (pivot, later features, y).
    rows: list[Array]
    #: log det of the eliminated block of each subset.
    log_det: Array
    #: y·y less what the subset explains.
    rss: Array
    #: The number of features of each subset.
    size: Array


def eliminate(data: Regression, ridge: float) -> Elimination:
    """Eliminate every subset of features from the Gram matrix of [X y], ``ridge`` added to X's diagonal."""
    n_features = data.sq_norms.size
    columns = np.column_stack([data.X, data.y])
    table = columns.T @ columns
    table[np.arange(n_features), np.arange(n_features)] += ridge
    # A positive ridge keeps every pivot above it; only the flat slab must watch for rank deficiency.
    smallest = (RANK_TOLERANCE if ridge == 0 else 0.0) * np.diag(table)
    table = table[None]
    rows, log_det, size = [], np.zeros(1), np.zeros(1)
    for j in range(n_features):
        row, rest = table[:, 0].copy(), table[:, 1:, 1:]
        # An infinite pivot makes a redundant column's weight, and its effect, zero.
        row[:, 0] = np.where(row[:, 0] > smallest[j], row[:, 0], np.inf)
        explained = row[:, 1:, None] * (row[:, 1:] / row[:, :1])[:, None, :]
        table = np.concatenate([rest, rest - explained])
        log_det = np.concatenate([log_det, log_det + np.log(row[:, 0])])
        size = np.concatenate([size, size + 1])
        rows.append(row)
    return Elimination(rows, log_det, np.maximum(table[:, 0, 0], 0.0), size)


def subset_means(rows: list[Array], probability: Array) -> tuple[Array, Array]:
    """E[s] and E[v] when each subset has the given probability and its weights solve its normal equations.

    Back-substitution for a subset with j in it is w_j = (c_j − Σ_{k>j} g_jk w_k)/pivot_j, zero without it.
    Its average over all subsets that agree on the features before j needs only those of the level below.
    """
    inclusion = np.zeros(len(rows))
    mass, weights = probability, np.zeros((probability.size, 0))
    for j in reversed(range(len(rows))):
        row, half = rows[j], rows[j].shape[0]
        mass_in, weights_in = mass[half:], weights[half:]
        inclusion[j] = mass_in.sum()
        w_j = (row[:, -1] * mass_in - np.einsum("ij,ij->i", row[:, 1:-1], weights_in)) / row[:, 0]
        mass = mass[:half] + mass_in
        weights = np.column_stack([w_j, weights[:half] + weights_in])
    return np.minimum(inclusion, 1.0), weights[0]  # rounding may leave a sum of probabilities just above 1


def log_joint(tree: Elimination, hyper: Hyperparameters, n_samples: float, profile_above: float | None = None) -> Array:
    """log p(y, s) of every subset.

    Gaussian slab: w is integrated out. With λ = σ²/σ_w² and A = XᵀX + λ on the subset's k features,

        log p(y | s) = −(n_samples/2) log 2πσ² − (y·y − c·A⁻¹c)/(2σ²) − ½ log det A + (k/2) log λ.

    Flat slab (σ_w² = ∞, the paper's model): w is at its maximum, and the last two terms are absent. With
    ``profile_above`` σ² too is at its maximum, subset by subset: rss/n_samples, but no less than that number.
    """
    noise, slab, prior = hyper
    log_prior = logit(prior) * tree.size + len(tree.rows) * np.log1p(-prior)
    variance = noise if profile_above is None else np.maximum(tree.rss / n_samples, profile_above)
    log_fit = -0.5 * n_samples * np.log(2 * np.pi * variance) - tree.rss / (2 * variance)
    if slab == np.inf:
        return log_fit + log_prior
    return log_fit + log_prior - 0.5 * tree.log_det + 0.5 * tree.size * np.log(noise / slab)


def ridge_of(hyper: Hyperparameters) -> float:
    """λ = σ²/σ_w², zero for the flat slab."""
    return hyper.noise_variance / hyper.slab_variance


def maximise_evidence(data: Regression, given: GivenHyperparameters, profile_above: float | None) -> Hyperparameters:
    """The hyperparameters, given or at a maximum of log p(y) = log Σ_s p(y, s).

    L-BFGS in log σ², log σ_w² and logit π, those that are free, from the common starting values.
    """
    start = given.start(data)
    free = [i for i, held in enumerate(given) if held is None and not (i == 0 and profile_above is not None)]
    if not free:
        return start
    unit = data.weight_scale**2
    bounds = [
        (np.log(NOISE_SHARE_FLOOR * data.y_variance), np.log(data.y_variance)),
        (np.log(unit / SLAB_RANGE), np.log(unit * SLAB_RANGE)),
        (-LOGIT_RANGE, LOGIT_RANGE),
    ]
    to_free, from_free = (np.log, np.log, logit), (np.exp, np.exp, expit)
    # A flat slab has λ = 0 throughout, so one elimination serves every step.
    flat_tree = eliminate(data, 0.0) if given.slab_variance == np.inf else None

    def place(coordinates: Array) -> Hyperparameters:
        values = list(start)
        for i, coordinate in zip(free, coordinates, strict=True):
            values[i] = float(from_free[i](coordinate))
        return Hyperparameters(*values)

    def negative_log_evidence(coordinates: Array) -> float:
        hyper = place(coordinates)
        tree = flat_tree or eliminate(data, ridge_of(hyper))
        return -float(logsumexp(log_joint(tree, hyper, data.n_samples, profile_above)))

    origin = np.array([to_free[i](start[i]) for i in free])
    return place(minimize(negative_log_evidence, origin, method="L-BFGS-B", bounds=[bounds[i] for i in free]).x)


class ExactSpikeSlab(SpikeSlabRegressor):
    """The exact spike-and-slab posterior, for at most 20 features: the truth to compare others with.

    With ``slab_variance=np.inf`` it is the paper's model, flat in w: the weights of each subset are at their
    maximum instead of integrated out, and so is the noise variance unless it is given. Then ``log_evidence_``
    is log Σ_s p(s) max p(y | s, w, σ²), and the most probable subset is the paper's exact MAP solution.

    Parameters
    ----------
    noise_variance : float or None, default=None
        σ². A number is held fixed; None maximises the evidence.
    slab_variance : float or None, default=None
        σ_w². A number is held fixed; None maximises the evidence; infinity is the flat slab.
    prior_inclusion : float or None, default=None
        π. A number is held fixed; None maximises the evidence.

    Attributes
    ----------
    inclusion_ : ndarray of shape (n_features,)
        The posterior probability of each feature.
    coef_ : ndarray of shape (n_features,)
        The posterior mean of s∘w.
    slab_coef_ : ndarray of shape (n_features,)
        The posterior mean of w given that the feature is included.
    intercept_ : float
    noise_variance_, slab_variance_, prior_inclusion_ : float
        The hyperparameters. A noise variance at its maximum subset by subset is reported for the best one.
    log_evidence_ : float
        log p(y), summed over all subsets.
    map_support_ : ndarray of bool of shape (n_features,)
        The most probable subset.
    map_log_posterior_ : float
        The log of its posterior probability.
    """

    _flat_slab_allowed = True

    log_evidence_: float
    map_support_: np.ndarray
    map_log_posterior_: float

    def __init__(
        self,
        *,
        noise_variance: float | None = None,
        slab_variance: float | None = None,
        prior_inclusion: float | None = None,
    ) -> None:
        self.noise_variance = noise_variance
        self.slab_variance = slab_variance
        self.prior_inclusion = prior_inclusion

    @all_at_once
    def fit(self, X: Any, y: Any) -> ExactSpikeSlab:
        """Fit to X (n_samples, n_features) and y."""
        given = self._given()
        data = self._regression(X, y)
        n_features = data.sq_norms.size
        if n_features > MAX_FEATURES:
            raise ValueError(
                f"X has {n_features} features, and all subsets of more than {MAX_FEATURES} are too many to "
                "enumerate; choose fewer columns, or sample the posterior with SpikeSlabGibbs."
            )
        profile_above = None
        if given.slab_variance == np.inf and given.noise_variance is None:
            profile_above = NOISE_SHARE_FLOOR * data.y_variance
        hyper = maximise_evidence(data, given, profile_above)
        tree = eliminate(data, ridge_of(hyper))
        joint = log_joint(tree, hyper, data.n_samples, profile_above)
        self.log_evidence_ = float(logsumexp(joint))
        inclusion, coef = subset_means(tree.rows, np.exp(joint - self.log_evidence_))
        best = int(np.argmax(joint))
        self.map_support_ = (best >> np.arange(n_features)) % 2 == 1
        self.map_log_posterior_ = float(joint[best] - self.log_evidence_)
        if profile_above is not None:
            best_noise = max(float(tree.rss[best]) / data.n_samples, profile_above)
            hyper = hyper._replace(noise_variance=best_noise)
        self._set_solution(data, hyper, inclusion, coef, conditional_mean(coef, inclusion))
        return self
