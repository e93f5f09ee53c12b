"""Sparse linear regression by the Variational Garrote (Kappen & Gómez).

>>> from garrote import VariationalGarroteCV
>>> model = VariationalGarroteCV().fit(X, y)        # doctest: +SKIP
>>> model.inclusion_, model.coef_, model.predict(X) # doctest: +SKIP
"""

from importlib import import_module

from garrote.estimators import VariationalGarrote, VariationalGarroteCV
from garrote.path import Path, garrote_path
from garrote.problem import Moments
from garrote.solve import Solution

__version__ = "0.1.0"

#: Public names that are imported when first used, and the modules that define them.
_LAZY = {
    "ExactSpikeSlab": "garrote.comparators.exact",
    "NonNegativeGarrote": "garrote.comparators.breiman",
    "PairedMeanField": "garrote.comparators.pmf",
    "SpikeSlabGibbs": "garrote.comparators.gibbs",
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
]


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return __all__
