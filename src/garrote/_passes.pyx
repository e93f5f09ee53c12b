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
    cdef int i, j, n = <int>X.shape[0], one = 1
    cdef double first, rest
    cdef double[::1] centred = np.empty(n), weighted = np.empty(n)
    with nogil:
        for i in range(<int>X.shape[1]):
            for j in range(n):
                centred[j] = X[j, i]
            first = ddot(&n, &centred[0], &one, <double *>&weights[0], &one)
            for j in range(n):
                centred[j] = centred[j] - first
                weighted[j] = weights[j] * centred[j]
            rest = ddot(&n, &centred[0], &one, <double *>&weights[0], &one)
            mean[i] = first + rest
            variance[i] = ddot(&n, &centred[0], &one, &weighted[0], &one) - rest * rest


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
