"""What the library computes, in sixty digits and without limits to the exponent: the oracle for extreme numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from mpmath import mp, mpf

mp.dps = 60


class ExactMoments(NamedTuple):
    """b, χ and σ_y² of Eq. (likelihood), and the means."""

    x_mean: list
    y_mean: mpf
    b: list
    chi: list
    sigma2_y: mpf


def exact_moments(X: np.ndarray, y: np.ndarray) -> ExactMoments:
    columns = [[mpf(float(value)) for value in column] for column in np.asarray(X, dtype=np.float64).T]
    outputs = [mpf(float(value)) for value in y]
    x_mean, y_mean = [_mean(column) for column in columns], _mean(outputs)
    centred = [[value - mean for value in column] for column, mean in zip(columns, x_mean, strict=True)]
    outputs = [value - y_mean for value in outputs]
    return ExactMoments(
        x_mean,
        y_mean,
        [_product(column, outputs) for column in centred],
        [[_product(column, other) for other in centred] for column in centred],
        _product(outputs, outputs),
    )


def _mean(values: list) -> mpf:
    return mp.fsum(values) / len(values)


def _product(first: list, second: list) -> mpf:
    return mp.fsum(a * b for a, b in zip(first, second, strict=True)) / len(first)


def exact_free_energy(
    moments: ExactMoments, n_samples: int, theta: np.ndarray, gamma: float, ridge: float = 0.0
) -> mpf:
    """F at m = σ(θ), with w and β profiled out, from Eqs. (v), (beta) and (F) as they are printed."""
    n_features = len(moments.b)
    scale = [mp.sqrt(moments.chi[i][i]) for i in range(n_features)]  # of columns with unit variance, F is the same
    m = [1 / (1 + mp.exp(-mpf(float(value)))) for value in theta]
    b = [moments.b[i] / scale[i] for i in range(n_features)]
    primed = mp.matrix(n_features, n_features)
    for i in range(n_features):
        for j in range(n_features):
            primed[i, j] = moments.chi[i][j] / scale[i] / scale[j] * m[j]
        primed[i, i] = 1 + mpf(ridge)
    w = mp.lu_solve(primed, mp.matrix(b))
    noise = moments.sigma2_y - mp.fsum(m[i] * w[i] * b[i] for i in range(n_features))
    entropy = mp.fsum(p * mp.log(p) + (1 - p) * mp.log(1 - p) for p in m)
    return mpf(n_samples) / 2 * (1 + mp.log(2 * mp.pi * noise)) - mpf(gamma) * mp.fsum(m) + entropy
