# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What all compiled loops share: a column's dot product with a residual, its removal from it, and the sigmoid."""

from scipy.linalg.cython_blas cimport daxpy, ddot

cdef extern from "_vectors.h" nogil:
    double exponential(double x)  # e^x for x ≤ 0
    double sigmoid(double x)


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
