"""Sparse linear regression by the Variational Garrote (Kappen & Gómez).

>>> from garrote import VariationalGarroteCV
>>> model = VariationalGarroteCV().fit(X, y)        # doctest: +SKIP
>>> model.inclusion_, model.coef_, model.predict(X) # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # imported when first used, so that `garrote --help` does not wait for the numerics
    from garrote import plot
    from garrote.comparators.breiman import NonNegativeGarrote
    from garrote.comparators.exact import ExactSpikeSlab
    from garrote.comparators.gibbs import SpikeSlabGibbs
    from garrote.comparators.pmf import PairedMeanField
    from garrote.estimators import VariationalGarrote, VariationalGarroteCV
    from garrote.moments import Moments
    from garrote.path import Path, garrote_path
    from garrote.solve import Solution

__version__ = "0.1.0"

#: Public names and the modules that define them.
_LAZY = {
    "ExactSpikeSlab": "garrote.comparators.exact",
    "Moments": "garrote.moments",
    "NonNegativeGarrote": "garrote.comparators.breiman",
    "PairedMeanField": "garrote.comparators.pmf",
    "Path": "garrote.path",
    "Solution": "garrote.solve",
    "SpikeSlabGibbs": "garrote.comparators.gibbs",
    "VariationalGarrote": "garrote.estimators",
    "VariationalGarroteCV": "garrote.estimators",
    "garrote_path": "garrote.path",
}

__all__ = [
    "ExactSpikeSlab",
    "Moments",
    "NonNegativeGarrote",
    "PairedMeanField",
    "Path",
    "Solution",
    "SpikeSlabGibbs",
    "VariationalGarrote",
    "VariationalGarroteCV",
    "garrote_path",
    "plot",
]


def __getattr__(name: str) -> object:
    if name == "plot":
        return import_module("garrote.plot")
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
