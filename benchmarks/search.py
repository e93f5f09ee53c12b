"""How often do random restarts of the descent find a lower F than the path?

    python benchmarks/search.py [--problems 200] [--restarts 100] [--n-restarts 0 4 10] [--quick]

Each problem has 20–100 features and 30–100 samples, ζ from 0 to 0.95, and its own noise and sparsity. Its path is
traced over the default grid. At some γ of the grid, and at the γ that as many new samples choose, the descent is
started from random inclusions: half of the starts are uniform numbers, half are random selections. The path *loses*
where the best of them has an F that is lower by more than 1e-6 of it. Solutions that the path's own stopping rule
rejects, because they interpolate y, do not count as found; where one has a lower F it is told. With ``--n-restarts``
the path itself makes so many restarts; several numbers are compared on the same starts.
"""

from __future__ import annotations

import argparse
import warnings
from time import process_time
from typing import NamedTuple

import numpy as np
from rich.progress import track
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

from garrote import garrote_path
from garrote.datasets import sparse_regression
from garrote.path import Path
from garrote.problem import Samples
from garrote.search import Search
from garrote.select import Unseen, path_errors
from garrote.solve import MAX_ITER, TOL
from garrote.threads import one_blas_thread
from garrote.workingset import Model

ZETAS = (0.0, 0.5, 0.8, 0.95)
SIGMAS = (0.1, 0.3, 1.0, 2.0)
SHARES = (0.02, 0.05, 0.1, 0.2)  # of the features that are active
RELATIVE = 1e-6
SEED = 8


class Setting(NamedTuple):
    """What a problem was drawn from."""

    zeta: float
    n_samples: int
    n_features: int
    n_nonzero: int
    sigma: float


class Comparison(NamedTuple):
    """The path and the restarts at one γ of one problem."""

    zeta: float
    chosen: bool  # by validation
    ours: dict[int, float]  # n_restarts of the path → F
    best: float  # F of the best restart that the path's stopping rule accepts
    overfit: float  # F of the best restart that it rejects

    def excess(self, n_restarts: int) -> float:
        """How far the path's F is above that of the best restart, in units of F; NaN where it had ended before."""
        ours = self.ours[n_restarts]
        return (ours - self.best) / abs(ours)


def draw_problem(number: int) -> tuple[Setting, Samples, Samples]:
    """A problem's setting, its samples, and as many others for validation."""
    rng = np.random.default_rng([SEED, number])
    n_samples, n_features = int(rng.integers(30, 101)), int(rng.integers(20, 101))
    n_nonzero = max(1, round(float(rng.choice(SHARES)) * n_features))
    setting = Setting(ZETAS[number % len(ZETAS)], n_samples, n_features, n_nonzero, float(rng.choice(SIGMAS)))
    X, y, _ = sparse_regression(2 * n_samples, n_features, n_nonzero, zeta=setting.zeta, sigma=setting.sigma, rng=rng)
    return setting, Samples(X[:n_samples], y[:n_samples]), Samples(X[n_samples:], y[n_samples:])


def random_start(n_features: int, n_samples: int, soft: bool, rng: np.random.Generator) -> np.ndarray:
    """θ of uniform inclusions, or of a random selection of at most half as many features as samples."""
    if soft:
        return logit(rng.uniform(1e-9, 1 - 1e-9, n_features))
    theta = np.full(n_features, -12.0)
    size = rng.integers(0, min(n_features, n_samples // 2) + 1)
    theta[rng.choice(n_features, size, replace=False)] = 12.0
    return theta


def best_restart(samples: Samples, gamma: float, n_restarts: int, rng: np.random.Generator) -> tuple[float, float]:
    """The lowest F of descents from random starts: of those that do not overfit, and of those that do."""
    search = Search(samples, np.array([gamma]), Model(), TOL, MAX_ITER)
    lowest = {True: np.inf, False: np.inf}
    for start in range(n_restarts):
        theta = random_start(len(search.active.features), len(samples.y), start % 2 == 0, rng)
        found = search.descend(0, theta, "restart").found
        fits = bool(search.rules.overfits(found))
        lowest[fits] = min(lowest[fits], found.free_energy)
    return lowest[False], lowest[True]


def positions(path: Path, n_gammas: int, chosen: int) -> list[int]:
    """Some of the path's γ, evenly spread, and the chosen one."""
    spread = np.linspace(0, len(path) - 1, n_gammas).round().astype(int)
    return sorted({*spread.tolist(), chosen})


def compare(number: int, n_restarts: int, n_gammas: int, ours: list[int]) -> list[Comparison]:
    """One problem: the F of each of our paths, and the restarts' best, at some γ."""
    setting, samples, validation = draw_problem(number)
    paths = {count: garrote_path(samples, n_restarts=count, random_state=number) for count in ours}
    first = paths[ours[0]]
    chosen = int(np.argmin(path_errors(first, samples, Unseen.of(validation))))
    rng = np.random.default_rng([SEED, number, 1])
    return [
        Comparison(
            setting.zeta,
            k == chosen,
            {count: path[k].free_energy if k < len(path) else np.nan for count, path in paths.items()},
            *best_restart(samples, float(first.gammas[k]), n_restarts, rng),
        )
        for k in positions(first, n_gammas, chosen)
    ]


def table(rows: list[Comparison], ours: list[int]) -> str:
    """Per ζ: at how many γ each path loses, wins and does neither."""
    lines = ["    ζ γ       n_restarts compared  loses   share   wins  ended  worst"]
    for zeta in (*ZETAS, None):
        for chosen in (False, True):
            some = [row for row in rows if zeta in (None, row.zeta) and (row.chosen or not chosen)]
            lines += [_line(some, zeta, chosen, count) for count in ours]
    return "\n".join(lines)


def _line(rows: list[Comparison], zeta: float | None, chosen: bool, count: int) -> str:
    excess = np.array([row.excess(count) for row in rows])
    lost = excess > RELATIVE
    worst = max((row.ours[count] - row.best for row, loses in zip(rows, lost, strict=True) if loses), default=0.0)
    name, kind = "all" if zeta is None else f"{zeta:g}", "chosen" if chosen else "grid"
    return (
        f"{name:>5} {kind:<7} {count:>10} {len(rows):>8} {lost.sum():>6} {lost.mean():>7.1%} "
        f"{(excess < -RELATIVE).sum():>6} {np.isnan(excess).sum():>6}  {worst:.3g} nats"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument(
        "--restarts", type=int, default=100, help="random starts at each γ that the path is compared with"
    )
    parser.add_argument("--gammas", type=int, default=10, help="γ of each path at which they are compared")
    parser.add_argument("--n-restarts", type=int, nargs="+", default=[0, 4, 10], help="restarts of the path itself")
    parser.add_argument("--quick", action="store_true", help="20 problems")
    options = parser.parse_args()
    start = process_time()
    rows: list[Comparison] = []
    with one_blas_thread(), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # some random starts are bad ones
        for number in track(range(20 if options.quick else options.problems), "problems"):
            rows += compare(number, options.restarts, options.gammas, options.n_restarts)
    print(table(rows, options.n_restarts))
    first, *others = options.n_restarts
    for count in others:
        better = sum(row.ours[first] - row.ours[count] > RELATIVE * abs(row.ours[first]) for row in rows)
        print(f"The path with n_restarts = {count} is below that with {first} at {better} of {len(rows)} γ.")
    lower = sum(row.overfit < row.ours[first] for row in rows)
    print(f"Restarts that interpolate y had a lower F at {lower} of {len(rows)} γ, and do not count.")
    print(f"{process_time() - start:.0f} s of processor time")


if __name__ == "__main__":
    main()
