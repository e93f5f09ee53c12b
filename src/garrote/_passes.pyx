# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""Passes over a matrix whose columns are contiguous, in which each column is read from memory once.

The plain twins are garrote.background.Respond.__call__ and the slabs of garrote.design.DenseDesign.
"""

from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv, saxpy, sdot, sgemv

import numpy as np

cdef extern from "_vectors.h" nogil:
    void respond(
        int n, double total, double scale, double mixing, double kappa, double ridge, double entry,
        const double *products, const double *x_mean, const double *chi, const unsigned char *inside,
        const double *own, const double *old, const double *prior, double *c, double *v, double *sums,
    )
    void moments_single(
        int n, const float *x, const double *weights, const double *e, double total, double *mean, double *variance,
        double *product,
    )
    void moments_double(
        int n, const double *x, const double *weights, const double *e, double total, double *mean, double *variance,
        double *product,
    )
    void centre(int n, int n_columns, const double *mean, const double *scale, double *columns)
    void fetch_ahead(const void *from_, size_t size)

ctypedef fused real:
    float
    double

#: Columns that are worked on together, while they are in the processor's cache.
cdef enum:
    PANEL = 32

#: Columns of more rows do not stay in the cache; their moments are added up from those of chunks that do.
cdef int LONG = 1 << 16
cdef int CHUNK = 4096

#: Shorter columns are multiplied one by one: BLAS takes longer to begin with a matrix.
cdef int SHORT = 32


cdef inline void moments(
    int n, const real *x, const double *weights, const double *e, double total, double *mean, double *variance,
    double *product,
) noexcept nogil:
    if real is float:
        moments_single(n, x, weights, e, total, mean, variance, product)
    else:
        moments_double(n, x, weights, e, total, mean, variance, product)


def column_moments(
    const real[::1, :] X,
    const double[::1] weights,
    const double[::1] e,
    double[::1] mean,
    double[::1] variance,
    double[::1] products,
):
    """Weighted mean and variance of each column, and of the centred column the product with e, unless that is None.

    The weights sum to one. Each column is looked at twice, for its mean and for what lies about it.
    """
    cdef int i, j, n = <int>X.shape[0]
    cdef const double *residual = NULL
    cdef double total = 0.0, unused
    if n > LONG:
        long_column_moments(X, weights, e, mean, variance, products)
        return
    if e is not None:
        residual = &e[0]
        for i in range(n):
            total += e[i]
    with nogil:
        for j in range(<int>X.shape[1]):
            moments(
                n, &X[0, j], &weights[0], residual, total, &mean[j], &variance[j],
                &unused if residual == NULL else &products[j],
            )


cdef long_column_moments(
    const real[::1, :] X,
    const double[::1] weights,
    const double[::1] e,
    double[::1] mean,
    double[::1] variance,
    double[::1] products,
):
    """The same, chunk by chunk, so that the second look finds it in the cache; chunks add up as parts of the samples."""
    cdef int i, j, first = 0, size, n = <int>X.shape[0]
    cdef const double *residual = NULL
    cdef double before = 0.0, before_e = 0.0, weight, total, m, about, product = 0.0, away, moved
    cdef double[::1] share = np.empty(CHUNK)
    mean[:] = 0.0
    variance[:] = 0.0
    if e is not None:
        products[:] = 0.0
    with nogil:
        while first < n:
            size, weight, total = min(CHUNK, n - first), 0.0, 0.0
            for i in range(size):
                weight += weights[first + i]
            for i in range(size):
                share[i] = weights[first + i] / weight if weight > 0.0 else 1.0 / size
            if e is not None:
                residual = &e[first]
                for i in range(size):
                    total += residual[i]
            for j in range(<int>X.shape[1]):
                moments(size, &X[first, j], &share[0], residual, total, &m, &about, &product)
                away = m - mean[j]
                moved = away * (weight / (before + weight)) if weight > 0.0 else 0.0
                variance[j] += weight * about + before * away * moved
                if residual != NULL:
                    products[j] += product + total * (away - moved) - before_e * moved
                mean[j] += moved
            first, before, before_e = first + size, before + weight, before_e + total


def centre_columns(double[::1, :] columns, const double[::1] mean, const double[::1] scale):
    """Columns less their means, each row times its scale, in place."""
    if columns.shape[0] and columns.shape[1]:
        with nogil:
            centre(<int>columns.shape[0], <int>columns.shape[1], &mean[0], &scale[0], &columns[0, 0])


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
    cdef int j, panel, first, width, n = <int>X.shape[0], n_columns = <int>X.shape[1]
    cdef real products[PANEL]
    cdef double exact[PANEL]
    sums[0] = sums[1] = sums[2] = sums[3] = 0.0
    with nogil:
        for panel in range((n_columns + PANEL - 1) // PANEL):
            first = panel * PANEL
            width = min(PANEL, n_columns - first)
            transpose_dot(n, width, &X[0, first], &r[0], products)
            if first + width < n_columns:
                fetch_ahead(&X[0, first + width], n * min(PANEL, n_columns - first - width) * sizeof(real))
            for j in range(width):
                exact[j] = products[j]
            respond(
                width, total, scale, mixing, kappa, ridge, entry, exact, &x_mean[first], &chi[first], &inside[first],
                &own[first], &old[first], &prior[first], &c[first], &v[first], &sums[0],
            )
            for j in range(width):
                products[j] = <real>v[first + j]
            add_dot(n, width, &X[0, first], products, &fit[0])


cdef void transpose_dot(int n, int width, const real *X, const real *r, real *out) noexcept nogil:
    """Xᵀr of a few columns."""
    cdef int j, one = 1
    cdef real unit = 1.0, zero = 0.0
    if n >= SHORT:
        if real is float:
            sgemv("T", &n, &width, &unit, <float *>X, &n, <float *>r, &one, &zero, out, &one)
        else:
            dgemv("T", &n, &width, &unit, <double *>X, &n, <double *>r, &one, &zero, out, &one)
        return
    for j in range(width):
        if real is float:
            out[j] = sdot(&n, <float *>X + j * n, &one, <float *>r, &one)
        else:
            out[j] = ddot(&n, <double *>X + j * n, &one, <double *>r, &one)


cdef void add_dot(int n, int width, const real *X, real *v, real *out) noexcept nogil:
    """out += X·v of a few columns."""
    cdef int j, one = 1
    cdef real unit = 1.0
    if n >= SHORT:
        if real is float:
            sgemv("N", &n, &width, &unit, <float *>X, &n, v, &one, &unit, out, &one)
        else:
            dgemv("N", &n, &width, &unit, <double *>X, &n, v, &one, &unit, out, &one)
        return
    for j in range(width):
        if real is float:
            saxpy(&n, &v[j], <float *>X + j * n, &one, out, &one)
        else:
            daxpy(&n, &v[j], <double *>X + j * n, &one, out, &one)
