"""Restarts on request: where the path's own search may have missed a lower F, search again from random starts.

F has many minima when features are correlated. A restart begins at random inclusions, descends, and makes exchange
moves until none lowers F; what it finds is kept where it beats the path, and passed on along the grid. No one kind of
start is best everywhere, so the kinds take turns.
"""

from __future__ import annotations

from itertools import cycle, islice
from numbers import Integral
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import logit
from sklearn.utils import check_random_state

from garrote.arrays import Array, Index
from garrote.exchange import SWITCHED

if TYPE_CHECKING:
    from garrote.search import Search


class Restarts(NamedTuple):
    """How many at each γ, and their seed."""

    per_gamma: int
    seed: int


NONE = Restarts(0, 0)


def check_restarts(n_restarts: Any, random_state: Any) -> Restarts:
    """n_restarts and random_state as the user gave them, checked, with one seed for all that is fitted."""
    if not isinstance(n_restarts, Integral) or isinstance(n_restarts, bool) or n_restarts < 0:
        raise ValueError(f"n_restarts is {n_restarts!r}; give a whole number, 0 for none.")
    if not n_restarts:
        return NONE
    return Restarts(int(n_restarts), int(check_random_state(random_state).randint(np.iinfo(np.int32).max)))


def restart(search: Search, restarts: Restarts) -> None:
    """Restart at every γ below the path's end, then settle the grid again."""
    if not restarts.per_gamma:
        return
    rng = np.random.default_rng(restarts.seed)
    for k in range(search.end):
        for start in islice(cycle(STARTS), restarts.per_gamma):
            _restart_once(search, k, start(_solution(search, k), search.problem.n_samples, rng))
        search.tidy()
    search.settle()


def _restart_once(search: Search, k: int, theta: Array) -> None:
    """Descend and exchange from θ at the k-th γ; the better of what this finds and the path's own point stays."""
    before, point = search.best[k], search.descend(k, theta, "restart")
    if not point.found.run.converged or search.rules.overfits(point.found):
        return
    search.best[k] = point
    search.try_exchange(k)
    after = search.best[k]
    if search.rules.interpolates(after.found) or after.free_energy >= before.free_energy - search.lower:
        search.best[k] = before


def _solution(search: Search, k: int) -> Array:
    """θ of the best point at the k-th γ, in the present working set."""
    return search.active.embed(search.best[k].theta, float(search.grid[k]))


# ---- starts: θ from the θ of the best solution so far ------------------------------------------------------------


def _uniform(solution: Array, n_samples: float, rng: np.random.Generator) -> Array:
    """Inclusions between 0 and 1."""
    return np.asarray(logit(rng.uniform(1e-9, 1.0 - 1e-9, len(solution))))


def _any_size(solution: Array, n_samples: float, rng: np.random.Generator) -> Array:
    """A random selection of at most half as many features as samples."""
    most = min(len(solution), int(n_samples) // 2)
    return _selection(len(solution), int(rng.integers(most, endpoint=True)), rng)


def _same_size(solution: Array, n_samples: float, rng: np.random.Generator) -> Array:
    """A random selection of about as many features as the best solution has."""
    size = max(1, int(rng.poisson(np.count_nonzero(solution > 0.0))))
    return _selection(len(solution), min(size, len(solution)), rng)


def _thinned(solution: Array, n_samples: float, rng: np.random.Generator) -> Array:
    """The best solution without some of its features."""
    theta, on = solution.copy(), np.flatnonzero(solution > 0.0)
    if len(on):
        theta[rng.choice(on, int(rng.integers(1, len(on), endpoint=True)), replace=False)] = -SWITCHED
    return theta


STARTS = (_uniform, _any_size, _same_size, _thinned)


def _selection(n_features: int, size: int, rng: np.random.Generator) -> Array:
    theta = np.full(n_features, -SWITCHED)
    chosen: Index = rng.choice(n_features, size, replace=False)
    theta[chosen] = SWITCHED
    return theta
