# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes over a matrix whose columns are contiguous, in which each column is read from memory once.

The plain twins are garrote.background.Respond.__call__ and the slabs of garrote.design.DenseDesign.
"""

from libc.math cimport exp
from scipy.linalg.cython_blas cimport daxpy, ddot, saxpy, sdot

import numpy as np

ctypedef fused real:
    float
    double


def column_moments(const real[::1, :] X, const double[::1] weights, double[::1] mean, double[::1] variance):
    """Weighted mean and variance of each column; the second look removes the rounding of a large mean."""
    cdef int i, n = <int>X.shape[0]
    with nogil:
        for i in range(<int>X.shape[1]):
            mean[i] = weighted_sum(&X[0, i], &weights[0], n)
            mean[i] += weighted_rest(&X[0, i], &weights[0], n, mean[i], &variance[i])


cdef double weighted_sum(const real *x, const double *weights, int n) noexcept nogil:
    """Σ w x, as four sums side by side, which a processor adds at once."""
    cdef int j
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    for j in range(0, n - 3, 4):
        a += weights[j] * x[j]
        b += weights[j + 1] * x[j + 1]
        c += weights[j + 2] * x[j + 2]
        d += weights[j + 3] * x[j + 3]
    for j in range(n - n % 4, n):
        a += weights[j] * x[j]
    return (a + b) + (c + d)


cdef double weighted_rest(const real *x, const double *weights, int n, double mean, double *variance) noexcept nogil:
    """What Σ w (x − mean) is by rounding, and the variance about the corrected mean."""
    cdef int j
    cdef double rest_a = 0.0, rest_b = 0.0, squares_a = 0.0, squares_b = 0.0, a, b
    for j in range(0, n - 1, 2):
        a, b = x[j] - mean, x[j + 1] - mean
        rest_a += weights[j] * a
        rest_b += weights[j + 1] * b
        squares_a += weights[j] * a * a
        squares_b += weights[j + 1] * b * b
    if n % 2:
        a = x[n - 1] - mean
        rest_a += weights[n - 1] * a
        squares_a += weights[n - 1] * a * a
    variance[0] = squares_a + squares_b - (rest_a + rest_b) * (rest_a + rest_b)
    return rest_a + rest_b


def respond_to_columns(
    const real[::1, :] X,
    const real[::1] r,
    const double[::1] x_mean,
    const double[::1] chi,
    const unsigned char[::1] inside,
    const double[::1] own,
    const double[::1] old,
    const double[::1] prior,
    double total,
    double scale,
    double mixing,
    double kappa,
    double ridge,
    double entry,
    double[::1] c,
    double[::1] v,
    real[::1] fit,
    double[::1] sums,
):
    """c = Xᵀr centred and adjusted, v = m·w of each column, fit += X·v: each column is read from memory once."""
    cdef int i, n = <int>X.shape[0], one = 1
    cdef double corr, evidence, m, w, spread = 0.0, mass = 0.0, bernoulli = 0.0, explained = 0.0
    cdef float single
    with nogil:
        for i in range(<int>X.shape[1]):
            if real is float:
                corr = sdot(&n, <float *>&X[0, i], &one, <float *>&r[0], &one)
            else:
                corr = ddot(&n, <double *>&X[0, i], &one, <double *>&r[0], &one)
            corr += -total * x_mean[i] + chi[i] * scale * own[i]
            corr = mixing * corr + (1.0 - mixing) * old[i]
            c[i] = corr
            v[i] = 0.0
            if inside[i]:
                continue
            w = corr / chi[i]
            evidence = kappa * corr * w
            m = exp(prior[i] + evidence)
            m /= 1.0 + m
            if not m <= entry:
                continue
            w *= m / (1.0 + ridge)
            v[i] = w
            if real is float:
                single = <float>w
                saxpy(&n, &single, <float *>&X[0, i], &one, &fit[0], &one)
            else:
                daxpy(&n, &w, <double *>&X[0, i], &one, &fit[0], &one)
            explained += w * corr
            spread += w * (corr - w * chi[i])
            mass += m
            bernoulli += m * evidence - m * (1.0 + m * (0.5 + m * (1.0 / 3.0 + m * (0.25 + m * (0.2 + m / 6.0)))))
    sums[0], sums[1], sums[2], sums[3] = spread, mass, bernoulli, explained
