"""The paired Gibbs sampler for spike-and-slab regression: each (s_i, w_i) is drawn jointly.

Drawing s_i with w_i integrated out, then w_i given s_i, lets a feature enter and leave the model freely; a
sampler that alternates s and w separately hardly moves. Hyperparameters that are not given are sampled too,
under weak conjugate priors worth one observation:

    σ² ~ scaled-inverse-χ²(1, σ_y²),   σ_w² ~ scaled-inverse-χ²(1, σ_y²/σ_x²),   π ~ uniform(0, 1).

(An improper prior on σ² would leave the posterior improper when X can interpolate y.)
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from garrote._loops import gibbs_sweep
from garrote.arrays import Array
from garrote.base import all_at_once
from garrote.comparators.spike_slab import (
    INCLUSION_FLOOR,
    GivenHyperparameters,
    Hyperparameters,
    Regression,
    SpikeSlabRegressor,
    check_count,
    conditional_mean,
)
from garrote.progress import Progress

#: Degrees of freedom of the scaled-inverse-χ² priors.
PRIOR_DEGREES = 1.0


class Draws(NamedTuple):
    """What the chains visited after burn-in; the first axes are (chain, draw)."""

    #: v = s∘w, exactly zero where s_i = 0; (chain, draw, feature).
    coef: Array
    noise_variance: Array
    slab_variance: Array
    prior_inclusion: Array


class Chain(NamedTuple):
    """One chain: its draws, and averages with the last drawn (s_i, w_i) integrated out."""

    coef: Array
    #: (draw, 3): σ², σ_w², π.
    hyper: Array
    #: The mean of p(s_i = 1 | all else), and of p(s_i = 1 | all else) E[w_i | s_i = 1, all else]: the
    #: Rao-Blackwell estimates of E[s_i] and E[v_i], less noisy than averages of the draws.
    inclusion: Array
    mean: Array


def draw_hyperparameters(
    rng: np.random.Generator, given: GivenHyperparameters, data: Regression, residual: Array, v: Array
) -> Hyperparameters:
    """σ², σ_w² and π from their conditionals given v, where they are not given.

    σ² = (ν σ_y² + ‖r‖²)/χ²_{ν + n_samples},  σ_w² = (ν σ_y²/σ_x² + ‖v‖²)/χ²_{ν + k},  π ~ Beta(1 + k,
    1 + n_features − k), with k the number of included features and ν the degrees of the prior.
    """
    included = np.count_nonzero(v)
    noise = PRIOR_DEGREES * data.y_variance + residual @ residual
    slab = PRIOR_DEGREES * data.weight_scale**2 + v @ v
    drawn = Hyperparameters(
        noise_variance=float(noise / rng.chisquare(PRIOR_DEGREES + data.n_samples)),
        slab_variance=float(slab / rng.chisquare(PRIOR_DEGREES + included)),
        prior_inclusion=float(
            np.clip(rng.beta(1 + included, 1 + v.size - included), INCLUSION_FLOOR, 1 - INCLUSION_FLOOR)
        ),
    )
    return given.override(drawn)


def sample_chain(
    data: Regression,
    given: GivenHyperparameters,
    seed: int,
    *,
    n_burn_in: int,
    n_draws: int,
    progress: Progress,
) -> Chain:
    """Run one chain from a draw of the prior, so that chains start further apart than they should end."""
    rng = np.random.default_rng(seed)
    n_features = data.sq_norms.size
    hyper = given.start(data)
    included = rng.random(n_features) < hyper.prior_inclusion
    v = included * rng.normal(scale=np.sqrt(hyper.slab_variance), size=n_features)
    residual = data.y - data.X @ v
    inclusion, mean = np.empty(n_features), np.empty(n_features)
    sum_inclusion, sum_mean = np.zeros(n_features), np.zeros(n_features)
    coef, hypers = np.empty((n_draws, n_features)), np.empty((n_draws, 3))
    tau = hyper.slab_posterior_variance(data.sq_norms)
    bias = hyper.log_odds_bias(tau)
    for draw in range(-n_burn_in, n_draws):
        gibbs_sweep(
            data.X,
            data.sq_norms,
            tau,
            bias,
            hyper.noise_variance,
            residual,
            v,
            inclusion,
            mean,
            rng.random(n_features),
            rng.standard_normal(n_features),
        )
        if None in given:
            hyper = draw_hyperparameters(rng, given, data, residual, v)
            tau = hyper.slab_posterior_variance(data.sq_norms)
            bias = hyper.log_odds_bias(tau)
        if draw >= 0:
            coef[draw], hypers[draw] = v, hyper
            sum_inclusion += inclusion
            sum_mean += inclusion * mean
        progress.step()
    return Chain(coef, hypers, sum_inclusion / n_draws, sum_mean / n_draws)


class SpikeSlabGibbs(SpikeSlabRegressor):
    """Spike-and-slab regression by paired Gibbs sampling: the posterior itself, up to Monte-Carlo error.

    Parameters
    ----------
    noise_variance : float or None, default=None
        σ². A number is held fixed; None samples it.
    slab_variance : float or None, default=None
        σ_w². A number is held fixed; None samples it.
    prior_inclusion : float or None, default=None
        π. A number is held fixed; None samples it.
    n_draws : int, default=1000
        Draws kept of each chain.
    n_burn_in : int, default=500
        Draws thrown away at the start of each chain.
    n_chains : int, default=4
        Independent chains.
    random_state : int, RandomState or None, default=None
        Seeds the chains.
    n_jobs : int or None, default=None
        Chains run at once, in threads; as in joblib, None is one and -1 all cores.

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
        The hyperparameters, given or posterior means.
    chain_inclusion_ : ndarray of shape (n_chains, n_features)
        ``inclusion_`` of each chain alone: their spread shows the Monte-Carlo error.
    draws_ : Draws
        Every draw kept.
    """

    def __init__(
        self,
        *,
        noise_variance: float | None = None,
        slab_variance: float | None = None,
        prior_inclusion: float | None = None,
        n_draws: int = 1000,
        n_burn_in: int = 500,
        n_chains: int = 4,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.noise_variance = noise_variance
        self.slab_variance = slab_variance
        self.prior_inclusion = prior_inclusion
        self.n_draws = n_draws
        self.n_burn_in = n_burn_in
        self.n_chains = n_chains
        self.random_state = random_state
        self.n_jobs = n_jobs

    @all_at_once
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpikeSlabGibbs:
        """Fit to X (n_samples, n_features) and y; a weight counts how often its sample was seen."""
        given = self._given()
        check_count("n_draws", self.n_draws)
        check_count("n_burn_in", self.n_burn_in)
        check_count("n_chains", self.n_chains)
        data = self._regression(X, y, sample_weight)
        seeds = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=self.n_chains)
        progress = Progress("Gibbs", self.n_chains * (self.n_burn_in + self.n_draws))
        run = delayed(sample_chain)
        try:
            chains = Parallel(n_jobs=self.n_jobs, prefer="threads")(
                run(data, given, int(seed), n_burn_in=self.n_burn_in, n_draws=self.n_draws, progress=progress)
                for seed in seeds
            )
        finally:
            progress.close()  # which also ends the other threads, if one failed or was interrupted
        self.chain_inclusion_ = np.stack([chain.inclusion for chain in chains])
        hyper = np.stack([chain.hyper for chain in chains])
        self.draws_ = Draws(np.stack([chain.coef for chain in chains]), *np.moveaxis(hyper, -1, 0))
        inclusion = self.chain_inclusion_.mean(axis=0)
        mean = np.mean([chain.mean for chain in chains], axis=0)
        means = Hyperparameters(*(float(value) for value in hyper.mean(axis=(0, 1))))
        self._set_solution(data, means, inclusion, mean, conditional_mean(mean, inclusion))
        return self

    def to_arviz(self) -> Any:
        """The draws as ArviZ inference data, for its plots and diagnostics; needs ``garrote[gibbs]``."""
        check_is_fitted(self)
        draws = self.draws_
        posterior = {"coef": draws.coef, "included": (draws.coef != 0).astype(float)}
        learned = {"noise_variance", "slab_variance", "prior_inclusion"}
        posterior |= {name: getattr(draws, name) for name in sorted(learned) if getattr(self, name) is None}
        return _arviz().from_dict(posterior=posterior)

    def diagnostics(self) -> dict[str, dict[str, Array]]:
        """R-hat and bulk effective sample size of every sampled quantity; needs ``garrote[gibbs]``.

        Returns ``{"r_hat": {name: values}, "ess": {name: values}}``. R-hat well above 1.01 says that the
        chains disagree. It is not a number where a quantity never changed.
        """
        arviz, data = _arviz(), self.to_arviz()
        with np.errstate(invalid="ignore", divide="ignore"):
            r_hat, ess = arviz.rhat(data), arviz.ess(data)
        return {
            "r_hat": {str(name): np.asarray(r_hat[name]) for name in r_hat.data_vars},
            "ess": {str(name): np.asarray(ess[name]) for name in ess.data_vars},
        }


def _arviz() -> Any:
    try:
        import arviz
    except ImportError as error:
        raise ImportError("R-hat and effective sample size need ArviZ: pip install 'garrote[gibbs]'.") from error
    return arviz
