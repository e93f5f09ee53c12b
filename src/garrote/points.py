"""Solutions on the way of a search, and where its descents begin."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from garrote.arrays import Array, Index
from garrote.workingset import Found

#: From one γ to the next, θ of a feature that jumps in or out changes by more than this.
JUMP = 4.0


class Start(NamedTuple):
    """Where a descent begins."""

    theta: Array
    w: Array | None


@dataclass(slots=True, eq=False)
class Point:
    """A solution on the way: where a descent at the k-th γ ended."""

    found: Found
    branch: str
    theta: Array = field(init=False)
    w: Array = field(init=False)
    _selected: Index | None = field(init=False, default=None)
    _state: Array | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.theta, self.w = self.found.run.end.theta, self.found.run.end.w

    @property
    def selected(self) -> Index:
        """Positions in the working set of the features with m > ½."""
        if self._selected is None:
            self._selected = (self.theta > 0.0).nonzero()[0]
        return self._selected

    @property
    def state(self) -> Array:
        """θ and w, one below the other."""
        if self._state is None:
            self._state = np.array((self.theta, self.w))
        return self._state

    @property
    def free_energy(self) -> float:
        return self.found.free_energy

    @property
    def start(self) -> Start:
        """To begin where it is."""
        return Start(self.theta, self.w)

    def same_selection(self, other: Point) -> bool:
        return self.selected.tobytes() == other.selected.tobytes()

    def same_branch(self, other: Point) -> bool:
        """Whether no feature of the neighbour has jumped in or out."""
        if self.same_selection(other):
            return True
        size = min(len(self.theta), len(other.theta))
        theta, others = self.theta[:size], other.theta[:size]
        return not bool((((theta > 0.0) != (others > 0.0)) & (np.abs(theta - others) > JUMP)).any())
