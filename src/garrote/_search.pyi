from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from garrote._descent import BlockDescent
from garrote._exchange import BlockScreen
from garrote.arrays import Array

class Columns(NamedTuple):
    m: Array
    w: Array
    noise: Array
    energy: Array
    residual: Array
    branch: list[str]
    n_iter: NDArray[np.intc]
    n_factorizations: NDArray[np.intc]

class CopiesError(Exception): ...

class BlockSearch:
    size: int
    end: int
    total_iter: int
    total_factorizations: int
    overfitted: bool
    n_selected: float
    strong_mass: float
    weak_mass: float
    def __init__(
        self,
        descent: BlockDescent,
        screen: BlockScreen,
        grid: Array,
        odds: Array,
        ridge: float,
        beta: float | None,
        tol: float,
        max_iter: int,
        lower: float,
        most_selected: float,
        wide: bool,
    ) -> None: ...
    def anneal_up(self, whole_grid: bool) -> None: ...
    def follow_down(self) -> None: ...
    def climb(self) -> None: ...
    def settle(self) -> None: ...
    def energies(self) -> tuple[Array, Array, Array]: ...
    def ends(self) -> NDArray[np.intc]: ...
    def columns(self, n: int) -> Columns: ...
    def points(self) -> Iterator[tuple[Array, float, float, float, str, int, int, bool]]: ...
