from garrote.arrays import Array, Index

def bin_correlations(
    c: Array, inverse_norm: Array, prior_log_odds: Array | None, inside: Index, counts: Array, least: float
) -> float: ...
def likeliest(
    c: Array,
    inverse_norm: Array,
    prior_log_odds: Array | None,
    inside: Index,
    kappa: float,
    above: float,
    most: int,
) -> Index: ...
def inclusions(
    z: Array, weight: Array, gamma: float, kappa: float, moved: float, inclusion: Array
) -> tuple[float, float]: ...
