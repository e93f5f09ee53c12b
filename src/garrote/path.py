"""The path over γ: anneal upwards, follow branches downwards, exchange features, keep the lowest F.

As γ grows the solution fits better and β grows: an annealing. F has several minima (Section 3 of the paper), so
the solution jumps, and comes back elsewhere when γ is lowered: a hysteresis. The search here has three parts.

1. *Up*: from γ_min, each γ warm-started from the one before.
2. *Down*: from the far end, each γ warm-started from the one above.
3. *Settle*: sweep the grid down and up; at each γ try the neighbour's best solution and exchange moves; keep the
   lower F; stop when a whole sweep changes nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
from scipy import sparse
from scipy.special import logit

from garrote.arrays import Array, Index
from garrote.checks import check_count, check_gammas, check_number
from garrote.exchange import moves
from garrote.minimise import Rival
from garrote.problem import Problem, as_problem
from garrote.restarts import NONE, Restarts, check_restarts, restart
from garrote.solve import MAX_ITER, TOL, Solution, empty_solution, make_solution, warn_unconverged
from garrote.summary import Summary, summarise_path
from garrote.threads import one_blas_thread
from garrote.units import Units, safe_units
from garrote.workingset import Found, Model, WorkingSet

#: With as many features as samples, more than this fraction of n_samples selected is on the way to interpolation.
INTERPOLATES = 0.5

#: Unselected features may together hold this fraction of n_samples in inclusions (or as many as are selected).
DIFFUSE = 0.05

#: Sweeps of the last part at most; it usually ends after two or three.
SWEEPS = 10

#: An exchange move that brings in more features than this is abandoned.
CASCADE = 10

#: An unselected feature with a larger inclusion is undecided.
UNDECIDED = 0.05

#: So many undecided features are many: each of their exchanges is dear, and there is no end of them.
MANY_UNDECIDED = 50

#: At so many γ the swaps of one selection are tried.
SWAPS = 3

#: Features that a descent has not looked at yet may lower its F by about this much.
UNSEEN = 1.0

#: F must drop by this to count as another solution; with a working set it is known less exactly.
LOWER = 1e-7
LOWER_OF_WORKING_SET = 1e-3


@dataclass(frozen=True)
class Path(Sequence[Solution]):
    """Solutions in the order of ``gammas``, each the lowest F found at its γ."""

    solutions: tuple[Solution, ...]
    free_energy_up: Array  #: F of the annealed solutions, γ ascending
    free_energy_down: (
        Array  #: F of the solutions followed downwards from the far end; where it differs, F has several minima
    )
    stopped: str  #: why the default grid ended before γ_max, or ""
    n_passes: int  #: passes over X while the path was traced
    n_factorizations: int
    n_iter: int

    @property
    def gammas(self) -> Array:
        """The γ of each solution, ascending."""
        return np.array([solution.gamma for solution in self.solutions])

    @property
    def free_energies(self) -> Array:
        """The lowest F found at each γ."""
        return np.array([solution.free_energy for solution in self.solutions])

    @property
    def coefs(self) -> sparse.csc_array:
        """Coefficients m·w as a sparse array, n_features × n_gammas."""
        return self._stack([solution.inclusion * solution.slab for solution in self.solutions])

    @property
    def inclusions(self) -> sparse.csc_array:
        """Inclusions m of the listed features as a sparse array, n_features × n_gammas."""
        return self._stack([solution.inclusion for solution in self.solutions])

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
            solutions=tuple(solution.in_users_units(units, n_samples) for solution in self.solutions),
            free_energy_up=self.free_energy_up + shift,
            free_energy_down=self.free_energy_down + shift,
        )

    def _stack(self, columns: list[Array]) -> sparse.csc_array:
        rows = [solution.features for solution in self.solutions]
        starts = np.cumsum([0, *map(len, rows)])
        shape = (self.solutions[0].n_features, len(self.solutions))
        return sparse.csc_array((np.concatenate(columns), np.concatenate(rows), starts), shape=shape)

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
    gammas : the number of γ on the default grid from γ_min to γ_min/50, which ends early where X can interpolate y; or
        the grid itself, strictly ascending, which is solved whole
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
    use = problem.varying
    if not len(use) or problem.sigma2_y == 0.0:
        return float(logit(epsilon))
    correlation = problem.b[use] / np.sqrt(problem.chi[use]) / math.sqrt(problem.sigma2_y)  # b² may overflow
    evidence = 0.5 * problem.n_samples * correlation**2
    if prior_log_odds is not None:
        evidence = evidence + prior_log_odds[use]
    return float(logit(epsilon) - evidence.max())


def default_gammas(problem: Problem, n_gammas: Any, prior_log_odds: Array | None = None) -> Array:
    """The paper's grid: n_gammas equal steps from γ_min to 0.02 γ_min."""
    _check_count(n_gammas)
    lowest = gamma_min(problem, prior_log_odds)
    highest = 0.02 * lowest if lowest < 0 else lowest + 5.0
    return np.linspace(lowest, highest, int(n_gammas))


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


@dataclass(slots=True, eq=False)
class Point:
    """A solution on the way: where a descent at the k-th γ ended."""

    found: Found
    branch: str

    @property
    def theta(self) -> Array:
        return self.found.run.end.theta

    @property
    def free_energy(self) -> float:
        return self.found.free_energy

    @property
    def selected(self) -> Index:
        """Positions in the working set of the features with m > ½."""
        return np.flatnonzero(self.theta > 0.0)

    def same_selection(self, other: Point) -> bool:
        return np.array_equal(self.selected, other.selected)


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
        solutions = tuple(empty_solution(problem, float(gamma), model) for gamma in grid)
        flat = np.array([solution.free_energy for solution in solutions])
        return Path(solutions, flat, flat, "", 0, 0, 0)
    units = safe_units(problem.chi, problem.sigma2_y)
    if units is not None:
        path = trace(problem.in_units(units), grid, model, whole_grid=whole_grid, tol=tol, max_iter=max_iter)
        return path.in_users_units(units, problem.n_samples)
    search = Search(problem, grid, model, tol, max_iter)
    # A slab prior bounds F, so the path may go on into the dense regime, where γ → large is ridge regression.
    reason = search.anneal_up(whole_grid or (model.ridge > 0.0 and search.active.whole))
    search.follow_down()
    search.settle()
    restart(search, restarts)
    if not whole_grid:
        reason = search.trim() or reason
    warn_unconverged(
        [(float(gamma), point.found.run) for gamma, point in zip(grid, search.best, strict=False)],
        tol,
        max_iter,
    )
    return search.path(reason)


class Search:
    """The search for low F over a grid."""

    def __init__(self, problem: Problem, grid: Array, model: Model, tol: float, max_iter: int) -> None:
        self.problem = problem
        self.passes_before = problem.n_passes  # one problem may be traced several times, for several λ
        self.grid = grid
        self.active = WorkingSet(problem, model)
        self.lower = LOWER if self.active.whole else LOWER_OF_WORKING_SET
        self.tol, self.max_iter = tol, max_iter
        self.best: list[Point] = []
        self.up: list[float] = []
        self.down: list[float] = []
        # As many features as samples can fit anything; with fewer, F is bounded.
        self.can_interpolate = len(problem.varying) >= problem.n_samples - 1
        self.most_selected = INTERPOLATES * (problem.n_samples - 1) if self.can_interpolate else math.inf
        self.cut = True  #: whether the grid ends where the path overfits
        self.end = 0  #: branches are followed, and moves made, only below this position
        self._tidied = len(self.active.features) if self.active.whole else 0
        self._tried: set[tuple[Point, int]] = set()
        self._settled: set[Point] = set()
        self._swapped: Counter[bytes] = Counter()

    def descend(self, k: int, theta: Array, branch: str, *, beat: Point | None = None) -> Point:
        """Solve at the k-th γ from θ; no pass over X is spent on a point that will not beat another."""

        def give_up(found: Found) -> bool:
            if beat is None:  # the default grid ends where the path overfits
                return branch == "up" and self.cut and found.looked and self.overfits(found) != ""
            margin = 0.0 if Point(found, branch).same_selection(beat) else UNSEEN
            return found.free_energy - margin > beat.free_energy - self.lower

        gamma = float(self.grid[k])
        most = self.most_selected if self.cut or k < self.end else math.inf
        if branch == "restart":  # random inclusions begin with many
            most = math.inf
        if branch == "exchange":  # one move; an avalanche is what annealing finds, at its own γ
            most = min(
                most, float(np.count_nonzero(theta > 0)) + (CASCADE if self.additions_mean_something(gamma) else 0)
            )
        rival = None if beat is None else Rival(beat.found.run.end.m, beat.free_energy - self.lower)
        found = self.active.descend(
            gamma, theta, give_up=give_up, tol=self.tol, max_iter=self.max_iter, most=most, rival=rival
        )
        return Point(found, branch)

    def anneal_up(self, whole_grid: bool) -> str:
        """Part 1. Returns why the grid was cut, or ''."""
        self.cut = not whole_grid
        theta, reason = self.active.start(float(self.grid[0])), ""
        for k in range(len(self.grid)):
            point = self.descend(k, theta, "up")
            reason = reason or self.overfits(point.found)
            if reason and not whole_grid and self.best:
                break
            self.best.append(point)
            self.up.append(point.free_energy)
            if not reason:
                self.end = k + 1
            theta = point.found.run.end.target
        self.tidy()
        return "" if whole_grid else reason

    def follow_down(self) -> None:
        """Part 2."""
        self.down = list(self.up)
        theta = None
        for k in range(self.end - 2, -1, -1):
            above = self.best[k + 1] if theta is None else None
            if above is not None and above.same_selection(self.best[k]):
                continue  # no jump here: the branches have merged
            point = self.descend(k, above.theta if above is not None else theta, "down")  # type: ignore[arg-type]
            if not point.found.run.converged:  # abandoned: there is no branch here
                theta = None
                continue
            merged = abs(point.free_energy - self.up[k]) < self.lower
            self.down[k] = point.free_energy
            theta = None if merged else point.theta
            self.keep(k, point)

    def settle(self) -> None:
        """Part 3."""
        for _ in range(SWEEPS):
            changed = False
            self.active.bring_partners(np.concatenate([point.selected for point in self.best[: self.end]]))
            for positions, towards in ((range(self.end - 1, -1, -1), 1), (range(self.end), -1)):
                for k in positions:
                    changed |= self.try_neighbour(k, k + towards)
                    changed |= self.try_exchange(k)
                    self.tidy()
            if not changed:
                return

    def try_neighbour(self, k: int, neighbour: int) -> bool:
        """Start from the neighbour's solution, unless it is in the same basin or was tried before."""
        if not 0 <= neighbour < self.end:
            return False
        start = self.best[neighbour]
        if (start, k) in self._tried or start.same_selection(self.best[k]):
            return False
        self._tried.add((start, k))
        return self.keep(k, self.descend(k, start.theta, "neighbour", beat=self.best[k]))

    def try_exchange(self, k: int) -> bool:
        """Exchange moves until none lowers F."""
        changed = False
        while self.best[k] not in self._settled and not self.undecided(self.best[k].found):
            at, gamma = self.best[k], float(self.grid[k])
            self._settled.add(at)
            solution = self.active.embed(at.theta, gamma)  # the working set may have grown since
            # what a swap does hardly depends on γ: a few γ of each selection are tried, and pass on what is found
            selection = self.active.features[solution > 0.0].tobytes()
            self._swapped[selection] += 1
            swaps = self._swapped[selection] <= SWAPS
            adds = self.additions_mean_something(gamma)
            prior, ridge = self.active.start(gamma), self.active.model.ridge
            for theta in moves(self.active.block, solution, prior, ridge, adds=adds, swaps=swaps):
                if self.keep(k, self.descend(k, theta, "exchange", beat=at)):
                    changed = True
                    break
        return changed

    def undecided(self, found: Found) -> bool:
        """Whether many features, more than are in the model, are half in it: to exchange single ones means nothing."""
        m = found.run.end.m
        selected, half_in = int((m > 0.5).sum()), int(((m > UNDECIDED) & (m <= 0.5)).sum())
        return half_in > max(selected, MANY_UNDECIDED)

    def additions_mean_something(self, gamma: float) -> bool:
        """Whether exchange may add features: not where the prior alone expects one of very many useless ones.

        The best of these is always worth adding there, and after it the next, until y is interpolated.
        """
        n_features = len(self.problem.varying)
        return n_features < 2 * self.problem.n_samples or n_features * math.exp(gamma) < 1.0

    def keep(self, k: int, point: Point) -> bool:
        """Keep a point whose F is lower, unless it overfits or was abandoned on the way."""
        run = point.found.run
        abandoned = not run.converged and run.n_iter < self.max_iter
        if abandoned or point.free_energy >= self.best[k].free_energy - self.lower or self.overfits(point.found):
            return False
        self.best[k] = point
        return True

    def tidy(self) -> None:
        """Let go of the features that entered the working set only for points that were not kept."""
        if len(self.active.features) > self._tidied:
            self.active.shrink(max(len(point.theta) for point in self.best))
            self._tidied = len(self.active.features)

    def overfits(self, found: Found) -> str:
        """Why lowest F no longer means best here, or ''.

        Where X can interpolate y, E → 0 and F → −∞.
        """
        n_samples = self.problem.n_samples
        if not math.isfinite(self.most_selected):
            return ""
        m = found.run.end.m
        selected = m > 0.5
        if selected.sum() > self.most_selected:
            return f"{selected.sum()} features are selected from {n_samples:g} samples: the fit begins to interpolate"
        if not found.at_rest:
            return "unselected features together begin to explain y, and no solution comes to rest"
        weak, strong = float(m[~selected].sum()) + found.outside_mass, float(m[selected].sum())
        if weak > max(strong, DIFFUSE * n_samples):
            return f"unselected features hold a total inclusion of {weak:.3g}, the selected ones {strong:.3g}"
        return ""

    def trim(self) -> str:
        """Drop the last γ whose F is above the one before: F falls with γ, so a lower F exists, but it overfits."""
        dropped = False
        while len(self.best) > 1 and self.best[-1].free_energy > self.best[-2].free_energy:
            dropped = True
            for values in (self.best, self.up, self.down):
                values.pop()
        return "solutions of lower free energy hold more inclusion in unselected than in selected features" * dropped

    def path(self, stopped: str) -> Path:
        solutions = [
            make_solution(self.active, float(gamma), point.found, point.branch)
            for gamma, point in zip(self.grid, self.best, strict=False)
        ]
        # F of constant columns is in the solutions, not in the points
        shift = np.array([s.free_energy - point.free_energy for s, point in zip(solutions, self.best, strict=True)])
        return Path(
            solutions=tuple(solutions),
            free_energy_up=np.array(self.up) + shift,
            free_energy_down=np.array(self.down) + shift,
            stopped=stopped,
            n_passes=self.problem.n_passes - self.passes_before,
            n_factorizations=self.active.n_factorizations,
            n_iter=self.active.n_iter,
        )
