import numpy as np
from numpy.typing import NDArray

from garrote.arrays import Array, Index

def transpose_dot(
    packed: NDArray[np.uint8],
    variants: Index,
    table: Array,
    starts: Index,
    missing: NDArray[np.int32],
    mean: Array,
    r: Array,
    out: Array,
) -> None: ...
def add_columns(
    packed: NDArray[np.uint8],
    variants: Index,
    dosages: Array,
    starts: Index,
    missing: NDArray[np.int32],
    mean: Array,
    v: Array,
    out: Array,
) -> None: ...
