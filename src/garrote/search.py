"""The search over a grid of γ: anneal upwards, follow branches downwards, exchange features, keep the lowest F.

As γ grows the solution fits better and β grows: an annealing. F has several minima (Section 3 of the paper), so
the solution jumps, and comes back elsewhere when γ is lowered: a hysteresis. The search here has four parts.

1. *Up*: from γ_min, each γ warm-started from the one before.
2. *Down*: from every jump, the far one first, each γ warm-started from the one above, until the branches merge or lie
   far apart.
3. *Climb*: find the best selection of each size, and try at each γ the one that promises the lowest F.
4. *Settle*: sweep the grid down and up; at each γ try the neighbour's best solution and exchange moves; keep the
   lower F; stop when a whole sweep changes nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from garrote._loops import COMPILED
from garrote.arrays import Array
from garrote.energy import Energy
from garrote.exchange import moves
from garrote.foresight import foreseen
from garrote.ladder import falls_without_end, ladder
from garrote.minimise import Descent, Rival
from garrote.overfitting import Overfitting
from garrote.points import Point, Start
from garrote.problem import Problem
from garrote.workingset import Found, Model, WorkingSet

if TYPE_CHECKING:
    from garrote._search import BlockSearch

#: Sweeps of the last part at most; it usually ends after two or three.
SWEEPS = 10

#: A branch that is followed down is left where its F has risen so far above the best: the next jump opens another.
BEHIND = 10.0

#: An exchange move that brings in more features than this is abandoned, and the ladder ends so much above a solution.
CASCADE = 10

#: On the way up a cascade is looked at, where so many more features may be selected, for it may be a long avalanche.
AVALANCHE = 30

#: An unselected feature with a larger inclusion is undecided.
UNDECIDED = 0.05

#: So many undecided features are many: each of their exchanges is dear, and there is no end of them.
MANY_UNDECIDED = 50

#: The best selections of each size are looked for up to this size.
HIGHEST = 64

#: At so many γ the swaps of one selection are tried.
SWAPS = 3

#: Features that a descent has not looked at yet may lower its F by about this much.
UNSEEN = 1.0

#: F must drop by this to count as another solution; with a working set it is known less exactly.
LOWER = 1e-7
LOWER_OF_WORKING_SET = 1e-3


class Search:
    """The search for low F over a grid."""

    def __init__(self, problem: Problem, grid: Array, model: Model, tol: float, max_iter: int) -> None:
        self.problem = problem
        self.passes_before = problem.n_passes  # one problem may be traced several times, for several λ
        self.grid = grid
        self.active = WorkingSet(problem, model)
        self.lower = LOWER if self.active.whole else LOWER_OF_WORKING_SET
        self.tol, self.max_iter = tol, max_iter
        self._best: list[Point] = []
        self.compiled: BlockSearch | None = None  #: whose points are the best, until they are asked for one by one
        self.up: list[float] = []
        self.down: list[float] = []
        self.rules = Overfitting(problem, model)
        self.cut = True  #: whether the grid ends where the path overfits
        self.end = 0  #: branches are followed, and moves made, only below this position
        self._tidied = len(self.active.features) if self.active.whole else 0
        self._tried: set[tuple[Point, int]] = set()
        self._settled: set[Point] = set()
        self._swapped: defaultdict[bytes, int] = defaultdict(int)

    @property
    def best(self) -> list[Point]:
        """The best point at each γ."""
        if self.compiled is not None:
            self._best, self.compiled = _points_of(self.compiled)[: self.size], None
        return self._best

    @best.setter
    def best(self, points: list[Point]) -> None:
        self._best, self.compiled = points, None

    @property
    def size(self) -> int:
        """The number of γ that have a point."""
        return len(self._best) if self.compiled is None else len(self.up)

    @property
    def free_energies(self) -> Array:
        """The lowest F found at each γ."""
        if self.compiled is not None:
            return self.compiled.energies()[0][: self.size]
        return np.array([point.free_energy for point in self._best])

    @property
    def converged(self) -> list[bool]:
        """Whether the descents to the best points came to their ends."""
        if self.compiled is not None:
            return [end != 0 for end in self.compiled.ends()[: self.size].tolist()]
        return [point.found.run.converged for point in self._best]

    def descend(
        self,
        k: int,
        theta: Array,
        branch: str,
        *,
        near: Start | Point | None = None,
        beat: Point | None = None,
        home: Point | None = None,
        most: float = math.inf,
    ) -> Point:
        """Solve at the k-th γ from θ, near some point, or until more than ``most`` features are selected.

        A descent that comes to the point ``home`` is abandoned, and so is one that will not ``beat`` another.
        """

        def give_up(found: Found) -> bool:
            if beat is None:  # the default grid ends where the path overfits
                return branch == "up" and self.cut and found.looked and self.rules.overfits(found) != ""
            margin = 0.0 if Point(found, branch).same_selection(beat) else UNSEEN
            return found.free_energy - margin > beat.free_energy - self.lower

        gamma = float(self.grid[k])
        most = min(most, self.rules.most_selected) if self.cut or k < self.end else math.inf
        if branch == "restart":  # random inclusions begin with many
            most = math.inf
        if branch == "exchange":  # one move; an avalanche is what annealing finds, at its own γ
            most = min(
                most,
                float(np.count_nonzero(theta > 0)) + (CASCADE if self.rules.additions_mean_something(gamma) else 0),
            )
        other = beat or home
        rival = None
        if other is not None:
            rival = Rival(other.found.run.end.m, other.free_energy - self.lower, to_beat=beat is not None)
        found = self.active.descend(
            gamma,
            theta,
            w=None if near is None else near.w,
            give_up=give_up,
            tol=self.tol,
            max_iter=self.max_iter,
            most=most,
            rival=rival,
        )
        return Point(found, branch)

    def run(self, whole_grid: bool) -> str:
        """All four parts. Returns why the grid was cut, or ''."""
        if COMPILED and self.active.whole:
            return self._run_compiled(whole_grid)
        return self._run_plain(whole_grid)

    def _run_plain(self, whole_grid: bool) -> str:
        reason = self.anneal_up(whole_grid)
        self.follow_down()
        self.climb()
        self.settle()
        return reason

    def _run_compiled(self, whole_grid: bool) -> str:
        """The same by the compiled search, which serves where all features are one Block."""
        from garrote._search import BlockSearch, CopiesError  # it takes its constants from this module

        active, model = self.active, self.active.model
        search = BlockSearch(
            active.block.kernel,
            active.block.screen,
            self.grid,
            active.start(0.0),
            model.ridge,
            model.beta,
            self.tol,
            self.max_iter,
            self.lower,
            self.rules.most_selected,
            self.rules.wide,
        )
        self.cut, settled = not whole_grid, True
        try:
            search.anneal_up(whole_grid)
        except CopiesError:  # before there are points to go on from
            return self._run_plain(whole_grid)
        search.follow_down()
        try:
            search.climb()
            search.settle()
        except CopiesError:
            settled = False
        active.n_iter += search.total_iter
        active.n_factorizations += search.total_factorizations
        self.compiled = search
        self.up, self.down = (values.tolist() for values in search.energies()[1:])
        self.end = search.end
        if not settled:
            self.climb()
            self.settle()
        if whole_grid or not search.overfitted:
            return ""
        return self.rules.excess(search.n_selected, search.strong_mass, search.weak_mass)

    def anneal_up(self, whole_grid: bool) -> str:
        """Part 1. Returns why the grid was cut, or ''."""
        self.cut = not whole_grid
        start, reason = Start(self.active.start(float(self.grid[0])), None), ""
        for k in range(len(self.grid)):
            point, overfit = self.anneal(k, start)
            reason = reason or overfit
            if reason and not whole_grid and self.best:
                break
            self.best.append(point)
            self.up.append(point.free_energy)
            if not reason:
                self.end = k + 1
            goal = Start(point.found.run.end.target, point.w)
            if k + 1 < len(self.grid):
                start = foreseen(self.grid, k + 1, -1, self.best[: -min(k + 1, 3) - 1 : -1]) or goal
        self.tidy()
        return "" if whole_grid else reason

    def anneal(self, k: int, start: Start) -> tuple[Point, str]:
        """The k-th γ on the way up, and why it overfits, or ''. An avalanche of useless features is not waited for."""
        selected, gamma = int(np.count_nonzero(start.theta > 0.0)), float(self.grid[k])
        far = self.cut and self.active.whole and selected + AVALANCHE < self.rules.most_selected < math.inf
        if not far or self.rules.additions_mean_something(gamma):
            point = self.descend(k, start.theta, "up", near=start)
            return point, self.rules.overfits(point.found)
        point = self.descend(k, start.theta, "up", near=start, most=selected + CASCADE)
        if not point.found.run.converged and len(point.selected) > selected + CASCADE:
            prior, ridge = self.active.start(gamma), self.active.model.ridge
            size = falls_without_end(self.active.block, point.theta, prior, ridge, self.rules.most_selected)
            if size:
                return point, self.rules.excess(size, 0.0, 0.0)
            point = self.descend(k, point.theta, "up", near=point)
        return point, self.rules.overfits(point.found)

    def follow_down(self) -> None:
        """Part 2."""
        self.down = list(self.up)
        trail: list[Point] = []  #: the points above, nearest first, where there is a branch to follow
        for k in range(self.end - 2, -1, -1):
            if not trail and self.best[k + 1].same_selection(self.best[k]):
                continue  # no jump here: the branches have merged
            trail = trail or self.near(k, 1)
            start = foreseen(self.grid, k, 1, trail) or trail[0].start
            point = self.descend(k, start.theta, "down", near=start, home=self.best[k])
            if not point.found.run.converged:  # abandoned: there is no branch here, or it has merged
                trail = []
                continue
            merged = abs(point.free_energy - self.up[k]) < self.lower
            behind = point.free_energy >= self.best[k].free_energy + BEHIND
            self.down[k] = point.free_energy
            trail = [] if merged or behind else [point, *trail[:2]]
            self.keep(k, point)

    def near(self, k: int, step: int) -> list[Point]:
        """The best points one, two and three steps from the k-th γ, as many as there are."""
        return [self.best[i] for i in range(k + step, k + 4 * step, step) if 0 <= i < self.end]

    def climb(self) -> None:
        """Part 3."""
        self.tidy()  # the ladder stands in the working set, which shall not become smaller below
        decided = [point for point in self.best[: self.end] if not self.undecided(point.found)]
        top = max((point.selected for point in decided if len(point.selected) <= HIGHEST), key=len, default=None)
        if top is None or not len(top):
            return
        size = len(top)
        highest = size if self.rules.wide else int(max(size, min(size + CASCADE, HIGHEST, self.rules.most_selected)))
        rungs = ladder(self.active.block, top, self.active.start(0.0), self.active.model.ridge, highest)
        for k in range(self.end):
            gamma = float(self.grid[k])
            rung = min(rungs, key=lambda rung: rung.free_energy(gamma))
            selected = (rung.theta > 0.0).nonzero()[0]
            if not np.array_equal(selected, self.best[k].selected):
                if k and np.array_equal(selected, self.best[k - 1].selected):  # the rung's solution there is near by
                    start = foreseen(self.grid, k, -1, self.near(k, -1)) or self.best[k - 1].start
                else:
                    prior = self.active.start(gamma)[: len(rung.theta)]
                    start = Start(np.where(rung.theta > 0.0, rung.theta, prior), rung.w)
                point = self.descend(k, start.theta, "exchange", near=start, beat=self.best[k])
                if not self.rules.interpolates(point.found):
                    self.keep(k, point)
                self.tidy()

    def settle(self) -> None:
        """Part 4."""
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
        other = self.best[neighbour]
        if (other, k) in self._tried or other.same_selection(self.best[k]):
            return False
        self._tried.add((other, k))
        start = foreseen(self.grid, k, neighbour - k, self.near(k, neighbour - k)) or other.start
        return self.keep(k, self.descend(k, start.theta, "neighbour", near=start, beat=self.best[k]))

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
            adds = self.rules.additions_mean_something(gamma)
            prior, ridge = self.active.start(gamma), self.active.model.ridge
            for start in moves(self.active.block, solution, prior, ridge, adds=adds, swaps=swaps):
                if self.keep(k, self.descend(k, start.theta, "exchange", near=start, beat=at)):
                    changed = True
                    break
        return changed

    def undecided(self, found: Found) -> bool:
        """Whether many features, more than are in the model, are half in it: to exchange single ones means nothing."""
        m = found.run.end.m
        selected, not_out = int(np.count_nonzero(m > 0.5)), int(np.count_nonzero(m > UNDECIDED))
        return not_out - selected > max(selected, MANY_UNDECIDED)

    def keep(self, k: int, point: Point) -> bool:
        """Keep a point whose F is lower, unless it overfits or was abandoned on the way."""
        run = point.found.run
        abandoned = not run.converged and run.n_iter < self.max_iter
        lower = point.free_energy < self.best[k].free_energy - self.lower  # which NaN is not
        if abandoned or not lower or self.rules.overfits(point.found):
            return False
        self.best[k] = point
        return True

    def tidy(self) -> None:
        """Let go of the features that entered the working set only for points that were not kept."""
        if len(self.active.features) > self._tidied:
            self.active.shrink(max(len(point.theta) for point in self.best))
            self._tidied = len(self.active.features)

    def trim(self) -> str:
        """Drop the last γ whose F is above the one before: F falls with γ, so a lower F exists, but it overfits."""
        energies, size = self.free_energies.tolist(), self.size
        while size > 1 and energies[size - 1] > energies[size - 2]:
            size -= 1
        if size == len(energies):
            return ""
        for values in (self._best, self.up, self.down):
            del values[size:]
        return "solutions of lower free energy hold more inclusion in unselected than in selected features"


def _points_of(search: BlockSearch) -> list[Point]:
    """The compiled search's best points."""
    points = []
    for (theta, m, w, v, target), noise, energy, residual, branch, n_iter, cost, converged in search.points():
        end = Energy(theta, m, w, v, noise, energy, target, residual)
        points.append(Point(Found(Descent(end, n_iter, cost, converged), n_factorizations=cost), branch))
    return points
