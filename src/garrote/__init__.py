"""Sparse linear regression by the Variational Garrote (Kappen & Gómez).

>>> from garrote import VariationalGarroteCV
>>> model = VariationalGarroteCV().fit(X, y)        # doctest: +SKIP
>>> model.inclusion_, model.coef_, model.predict(X) # doctest: +SKIP
"""

from garrote.estimators import VariationalGarrote, VariationalGarroteCV
from garrote.path import Path, garrote_path
from garrote.problem import Moments
from garrote.solve import Solution, solve

__version__ = "0.1.0"

__all__ = [
    "Moments",
    "Path",
    "Solution",
    "VariationalGarrote",
    "VariationalGarroteCV",
    "garrote_path",
    "solve",
]
