"""Sparse linear regression by the Variational Garrote (Kappen & Gómez)."""

__version__ = "0.1.0"
