"""The array types that the library speaks of."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Index: TypeAlias = NDArray[np.intp]

#: The rows to fit to, and the rows to validate with.
Split: TypeAlias = tuple[Index, Index]
