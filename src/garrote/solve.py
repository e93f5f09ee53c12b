"""One γ: a solution of Eqs. (m), (v), (beta) on any problem."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from garrote.arrays import Array, Index
from garrote.checks import as_floats, check_count, check_number, check_prior_log_odds
from garrote.limits import NOISE_FLOOR, THETA_MAX
from garrote.problem import Problem, as_problem
from garrote.summary import Summary, summarise_solution
from garrote.threads import one_blas_thread
from garrote.units import Units, safe_units
from garrote.workingset import Found, Model, WorkingSet

#: A solution's largest |σ(γ + (βn/2) w² χ) − m|.
TOL = 1e-8

#: Descent steps before giving up with a warning.
MAX_ITER = 1000


@dataclass(frozen=True)
class Solution:
    """A minimum of F at one γ. Stores the features that were looked at; the others are at their prior.

    ``m``, ``w`` and ``v`` are dense arrays made on request.
    """

    gamma: float
    features: Index  #: the features that were looked at; every feature, unless there are very many
    inclusion: Array  #: m of those features
    slab: Array  #: w of those features
    beta: float  #: 1/noise variance
    free_energy: float
    n_iter: int  #: steps of the descent that ended here
    residual: float  #: max |σ(θ') − m|, with θ' = γ + (βn/2) w² χ, times |θ' − logit m| where that is above 1
    branch: str  #: how it was found: "up", "down", "neighbour", "exchange", "restart" or "given"
    n_features: int
    unlisted_mass: float = 0.0  #: Σ m of the features that are not listed
    prior_log_odds: Array | None = None
    n_passes: int = 0  #: passes over X of that descent
    n_factorizations: int = 0  #: and its evaluations of F: factorisations, or as much by conjugate gradients

    @property
    def m(self) -> Array:
        """Inclusion probability of every feature."""
        prior = self.gamma if self.prior_log_odds is None else self.gamma + self.prior_log_odds
        m = np.full(self.n_features, 1.0) * expit(prior)
        m[self.features] = self.inclusion
        return m

    @property
    def w(self) -> Array:
        """Slab coefficient of every feature: its coefficient, given that it is in the model."""
        return self._dense(self.slab)

    @property
    def v(self) -> Array:
        """Coefficient m·w of every feature."""
        return self._dense(self.inclusion * self.slab)

    @property
    def selected(self) -> Index:
        """The features with m > ½, in ascending order."""
        return np.sort(self.features[self.inclusion > 0.5])

    def summary(self, names: Sequence[str] | None = None) -> Summary:
        """The selected features as a table; ``names`` are those of all features."""
        return summarise_solution(self, names)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def in_users_units(self, units: Units, n_samples: float) -> Solution:
        """The solution of a problem that was solved in other units."""
        return replace(
            self,
            slab=units.coef(self.features, self.slab),
            beta=units.beta(self.beta),
            free_energy=self.free_energy + units.free_energy(n_samples),
        )

    def _dense(self, values: Array) -> Array:
        dense = np.zeros(self.n_features)
        dense[self.features] = values
        return dense


@one_blas_thread()
def solve(
    X: Any,
    y: Any = None,
    *,
    gamma: float,
    start: Any = None,
    ridge: float = 0.0,
    beta: float | None = None,
    prior_log_odds: Any = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
) -> Solution:
    """The minimum of F at one γ that descends from ``start``.

    Parameters
    ----------
    X, y : inputs and outputs; or a :class:`~garrote.problem.Problem` such as ``Moments`` as X, without y
    gamma : log prior odds of a feature, more negative = sparser
    start : inclusions m between 0 and 1 (both allowed) to start from; their prior σ(γ) if not given
    ridge : relative precision λ of a Gaussian prior on w; 0 is the paper's flat prior
    beta : the inverse noise variance, where it is known; otherwise it is optimised as well
    prior_log_odds : added to γ, one number per feature
    tol : largest ``Solution.residual``: by how much an inclusion is not what Eq. (m) asks for
    max_iter : steps before giving up with a warning
    """
    problem = as_problem(X, y)
    tol, max_iter = check_number("tol", tol, least=0.0), check_count("max_iter", max_iter)
    gamma = check_number("gamma", gamma)
    model = Model(
        check_prior_log_odds(prior_log_odds, problem.n_features),
        check_number("ridge", ridge, least=0.0),
        None if beta is None else check_number("beta", beta, above=0.0),
    )
    if problem.sigma2_y == 0.0 or not len(problem.varying):
        return empty_solution(problem, gamma, model)
    units = safe_units(problem.chi, problem.sigma2_y)
    if units is not None:
        problem, model = problem.in_units(units), replace(model, beta=units.from_users_beta(model.beta))
    active = WorkingSet(problem, model)
    theta = active.start(gamma)
    if start is not None:
        m = as_floats("start", start)
        if m.shape != (problem.n_features,) or not ((m >= 0) & (m <= 1)).all():
            raise ValueError(
                f"start must hold {problem.n_features} inclusions between 0 and 1, one per feature; got {m.shape}."
            )
        with np.errstate(divide="ignore"):
            theta = np.clip(logit(m[active.features]), -THETA_MAX, THETA_MAX)
    found = active.descend(gamma, theta, tol=tol, max_iter=max_iter)
    warn_unconverged([gamma], [found.run.converged], [found.run.end.residual], tol, max_iter)
    solution = make_solution(active, gamma, found, "given")
    return solution if units is None else solution.in_users_units(units, problem.n_samples)


def make_solution(active: WorkingSet, gamma: float, found: Found, branch: str) -> Solution:
    """The Solution of a finished descent."""
    problem, model, end = active.problem, active.model, found.run.end
    features, inclusion, slab = problem.with_unpenalized(active.features[: len(end.m)], end.m, end.w)
    return Solution(
        gamma=gamma,
        features=features,
        inclusion=inclusion,
        slab=slab,
        beta=model.beta or 1.0 / max(end.noise, NOISE_FLOOR * problem.sigma2_y),
        free_energy=found.free_energy + free_energy_of_unused(problem, gamma, model),
        n_iter=found.run.n_iter,
        residual=end.residual,
        branch=branch,
        n_features=problem.n_features,
        unlisted_mass=found.outside_mass,
        prior_log_odds=model.prior_log_odds,
        n_passes=found.n_passes,
        n_factorizations=found.n_factorizations,
    )


def empty_solution(problem: Problem, gamma: float, model: Model) -> Solution:
    """Constant y, or only constant columns: nothing is explained and every inclusion is its prior."""
    nothing = np.empty(0)
    features, inclusion, slab = problem.with_unpenalized(np.empty(0, dtype=np.intp), nothing, nothing)
    noise = max(problem.sigma2_y, np.finfo(np.float64).tiny)
    return Solution(
        gamma=gamma,
        features=features,
        inclusion=inclusion,
        slab=slab,
        beta=1.0 / noise,
        free_energy=0.5 * problem.n_samples * (1.0 + math.log(2.0 * math.pi * noise))
        + _free_energy_of_priors(problem, gamma, model, problem.unpenalized),
        n_iter=0,
        residual=0.0,
        branch="given",
        n_features=problem.n_features,
        prior_log_odds=model.prior_log_odds,
    )


def free_energy_of_unused(problem: Problem, gamma: float, model: Model) -> float:
    """F of the constant features."""
    if len(problem.varying) + len(problem.unpenalized) == problem.n_features:
        return 0.0
    return _free_energy_of_priors(problem, gamma, model, np.concatenate([problem.varying, problem.unpenalized]))


def _free_energy_of_priors(problem: Problem, gamma: float, model: Model, others: Index) -> float:
    """F of the features that stay at their prior, −log(1 + e^γ) each; ``others`` do not."""
    if len(others) == problem.n_features:
        return 0.0
    prior = np.full(problem.n_features, gamma)
    if model.prior_log_odds is not None:
        prior += model.prior_log_odds
    return -float(np.logaddexp(0.0, np.delete(prior, others)).sum())


def warn_unconverged(
    gammas: Sequence[float] | Array,
    converged: Sequence[bool],
    residuals: Sequence[float] | Array,
    tol: float,
    max_iter: int,
) -> None:
    """One warning for all descents that ran out of steps, or did not come to rest, with their numbers."""
    if all(converged):
        return
    late = [k for k in range(len(converged)) if not converged[k]]
    worst = max(late, key=lambda k: float(residuals[k]))
    if residuals[worst] > tol:
        what = (
            f"did not converge in {max_iter} steps; the worst, at gamma = {gammas[worst]:.4g}, has a residual of "
            f"{residuals[worst]:.1e} > tol = {tol:.1e}. Increase max_iter, or look for duplicate columns."
        )
    else:
        what = (
            f"did not come to rest, the first at gamma = {gammas[late[0]]:.4g}: very many unselected features together "
            "begin to explain y. Choose a more negative gamma, or ridge > 0."
        )
    warnings.warn(f"{len(late)} of {len(converged)} solutions {what}", ConvergenceWarning, stacklevel=3)
