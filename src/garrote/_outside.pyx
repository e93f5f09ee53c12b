# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What is asked of all features outside the working set, which may be very many, and of the bins of their histogram.

The plain twins are in garrote._plain_outside.
"""

from libc.math cimport exp, fabs, fmin

import numpy as np

from garrote import _plain_outside

cdef extern from "_vectors.h" nogil:
    double largest_product(int n, const double *x, const double *y)
    void count_included(
        int n, double gamma, double kappa, double moved, const double *z, const double *weight, double *inclusion,
        double *mass, double *evidence,
    )

cdef double MOST_LIKELY = _plain_outside.MOST_LIKELY


def bin_correlations(
    const double[::1] c,
    const double[::1] inverse_norm,
    const double[::1] prior_log_odds,
    const Py_ssize_t[::1] inside,
    double[::1] counts,
    double least,
):
    """Add exp(prior log odds) of each feature outside to the bin of its z = |c|/√χ_ii; returns the width of a bin.

    The largest z is the centre of the last bin; if it is not above ``least``, all are as good as zero.
    """
    cdef Py_ssize_t i, p, first = 0, end
    cdef Py_ssize_t n_bins = counts.shape[0]
    cdef double largest = 0.0, width, weight = 1.0
    with nogil:
        for p in range(inside.shape[0] + 1):
            end = inside[p] if p < inside.shape[0] else c.shape[0]
            if end > first:
                largest = max(largest, largest_product(<int>(end - first), &c[first], &inverse_norm[first]))
            first = end + 1
        width = (largest if largest > least else 1.0) / (n_bins - 0.5)
        first = 0
        for p in range(inside.shape[0] + 1):
            end = inside[p] if p < inside.shape[0] else c.shape[0]
            for i in range(first, end):
                if prior_log_odds is not None:
                    weight = exp(fmin(prior_log_odds[i], MOST_LIKELY))
                counts[<Py_ssize_t>(fabs(c[i]) * inverse_norm[i] / width)] += weight
            first = end + 1
    return width


def likeliest(
    const double[:] c,
    const double[::1] inverse_norm,
    const double[::1] prior_log_odds,
    const Py_ssize_t[::1] inside,
    double kappa,
    double above,
    int most,
):
    """The features outside with κz² + prior log odds above a bound, or so many of them that have the most; ascending."""
    cdef Py_ssize_t i, p, first = 0, end
    cdef int size = 0
    cdef double value, z
    cdef double[::1] values = np.empty(most)
    features = np.empty(most, dtype=np.intp)
    cdef Py_ssize_t[::1] heap = features
    with nogil:
        for p in range(inside.shape[0] + 1):
            end = inside[p] if p < inside.shape[0] else c.shape[0]
            for i in range(first, end):
                z = fabs(c[i]) * inverse_norm[i]
                value = kappa * (z * z)
                if prior_log_odds is not None:
                    value += prior_log_odds[i]
                if value > above:
                    if size < most:
                        size += 1
                        rise(size - 1, value, i, &values[0], &heap[0])
                    else:
                        sink(most, value, i, &values[0], &heap[0])
                    if size == most:
                        above = values[0]
            first = end + 1
    return np.sort(features[:size])


cdef void rise(int at, double value, Py_ssize_t feature, double *values, Py_ssize_t *heap) noexcept nogil:
    """Put another one into a heap whose least value is the first, from its end."""
    cdef int parent
    while at > 0:
        parent = (at - 1) // 2
        if values[parent] <= value:
            break
        values[at], heap[at] = values[parent], heap[parent]
        at = parent
    values[at], heap[at] = value, feature


cdef void sink(int size, double value, Py_ssize_t feature, double *values, Py_ssize_t *heap) noexcept nogil:
    """Put another one into a heap in place of the least."""
    cdef int at = 0, child
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[at], heap[at] = values[child], heap[child]
        at = child
    values[at], heap[at] = value, feature


def inclusions(
    const double[::1] z, const double[::1] weight, double gamma, double kappa, double moved, double[::1] inclusion
):
    """The inclusion of a feature in each bin if its z has grown by ``moved``; their sum, and that of m z²."""
    cdef double mass = 0.0, evidence = 0.0
    if z.shape[0]:
        count_included(<int>z.shape[0], gamma, kappa, moved, &z[0], &weight[0], &inclusion[0], &mass, &evidence)
    return mass, evidence
