"""Units in which nothing overflows, for inputs or outputs of extreme scale.

The Variational Garrote does not depend on the scale of any column or of y, but its formulas multiply squares: b² is of
the order of x²y², w² of y²/x². So a problem with a column, or with y, of a scale beyond 2^±100 is solved in other units
and its solutions are translated back. The units are powers of two: both ways are exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from garrote.arrays import Array, Index
from garrote.design import Design

#: Columns are left alone with scales between this and its inverse: products of ten of them are finite.
EXTREME_X = 2.0**100

#: And y between this and its inverse: its residual, and their products with it, are finite in float32 too.
EXTREME_Y = 2.0**30


@dataclass(frozen=True)
class Units:
    """The unit of each column and that of y, in terms of the user's."""

    x: Array
    y: float

    def coef(self, features: Index, w: Array) -> Array:
        """Coefficients of some features in the user's units."""
        return w / self.x[features] * self.y

    def beta(self, beta: float) -> float:
        """An inverse noise variance in the user's units."""
        return beta / self.y / self.y

    def from_users_beta(self, beta: float | None) -> float | None:
        return None if beta is None else beta * self.y * self.y

    def free_energy(self, n_samples: float) -> float:
        """What the user's units add to F, which has n_samples/2 log E."""
        return n_samples * math.log(self.y)


def safe_units(chi: Array, sigma2_y: float) -> Units | None:
    """Units in which extreme variances are about one; None where those of the user will do."""
    extreme_x, extreme_y = _extreme(chi, EXTREME_X), not EXTREME_Y**-2 <= sigma2_y <= EXTREME_Y**2
    if not extreme_x and not extreme_y:
        return None
    x_unit = _power_of_two(chi) if extreme_x else np.ones(len(chi))
    y_unit = float(_power_of_two(np.array([sigma2_y]))[0]) if extreme_y else 1.0
    return None if y_unit == 1.0 and (x_unit == 1.0).all() else Units(x_unit, y_unit)


def _extreme(squares: Array, scale: float) -> bool:
    """Whether the root of any of them, unless it is zero, is beyond a scale or its inverse."""
    if squares.min() >= scale**-2 and squares.max() <= scale**2:
        return False
    return bool(((squares > scale**2) | ((squares < scale**-2) & (squares > 0.0))).any())


def _power_of_two(squares: Array) -> Array:
    """A power of two near each square root; 1 for zero."""
    exponents = np.frexp(squares)[1] // 2
    return np.ldexp(1.0, np.where(squares > 0.0, exponents, 0))


def in_units(design: Design, unit: Array) -> Design:
    """A design in other units: itself, if they are not other."""
    return design if (unit == 1.0).all() else Rescaled(design, unit)


class Rescaled(Design):
    """A design in other units."""

    def __init__(self, design: Design, unit: Array) -> None:
        self.design, self.unit = design, unit
        self.shape, self.remote = design.shape, design.remote
        self.feature_names, self.unpenalized = design.feature_names, design.unpenalized

    def transpose_dot(self, r: Array) -> Array:
        return (self.design.transpose_dot(r).T / self.unit).T

    def columns(self, features: Index) -> Array:
        return self.design.columns(features) / self.unit[features]

    def moments(self, weights: Array) -> tuple[Array, Array]:
        mean, variance = self.design.moments(weights)
        return mean / self.unit, variance / self.unit / self.unit

    def dot(self, features: Index, v: Array) -> Array:
        return self.design.dot(features, v / self.unit[features])

    def take(self, rows: Index | slice) -> Design:
        return Rescaled(self.design.take(rows), self.unit)
