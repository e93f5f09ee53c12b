"""What a method is to the benchmark, and the grid that the Lasso solvers share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, NamedTuple

import numpy as np

from garrote.arrays import Array

#: Points of a Lasso or L0 path.
N_POINTS = 100


class Task(NamedTuple):
    """What a method is asked for."""

    X: Array
    y: Array
    min_ratio: float  #: smallest λ of a Lasso path, relative to λ_max
    max_support: int  #: the most features of a best-subset path

    def alphas(self) -> Array:
        """λ from λ_max = max_i |x_i·y|/n_samples, where the Lasso selects nothing, down to min_ratio λ_max."""
        largest = float(np.abs(self.X.T @ self.y).max()) / len(self.y)
        return np.geomspace(largest, self.min_ratio * largest, N_POINTS)


class Fits(NamedTuple):
    """The fits along a path."""

    coefs: Any  #: n_features × n_points, dense or sparse
    inclusions: Any = None  #: the same for inclusion probabilities; without them non-zero weights count as selected


@dataclass(frozen=True)
class Method:
    """A method by name; ``solve`` imports its package at its first call.

    What is timed is ``solve``, the solver's own call; ``read`` brings what it returned into the common form.
    """

    name: str
    package: str  #: the distribution on PyPI
    solve: Callable[[Task], Any]
    read: Callable[[Any], Fits]

    def version(self) -> str:
        """The installed version, or ''."""
        try:
            return metadata.version(self.package)
        except metadata.PackageNotFoundError:
            return ""
