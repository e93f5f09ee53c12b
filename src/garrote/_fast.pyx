# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled twins of the sweeps of paired mean field and Gibbs.

Each function here has a plain NumPy twin of the same signature in garrote._plain, which states the mathematics and is
the oracle of the tests. None holds the GIL while it loops.
"""

from libc.math cimport sqrt

from garrote._columns cimport dot_column, move_column, sigmoid


def pmf_sweep(
    const double[::1, :] X,
    const double[::1] sq_norms,
    const double[::1] tau,
    const double[::1] bias,
    double noise_variance,
    double[::1] residual,
    double[::1] m,
    double[::1] w,
):
    """One coordinate E-step of PMF; `residual`, `m` and `w` are updated in place."""
    cdef int i
    cdef double v
    with nogil:
        for i in range(<int>X.shape[1]):
            v = m[i] * w[i]
            w[i] = tau[i] / noise_variance * (dot_column(X, i, residual) + sq_norms[i] * v)
            m[i] = sigmoid(bias[i] + w[i] * w[i] / (2 * tau[i]))
            move_column(X, i, m[i] * w[i] - v, residual)


def gibbs_sweep(
    const double[::1, :] X,
    const double[::1] sq_norms,
    const double[::1] tau,
    const double[::1] bias,
    double noise_variance,
    double[::1] residual,
    double[::1] v,
    double[::1] inclusion,
    double[::1] mean,
    const double[::1] uniforms,
    const double[::1] normals,
):
    """One pass of the paired Gibbs sampler; `residual`, `v`, `inclusion` and `mean` are updated in place."""
    cdef int i
    cdef double drawn
    with nogil:
        for i in range(<int>X.shape[1]):
            mean[i] = tau[i] / noise_variance * (dot_column(X, i, residual) + sq_norms[i] * v[i])
            inclusion[i] = sigmoid(bias[i] + mean[i] * mean[i] / (2 * tau[i]))
            drawn = mean[i] + sqrt(tau[i]) * normals[i] if uniforms[i] < inclusion[i] else 0.0
            move_column(X, i, drawn - v[i], residual)
            v[i] = drawn
