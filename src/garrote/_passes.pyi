from typing import Any

from garrote.arrays import Array

def column_moments(
    X: Any, weights: Array, e: Array | None, mean: Array, variance: Array, products: Array | None
) -> None: ...
def centre_columns(columns: Array, mean: Array, scale: Array) -> None: ...
def respond_to_columns(
    X: Any,
    r: Any,
    x_mean: Array,
    chi: Array,
    inside: Any,
    own: Array,
    old: Array,
    prior: Array,
    total: float,
    scale: float,
    mixing: float,
    kappa: float,
    ridge: float,
    entry: float,
    c: Array,
    v: Array,
    fit: Any,
    sums: Array,
) -> None: ...
