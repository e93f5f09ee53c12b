"""The methods the paper compares the Variational Garrote with, each a scikit-learn estimator."""

from garrote.comparators.breiman import NonNegativeGarrote
from garrote.comparators.exact import ExactSpikeSlab
from garrote.comparators.gibbs import SpikeSlabGibbs
from garrote.comparators.pmf import PairedMeanField, even_start, extreme_start, soft_start

__all__ = [
    "ExactSpikeSlab",
    "NonNegativeGarrote",
    "PairedMeanField",
    "SpikeSlabGibbs",
    "even_start",
    "extreme_start",
    "soft_start",
]
