"""The path over γ: its grids, and its solutions of lowest F."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from scipy import sparse

from garrote.arrays import Array
from garrote.checks import check_count, check_gammas, check_number
from garrote.problem import Problem, as_problem
from garrote.restarts import NONE, Restarts, check_restarts, restart
from garrote.search import Search
from garrote.solutions import Solutions, solutions_of
from garrote.solve import MAX_ITER, TOL, Solution, empty_solution, warn_unconverged
from garrote.summary import Summary, summarise_path
from garrote.threads import one_blas_thread
from garrote.units import Units, safe_units
from garrote.workingset import Model


@dataclass(frozen=True)
class Path(Sequence[Solution]):
    """Solutions in the order of ``gammas``, each the lowest F found at its γ."""

    solutions: Solutions
    free_energy_up: Array  #: F of the annealed solutions, γ ascending
    #: F of the solutions followed downwards from the jumps, until they merge with the others or lie 10 nats above the
    #: lowest F; where it differs, F has several minima
    free_energy_down: Array
    stopped: str  #: why the default grid ended before γ_max, or ""
    n_passes: int  #: passes over X while the path was traced
    n_factorizations: int  #: evaluations of F: factorisations, or as much by conjugate gradients
    n_iter: int

    @property
    def gammas(self) -> Array:
        """The γ of each solution, ascending."""
        return self.solutions.gammas.copy()

    @property
    def free_energies(self) -> Array:
        """The lowest F found at each γ."""
        return self.solutions.free_energies.copy()

    @property
    def coefs(self) -> sparse.csc_array:
        """Coefficients m·w as a sparse array, n_features × n_gammas."""
        return self.solutions.coefs()

    @property
    def inclusions(self) -> sparse.csc_array:
        """Inclusions m of the listed features as a sparse array, n_features × n_gammas."""
        return self.solutions.sparse_inclusions()

    def summary(self) -> Summary:
        """The path as a table, γ ascending."""
        return summarise_path(self)

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def in_users_units(self, units: Units, n_samples: float) -> Path:
        """The path of a problem that was solved in other units."""
        shift = units.free_energy(n_samples)
        return replace(
            self,
            solutions=self.solutions.in_users_units(units, n_samples),
            free_energy_up=self.free_energy_up + shift,
            free_energy_down=self.free_energy_down + shift,
        )

    def __len__(self) -> int:
        return len(self.solutions)

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, index: int | slice) -> Solution | tuple[Solution, ...]:
        return self.solutions[index]

    def __iter__(self) -> Iterator[Solution]:
        return iter(self.solutions)


@one_blas_thread()
def garrote_path(
    X: Any,
    y: Any = None,
    *,
    gammas: Any = 50,
    ridge: float = 0.0,
    prior_log_odds: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    unpenalized: Any = None,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_restarts: int = 0,
    random_state: Any = None,
) -> Path:
    """Solve the Variational Garrote over a grid of γ.

    Parameters
    ----------
    X, y : inputs and outputs; or a :class:`~garrote.problem.Problem` such as ``Moments`` as X, without y
    gammas : the number of γ on the default grid from γ_min to γ_min/50, which ends early where the fit would
        be an overfit (``stopped`` says why); or the grid itself, strictly ascending, which is solved whole
    ridge : relative precision λ of a Gaussian prior on w; 0 is the paper's flat prior
    prior_log_odds : added to γ, one number per feature
    sample_weight : how often each sample counts
    fit_intercept : whether to centre X and y (implicitly)
    unpenalized : columns of X, by name or number, that are always in the model; or covariates as a matrix with a row
        for each sample, which become the last features of every solution
    tol, max_iter : as in :func:`~garrote.solve.solve`
    n_restarts : random starts at each γ, beside the search's own, for designs that are hard to search
    random_state : draws these starts
    """
    if gammas is None:
        gammas = 50
    problem = as_problem(X, y, sample_weight, fit_intercept=fit_intercept, unpenalized=unpenalized)
    model = Model(problem.check_log_odds(prior_log_odds), check_number("ridge", ridge, least=0.0))
    tol, max_iter = check_number("tol", tol, least=0.0), check_count("max_iter", max_iter)
    restarts = check_restarts(n_restarts, random_state)
    given = np.ndim(gammas) > 0
    grid = check_gammas(gammas) if given else default_gammas(problem, gammas, model.prior_log_odds)
    return trace(problem, grid, model, whole_grid=given, tol=tol, max_iter=max_iter, restarts=restarts)


def gamma_min(problem: Problem, prior_log_odds: Array | None = None, epsilon: float = 1e-3) -> float:
    """The γ at which the first feature reaches m = ε: −max_i n b_i²/(2 σ_y² χ_ii) + logit ε.

    Eq. (gamma_min) prints b_i² χ_ii, which is the same only when χ_ii = 1.
    """
    use, at_epsilon = problem.varying, math.log(epsilon / (1.0 - epsilon))
    if not len(use) or problem.sigma2_y == 0.0:
        return at_epsilon
    correlation = problem.b[use] / np.sqrt(problem.chi[use]) / math.sqrt(problem.sigma2_y)  # b² may overflow
    evidence = 0.5 * problem.n_samples * correlation**2
    if prior_log_odds is not None:
        evidence = evidence + prior_log_odds[use]
    return at_epsilon - float(evidence.max())


def default_gammas(problem: Problem, n_gammas: Any, prior_log_odds: Array | None = None) -> Array:
    """The paper's grid: n_gammas equal steps from γ_min to 0.02 γ_min."""
    _check_count(n_gammas)
    lowest = gamma_min(problem, prior_log_odds)
    highest = 0.02 * lowest if lowest < 0 else lowest + 5.0
    grid: Array = lowest + np.arange(int(n_gammas), dtype=np.float64) * ((highest - lowest) / max(int(n_gammas) - 1, 1))
    grid[1:][-1:] = highest
    return grid


def wide_gammas(problem: Problem, n_gammas: Any, prior_log_odds: Array | None = None) -> Array:
    """The grid of cross-validation: from γ_min in equal ratios to −0.3, and on to 8, where every feature is in.

    With a strong signal γ_min is very negative, and the paper's equal steps leap over the γ where weak features enter.
    """
    _check_count(n_gammas)
    lowest, n_dense = gamma_min(problem, prior_log_odds), int(n_gammas) // 8
    if lowest > -1.0:  # prior log odds shifted everything
        return default_gammas(problem, n_gammas, prior_log_odds)
    sparse_part = -np.geomspace(-lowest, 0.3, int(n_gammas) - n_dense)
    return np.concatenate([sparse_part, 8.0 * np.linspace(0.0, 1.0, n_dense) ** 2])


def _check_count(n_gammas: Any) -> None:
    if not isinstance(n_gammas, int | np.integer) or isinstance(n_gammas, bool) or n_gammas < 1:
        raise ValueError(f"gammas is {n_gammas!r}; give the number of grid points (at least 1) or the grid itself.")


def trace(
    problem: Problem,
    grid: Array,
    model: Model,
    *,
    whole_grid: bool,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    restarts: Restarts = NONE,
) -> Path:
    """The path of a problem over a grid; ``whole_grid`` goes on where the default grid would stop."""
    if problem.sigma2_y == 0.0 or not len(problem.varying):
        solutions = Solutions.of([empty_solution(problem, float(gamma), model) for gamma in grid])
        return Path(solutions, solutions.free_energies, solutions.free_energies, "", 0, 0, 0)
    units = safe_units(problem.chi, problem.sigma2_y)
    if units is not None:
        problem = problem.in_units(units)
        path = trace(problem, grid, model, whole_grid=whole_grid, tol=tol, max_iter=max_iter, restarts=restarts)
        return path.in_users_units(units, problem.n_samples)
    search = Search(problem, grid, model, tol, max_iter)
    # A slab prior bounds F, so the path may go on into the dense regime, where γ → large is ridge regression.
    reason = search.run(whole_grid or (model.ridge > 0.0 and search.active.whole))
    restart(search, restarts)
    if not whole_grid:
        reason = search.trim() or reason
    path = _path_of(search, reason)
    warn_unconverged(grid, search.converged, path.solutions.residuals, tol, max_iter)
    return path


def _path_of(search: Search, stopped: str) -> Path:
    """The best points of a finished search."""
    solutions = solutions_of(search)
    shift = solutions.free_energies - search.free_energies  # F of constant columns, which are in no point
    return Path(
        solutions=solutions,
        free_energy_up=np.array(search.up) + shift,
        free_energy_down=np.array(search.down) + shift,
        stopped=stopped,
        n_passes=search.problem.n_passes - search.passes_before,
        n_factorizations=search.active.n_factorizations,
        n_iter=search.active.n_iter,
    )
