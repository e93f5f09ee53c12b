"""Searches without descents: they are told where each descent ends, so that one can see what they do with it."""

import numpy as np
from scipy.special import logit

from garrote.energy import Energy
from garrote.foresight import foreseen
from garrote.minimise import Descent
from garrote.points import Point
from garrote.problem import Samples
from garrote.search import Search
from garrote.workingset import Found, Model


def search(X, y, grid, ridge=0.0):
    return Search(Samples(X, y), np.asarray(grid), Model(ridge=ridge), 1e-8, 1000)


def random_search(n_samples, n_features, grid=(-5.0, -4.0, -3.0, -2.0)):
    rng = np.random.default_rng(0)
    return search(rng.standard_normal((n_samples, n_features)), rng.standard_normal(n_samples), grid)


def found(m, *, at_rest=True, outside=0.0, converged=True, free_energy=0.0, n_iter=3, looked=False, target=None):
    """A descent that ended with these inclusions."""
    m = np.asarray(m, dtype=float)
    end = Energy(logit(m), m, m, m, 1.0, free_energy, m if target is None else np.asarray(target), 0.0)
    run = Descent(end, n_iter=n_iter, converged=converged)
    return Found(run, outside_mass=outside, at_rest=at_rest, looked=looked)


def one_in(position, free_energy, **what):
    """A point with one of three features in."""
    return Point(found(np.where(np.arange(3) == position, 0.9, 0.1), free_energy=free_energy, **what), "up")


def several_in(count, free_energy=0.0, of=20, **what):
    return found(np.where(np.arange(of) < count, 0.9, 0.01), free_energy=free_energy, **what)


class Descents:
    """Stands for ``Search.descend``: ends as told, and remembers from where it was to begin."""

    def __init__(self, tries, monkeypatch, ends):
        self.ends = {k: list(several) for k, several in ends.items()}
        self.asked, self.near, self.homes, self.most = [], [], [], []
        monkeypatch.setattr(tries, "descend", self)

    def __call__(self, k, theta, branch, *, near=None, beat=None, home=None, most=np.inf):
        self.asked.append((k, np.array(theta), branch, beat))
        self.near.append(near)
        self.homes.append(home)
        self.most.append(most)
        end = self.ends[k].pop(0)
        return end if isinstance(end, Point) else Point(end, branch)

    def assert_foreseen(self, which, grid, step, points):
        """That a descent began where these points, the nearest first, let one foresee its end."""
        start = foreseen(grid, self.asked[which][0], step, points) or points[0].start
        np.testing.assert_array_equal(self.asked[which][1], start.theta)
        np.testing.assert_array_equal(self.near[which].w, start.w)

    @property
    def where(self):
        return [k for k, *_ in self.asked]
