# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The compiled twins of the few loops that need it.

Each function here has a plain NumPy twin of the same signature, which states the mathematics and is the
oracle of the tests. None holds the GIL while it loops.
"""

from libc.math cimport exp, fabs, fmax, fmin, log, log1p, sqrt
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv, dsyrk, dtrsm
from scipy.linalg.cython_lapack cimport dpotrf, dpotrs

import numpy as np

cdef int ONE = 1


# ---- columns ------------------------------------------------------------------------------------------------

cdef inline double dot_column(const double[::1, :] X, int i, double[::1] residual) noexcept nogil:
    """x_i · r."""
    cdef int n = <int>X.shape[0]
    return ddot(&n, <double *>&X[0, i], &ONE, &residual[0], &ONE)


cdef inline void move_column(const double[::1, :] X, int i, double change, double[::1] residual) noexcept nogil:
    """r ← r − change·x_i: the residual after v_i has grown by `change`."""
    cdef int n = <int>X.shape[0]
    cdef double minus = -change
    if change != 0.0:
        daxpy(&n, &minus, <double *>&X[0, i], &ONE, &residual[0], &ONE)


cdef inline double sigmoid(double x) noexcept nogil:
    """1/(1 + e^−x), without overflow."""
    cdef double e
    if x >= 0:
        return 1.0 / (1.0 + exp(-x))
    e = exp(x)
    return e / (1.0 + e)


# ---- spike and slab: paired mean field and Gibbs ------------------------------------------------------------
# Plain twins: garrote._plain.

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


# ---- the Variational Garrote on one block -------------------------------------------------------------------
# Plain twins: garrote.energy.evaluate, garrote.energy.newton_step and garrote.minimise.minimise_plain, which explain
# each line.

cdef double NEGLIGIBLE_MASS = 1e-7
cdef double NOISE_FLOOR = 1e-20
cdef double THETA_MAX = 500.0
cdef double DECIDED = 1e-4
cdef double TRUST = 8.0
cdef double SHORTEST_STEP = 1e-4
cdef double ROUNDING = 1e-13
cdef double TWO_PI = 6.283185307179586


cdef class BlockDescent:
    """F on a block at two points, the present one and a trial, and the steps between them."""

    cdef:
        object points
        const double[::1, :] root
        const double[::1] target
        const double[:, ::1] gram
        const double[::1] chi, b, gamma
        double floor, sigma2_y, n_samples, ridge, beta
        bint has_root, fixed_beta
        int width, rows
        double[:, ::1] theta, m, w, v, goal, chol
        int[:, ::1] on
        double noise[2]
        double free_energy[2]
        double residual[2]
        int n_on[2]
        int at
        double[::1] c, e, s, slack, u, work, step, t, a
        double[::1] inverse, hessian
        int[::1] local
        public int n_iter, n_factorizations
        public bint converged

    def __init__(self, root, target, gram, chi, b, double floor, double sigma2_y, double n_samples):
        cdef int width = len(chi)
        self.has_root = root is not None
        self.root = root if self.has_root else np.empty((0, width), order="F")
        self.target = target if self.has_root else np.empty(0)
        self.gram, self.chi, self.b = gram, chi, b
        self.floor, self.sigma2_y, self.n_samples = floor, sigma2_y, n_samples
        self.width, self.rows = width, self.root.shape[0]
        self.points = np.empty((5, 2, width))
        self.theta, self.m, self.w, self.v, self.goal = self.points
        self.on = np.empty((2, width), dtype=np.intc)
        self.chol = np.empty((2, width * width))
        self.inverse, self.hessian = np.empty(width * width), np.empty(width * width)
        vectors = np.empty((8, width))
        self.c, self.s, self.slack, self.u = vectors[0], vectors[1], vectors[2], vectors[3]
        self.work, self.step, self.t, self.a = vectors[4], vectors[5], vectors[6], vectors[7]
        self.e = np.empty(self.rows)
        self.local = np.empty(width, dtype=np.intc)

    def result(self):
        """θ, m, w, v, the goal γ + (βn/2) w² d, the noise 1/β, F and the fixed-point residual at the present point."""
        k = self.at
        return (*self.points[:, k].copy(), self.noise[k], self.free_energy[k], self.residual[k])

    def run(
        self, const double[::1] theta, const double[::1] gamma, double ridge, beta, double tol, int max_iter, double most
    ):
        """Descend from θ; F at the start and after each accepted step."""
        cdef int i
        self.gamma, self.ridge = gamma, ridge
        self.fixed_beta = beta is not None
        self.beta = beta if self.fixed_beta else 0.0
        energies = np.empty(max_iter + 1)
        cdef double[::1] trace = energies
        with nogil:
            self.at = 0
            self.n_iter, self.n_factorizations = 0, 0
            for i in range(self.width):
                self.theta[0, i] = theta[i]
            self.evaluate(0)
            trace[0] = self.free_energy[0]
            while True:
                self.converged = self.residual[self.at] <= tol
                if self.converged or self.n_iter >= max_iter or self.selected() > most:
                    break
                if not self.descend():
                    self.converged = True
                    break
                self.n_iter += 1
                trace[self.n_iter] = self.free_energy[self.at]
        return energies[: self.n_iter + 1]

    cdef int selected(self) noexcept nogil:
        cdef int i, count = 0
        for i in range(self.width):
            count += self.theta[self.at, i] > 0.0
        return count

    cdef bint descend(self) noexcept nogil:
        cdef int i, k = self.at
        cdef double length = 1.0
        self.newton(k)
        for i in range(self.width):
            self.step[i] = fmin(fmax(self.step[i], -TRUST), TRUST)
        if self.attempt(1.0):
            return True
        for i in range(self.width):
            self.step[i] = self.goal[k, i] - self.theta[k, i]
        while length >= SHORTEST_STEP:
            if self.attempt(length):
                return True
            length *= 0.5
        return False

    cdef bint attempt(self, double length) noexcept nogil:
        cdef int i, k = self.at, trial = 1 - self.at
        for i in range(self.width):
            self.theta[trial, i] = self.theta[k, i] + length * self.step[i]
        self.evaluate(trial)
        if self.free_energy[trial] <= self.free_energy[k] or (
            self.free_energy[trial] - self.free_energy[k] <= self.rounding_error(k)
            and self.residual[trial] < self.residual[k]
        ):
            self.at = trial
            return True
        return False

    cdef void fit(self, int k, bint all_features, double *least_squares) noexcept nogil:
        """⟨(y − x·v)²⟩ for v = s·u on the features in the system, and c of these or of all features."""
        cdef int i, j, p, n = self.n_on[k]
        cdef double one = 1.0, zero = 0.0, total, value
        if self.has_root:
            for i in range(self.rows):
                self.e[i] = self.target[i]
            for p in range(n):
                move_column(self.root, self.on[k, p], self.s[p] * self.u[p], self.e)
            total = self.floor
            for i in range(self.rows):
                total += self.e[i] * self.e[i]
            least_squares[0] = total
            if all_features:
                dgemv("T", &self.rows, &self.width, &one, <double *>&self.root[0, 0], &self.rows, &self.e[0], &ONE, &zero,
                      &self.c[0], &ONE)
            else:
                for p in range(n):
                    self.c[self.on[k, p]] = dot_column(self.root, self.on[k, p], self.e)
            return
        for i in range(self.width):
            self.c[i] = self.b[i]
        for p in range(n):
            value = -self.s[p] * self.u[p]
            daxpy(&self.width, &value, <double *>&self.gram[self.on[k, p], 0], &ONE, &self.c[0], &ONE)
        total = self.sigma2_y
        for p in range(n):
            j = self.on[k, p]
            total -= self.s[p] * self.u[p] * (self.b[j] + self.c[j])
        least_squares[0] = total

    cdef void factorize(self, int k) noexcept nogil:
        """The Cholesky factor of M = S χ S + diag(slack), lower, column by column."""
        cdef int p, q, info, tries, n = self.n_on[k]
        cdef double *L = &self.chol[k, 0]
        cdef double jitter = 0.0
        for tries in range(3):
            for p in range(n):
                for q in range(p, n):
                    L[p * n + q] = self.gram[self.on[k, p], self.on[k, q]] * self.s[p] * self.s[q]
                L[p * n + p] = (L[p * n + p] + self.slack[p]) * (1.0 + jitter)
            dpotrf("L", &n, L, &n, &info)
            if info == 0:
                return
            jitter = 1e-12 if tries == 0 else 1e-9

    cdef void evaluate(self, int k) noexcept nogil:
        """F and all that belongs to it at the k-th point's θ."""
        cdef int i, p, n = 0, info
        cdef double d, total, least_squares, beta, share = NEGLIGIBLE_MASS / self.width
        cdef double heaviest = -1.0
        cdef int heaviest_at = 0
        self.n_factorizations += 1
        for i in range(self.width):
            self.m[k, i] = sigmoid(self.theta[k, i])
            self.v[k, i] = 0.0
            if self.m[k, i] > share:
                self.on[k, n] = i
                n += 1
            if self.m[k, i] > heaviest:
                heaviest, heaviest_at = self.m[k, i], i
        if n == 0:
            self.on[k, 0] = heaviest_at
            n = 1
        self.n_on[k] = n
        for p in range(n):
            i = self.on[k, p]
            self.s[p] = sqrt(self.m[k, i])
            self.slack[p] = self.chi[i] * (1.0 + self.ridge - self.m[k, i])
            self.u[p] = self.s[p] * self.b[i]
        self.factorize(k)
        dpotrs("L", &n, &ONE, &self.chol[k, 0], &n, &self.u[0], &n, &info)
        self.fit(k, False, &least_squares)
        for p in range(n):
            self.work[p] = self.s[p] * self.c[self.on[k, p]] - self.slack[p] * self.u[p]
        dpotrs("L", &n, &ONE, &self.chol[k, 0], &n, &self.work[0], &n, &info)
        for p in range(n):
            self.u[p] += self.work[p]
        self.fit(k, True, &least_squares)
        total = least_squares
        for p in range(n):
            self.v[k, self.on[k, p]] = self.s[p] * self.u[p]
            total += self.slack[p] * self.u[p] * self.u[p]
        for i in range(self.width):
            d = self.chi[i] * (1.0 + self.ridge)
            self.w[k, i] = (self.c[i] + self.chi[i] * self.v[k, i]) / d
        if n < self.width:
            p = 0
            for i in range(self.width):
                if p < n and self.on[k, p] == i:
                    p += 1
                else:
                    self.v[k, i] = self.m[k, i] * self.w[k, i]
                    total -= self.v[k, i] * self.c[i]
        self.noise[k] = total
        beta = self.precision(k)
        self.free_energy[k] = 0.5 * self.n_samples * (log(TWO_PI / beta) + beta * total)
        self.residual[k] = 0.0
        for i in range(self.width):
            d = self.chi[i] * (1.0 + self.ridge)
            self.goal[k, i] = fmin(self.gamma[i] + 0.5 * beta * self.n_samples * self.w[k, i] * self.w[k, i] * d, THETA_MAX)
            self.residual[k] = fmax(self.residual[k], fabs(sigmoid(self.goal[k, i]) - self.m[k, i]))
            self.free_energy[k] += (
                self.m[k, i] * (self.theta[k, i] - self.gamma[i])
                - fmax(self.theta[k, i], 0.0) - log1p(exp(-fabs(self.theta[k, i])))
            )

    cdef double rounding_error(self, int k) noexcept nogil:
        cdef double good = self.sigma2_y / fmax(self.noise[k], NOISE_FLOOR * self.sigma2_y)
        return ROUNDING * (1.0 + fabs(self.free_energy[k]) + 0.01 * self.n_samples * sqrt(good))

    cdef double precision(self, int k) noexcept nogil:
        return self.beta if self.fixed_beta else 1.0 / fmax(self.noise[k], NOISE_FLOOR * self.sigma2_y)

    cdef void newton(self, int k) noexcept nogil:
        """The step in θ: Newton's on the undecided features, the fixed-point step on the others."""
        cdef int i, p, q, n = self.n_on[k], undecided = 0, info
        cdef double beta = self.precision(k)
        cdef double one = 1.0, zero = 0.0, spread, d, rank_one
        for i in range(self.width):
            self.step[i] = self.goal[k, i] - self.theta[k, i]
        for p in range(n):
            i = self.on[k, p]
            spread = self.m[k, i] * sigmoid(-self.theta[k, i])
            if spread > DECIDED:
                self.local[undecided] = p
                self.t[undecided] = sqrt(spread)
                d = self.chi[i] * (1.0 + self.ridge)
                self.a[undecided] = self.w[k, i] * d / sqrt(self.m[k, i])
                undecided += 1
        if undecided == 0:
            return
        # M⁻¹ on the undecided features: with X = L⁻¹E it is XᵀX
        for p in range(undecided):
            for q in range(n):
                self.inverse[p * n + q] = 0.0
            self.inverse[p * n + self.local[p]] = 1.0
        dtrsm("L", "L", "N", "N", &n, &undecided, &one, &self.chol[k, 0], &n, &self.inverse[0], &n)
        dsyrk("L", "T", &undecided, &n, &one, &self.inverse[0], &n, &zero, &self.hessian[0], &undecided)
        rank_one = 0.5 * self.n_samples
        if self.fixed_beta or self.noise[k] <= NOISE_FLOOR * self.sigma2_y:
            rank_one = 0.0
        for p in range(undecided):
            i = self.on[k, self.local[p]]
            d = self.chi[i] * (1.0 + self.ridge)
            self.work[p] = beta * self.w[k, i] * self.w[k, i] * d
        for p in range(undecided):
            for q in range(p, undecided):
                self.hessian[p * undecided + q] = self.t[p] * self.t[q] * (
                    -beta * self.n_samples * self.a[p] * self.a[q] * self.hessian[p * undecided + q]
                    - rank_one * self.work[p] * self.work[q]
                )
            i = self.on[k, self.local[p]]
            d = self.chi[i] * (1.0 + self.ridge)
            self.hessian[p * undecided + p] += 1.0 + self.t[p] * self.t[p] * beta * self.n_samples * self.a[p] * self.a[p] / d
        dpotrf("L", &undecided, &self.hessian[0], &undecided, &info)
        if info != 0:
            return
        for p in range(undecided):
            self.u[p] = self.t[p] * self.step[self.on[k, self.local[p]]]
        dpotrs("L", &undecided, &ONE, &self.hessian[0], &undecided, &self.u[0], &undecided, &info)
        for p in range(undecided):
            self.step[self.on[k, self.local[p]]] = self.u[p] / self.t[p]
