"""Sparse linear regression by the Variational Garrote (Kappen & Gómez)."""

from importlib import import_module

__version__ = "0.1.0"

#: Public names and the modules that define them, imported when first used.
_HOME = {
    "ExactSpikeSlab": "garrote.comparators.exact",
    "NonNegativeGarrote": "garrote.comparators.breiman",
    "PairedMeanField": "garrote.comparators.pmf",
    "SpikeSlabGibbs": "garrote.comparators.gibbs",
}

__all__ = ["ExactSpikeSlab", "NonNegativeGarrote", "PairedMeanField", "SpikeSlabGibbs", "__version__"]


def __getattr__(name: str) -> object:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return __all__
