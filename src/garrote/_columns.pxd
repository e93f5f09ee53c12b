# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What all compiled loops share: a column's dot product with a residual, and its removal from it."""

from libc.math cimport fabs
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, ddot


cdef inline double dot_column(const double[::1, :] X, int i, double[::1] residual) noexcept nogil:
    """x_i · r."""
    cdef int n = <int>X.shape[0], one = 1
    return ddot(&n, <double *>&X[0, i], &one, &residual[0], &one)


cdef inline void move_column(const double[::1, :] X, int i, double change, double[::1] residual) noexcept nogil:
    """r ← r − change·x_i: the residual after v_i has grown by `change`."""
    cdef int n = <int>X.shape[0], one = 1
    cdef double minus = -change
    if change != 0.0:
        daxpy(&n, &minus, <double *>&X[0, i], &one, &residual[0], &one)


cdef inline double exponential(double x) noexcept nogil:
    """e^x for x ≤ 0, to the last digit or two. Inline, so that those of several features are computed side by side."""
    cdef double shifted = x * 1.4426950408889634 + 6755399441055744.0  # its last bits are those of round(x/log 2)
    cdef double n = shifted - 6755399441055744.0
    cdef double r = (x - n * 0.6931471803691238) - n * 1.9082149292705877e-10
    cdef double r2 = r * r, r4 = r2 * r2, power
    cdef long long bits
    if x < -708.0:
        return 0.0
    memcpy(&bits, &shifted, 8)
    bits = (bits + 1023) << 52
    memcpy(&power, &bits, 8)
    return power * (
        ((1.0 + r) + r2 * (0.5 + r * (1.0 / 6.0)))
        + r4 * ((1.0 / 24.0 + r * (1.0 / 120.0)) + r2 * (1.0 / 720.0 + r * (1.0 / 5040.0)))
        + (r4 * r4) * (
            (1.0 / 40320.0 + r * (1.0 / 362880.0))
            + r2 * (1.0 / 3628800.0 + r * (1.0 / 39916800.0))
            + r4 * (1.0 / 479001600.0 + r * (1.0 / 6227020800.0))
        )
    )


cdef inline double sigmoid(double x) noexcept nogil:
    """1/(1 + e^−x), without overflow."""
    cdef double e = exponential(-fabs(x)), larger = 1.0 / (1.0 + e)
    return larger if x >= 0.0 else e * larger
