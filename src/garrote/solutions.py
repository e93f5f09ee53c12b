"""The solutions of a path, kept as columns; each Solution is made when it is first asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from garrote.arrays import Array, Index
from garrote.limits import NOISE_FLOOR
from garrote.search import Search
from garrote.solve import Solution, free_energy_of_unused, make_solution
from garrote.units import Units

LARGEST_INT32 = 2**31 - 1

Counts: TypeAlias = NDArray[np.intc]


@dataclass(frozen=True, eq=False)
class Solutions(Sequence[Solution]):
    """What is known at each γ; the columns are explained at :class:`~garrote.solve.Solution`."""

    gammas: Array
    features: Sequence[Index]
    inclusions: Sequence[Array] | Array
    slabs: Sequence[Array] | Array
    betas: Array
    free_energies: Array
    n_iters: Sequence[int] | Counts
    residuals: Sequence[float] | Array
    branches: Sequence[str]
    n_factorizations: Sequence[int] | Counts
    n_passes: Sequence[int]
    unlisted_masses: Sequence[float]
    n_features: int
    prior_log_odds: Array | None
    _made: dict[int, Solution] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, solutions: Sequence[Solution]) -> Solutions:
        """The columns of some solutions."""
        return cls(
            gammas=np.array([solution.gamma for solution in solutions]),
            features=[solution.features for solution in solutions],
            inclusions=[solution.inclusion for solution in solutions],
            slabs=[solution.slab for solution in solutions],
            betas=np.array([solution.beta for solution in solutions]),
            free_energies=np.array([solution.free_energy for solution in solutions]),
            n_iters=[solution.n_iter for solution in solutions],
            residuals=[solution.residual for solution in solutions],
            branches=[solution.branch for solution in solutions],
            n_factorizations=[solution.n_factorizations for solution in solutions],
            n_passes=[solution.n_passes for solution in solutions],
            unlisted_masses=[solution.unlisted_mass for solution in solutions],
            n_features=solutions[0].n_features,
            prior_log_odds=solutions[0].prior_log_odds,
        )

    def in_users_units(self, units: Units, n_samples: float) -> Solutions:
        """The solutions of a problem that was solved in other units."""
        return replace(
            self,
            slabs=[units.coef(features, slab) for features, slab in zip(self.features, self.slabs, strict=True)],
            betas=np.array([units.beta(beta) for beta in self.betas.tolist()]),
            free_energies=self.free_energies + units.free_energy(n_samples),
            _made={},
        )

    def coefs(self) -> sparse.csc_array:
        """m·w of the listed features, n_features × n_gammas."""
        return self._stack(_joined(self.inclusions) * _joined(self.slabs))

    def listed_coefs(self) -> tuple[Index, Array]:
        """The features that any solution lists, and m·w of these, a row each."""
        if isinstance(self.inclusions, np.ndarray):
            return self.features[0], (self.inclusions * self.slabs).T
        rows, starts = self._pattern
        listed, row = np.unique(rows, return_inverse=True)
        v = np.zeros((len(listed), len(self)))
        v[row, np.repeat(np.arange(len(self)), np.diff(starts))] = _joined(self.inclusions) * _joined(self.slabs)
        return listed, v

    def sparse_inclusions(self) -> sparse.csc_array:
        """m of the listed features, n_features × n_gammas."""
        return self._stack(_joined(self.inclusions).copy())

    def _stack(self, values: Array) -> sparse.csc_array:
        rows, starts = self._pattern
        return sparse.csc_array((values, rows.copy(), starts.copy()), shape=(self.n_features, len(self)))

    @cached_property
    def _pattern(self) -> tuple[Index, Index]:
        """Where the listed features are in the columns of a sparse array, in the integers that SciPy would choose."""
        features, size = self.features[0], len(self)
        if isinstance(self.inclusions, np.ndarray):  # they are the same at every γ
            starts, rows = len(features) * np.arange(size + 1), np.tile(features, size)
        else:
            starts, rows = np.cumsum([0, *map(len, self.features)]), np.concatenate(self.features)
        integers = np.int32 if max(starts[-1], self.n_features) <= LARGEST_INT32 else np.int64
        return rows.astype(integers), starts.astype(integers)

    def __len__(self) -> int:
        return len(self.gammas)

    @overload
    def __getitem__(self, index: int) -> Solution: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Solution, ...]: ...
    def __getitem__(self, index: int | slice) -> Solution | tuple[Solution, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(len(self))[index])
        i = range(len(self))[index]
        if i not in self._made:
            self._made[i] = Solution(
                gamma=float(self.gammas[i]),
                features=self.features[i],
                inclusion=self.inclusions[i],
                slab=self.slabs[i],
                beta=float(self.betas[i]),
                free_energy=float(self.free_energies[i]),
                n_iter=int(self.n_iters[i]),
                residual=float(self.residuals[i]),
                branch=self.branches[i],
                n_features=self.n_features,
                unlisted_mass=self.unlisted_masses[i],
                prior_log_odds=self.prior_log_odds,
                n_passes=self.n_passes[i],
                n_factorizations=int(self.n_factorizations[i]),
            )
        return self._made[i]


def _joined(columns: Sequence[Array] | Array) -> Array:
    """What is known at each γ, one after the other."""
    return columns.ravel() if isinstance(columns, np.ndarray) else np.concatenate(columns)


def solutions_of(search: Search) -> Solutions:
    """The best points of a finished search."""
    if search.compiled is not None and not len(search.problem.unpenalized):
        return _solutions_of_block(search)
    return Solutions.of(
        [
            make_solution(search.active, float(gamma), point.found, point.branch)
            for gamma, point in zip(search.grid, search.best, strict=False)
        ]
    )


def _solutions_of_block(search: Search) -> Solutions:
    """Those of the compiled search, whose points need not be made."""
    assert search.compiled is not None
    problem, model, size = search.problem, search.active.model, search.size
    gammas, points = search.grid[:size], search.compiled.columns(size)
    noise = np.maximum(points.noise, NOISE_FLOOR * problem.sigma2_y)
    unused: Any = 0.0
    if len(problem.varying) < problem.n_features:
        unused = [free_energy_of_unused(problem, gamma, model) for gamma in gammas.tolist()]
    return Solutions(
        gammas=gammas,
        features=[search.active.features] * size,
        inclusions=points.m,
        slabs=points.w,
        betas=1.0 / noise if model.beta is None else np.full(size, model.beta),
        free_energies=points.energy + unused,
        n_iters=points.n_iter,
        residuals=points.residual,
        branches=points.branch,
        n_factorizations=points.n_factorizations,
        n_passes=[0] * size,
        unlisted_masses=[0.0] * size,
        n_features=problem.n_features,
        prior_log_odds=model.prior_log_odds,
    )
