# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What every drop, add and swap would do to F, compiled; :class:`garrote.exchange.Screen` is the oracle."""

from libc.math cimport exp, fmax, log, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport ddot, dsymm
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

import numpy as np

cdef int ONE = 1
cdef double NOISE_FLOOR = 1e-20
#: A Cholesky factor with a smaller diagonal, of columns scaled to one, is that of copies.
cdef double COPIES = 1e-7

cdef void begin(Best *best, int most) noexcept nogil:
    best.most, best.size, best.worst = most, 0, 1e300


cdef void offer(Best *best, double value, int drop, int add) noexcept nogil:
    cdef int p
    if not value < best.worst:
        return
    if best.size < best.most:
        best.size += 1
    p = best.size - 1
    while p > 0 and best.value[p - 1] > value:
        best.value[p], best.drop[p], best.add[p] = best.value[p - 1], best.drop[p - 1], best.add[p - 1]
        p -= 1
    best.value[p], best.drop[p], best.add[p] = value, drop, add
    if best.size == best.most:
        best.worst = best.value[best.most - 1]


def check_most(int most):
    if most > LARGEST:
        raise ValueError(f"the best {most} moves are asked for; ask for {LARGEST} at most.")


cdef class BlockScreen:
    """The screening of one Block, with its working memory; the formulas are those of garrote.exchange."""

    def __init__(self, gram, chi, b, double sigma2_y, double n_samples):
        cdef int width = len(chi)
        self.gram, self.chi, self.b = gram, chi, b
        self.sigma2_y, self.n_samples, self.width = sigma2_y, n_samples, width
        self.on, self.off = np.empty((2, width), dtype=np.intc)
        self.gamma, self.v, self.c, self.s, self.loss, self.slope, self.inverse_P_ii, self.scale = np.empty((8, width))
        self.P, self.G, self.cross = np.empty(0), np.empty(0), np.empty(0)

    def look(self, const double[::1] theta, const double[::1] gamma, double ridge):
        """Prepare for a solution's θ; False where selected columns are copies, or almost."""
        with nogil:
            inverted = self.look_at(&theta[0], &gamma[0], ridge)
        return bool(inverted)

    cdef int look_at(self, const double *theta, const double *gamma, double ridge) except -1 nogil:
        memcpy(&self.gamma[0], gamma, self.width * sizeof(double))
        self.reserve(self.split(theta))
        if not self.invert(theta, ridge):
            return False
        self.measure(ridge)
        return True

    cdef int reserve(self, int n_on) except -1 nogil:
        """Memory for so many selected features."""
        if n_on * n_on > self.P.shape[0] or n_on * (self.width - n_on) > self.G.shape[0]:
            with gil:
                self.P = np.empty(max(n_on * n_on, <int>self.P.shape[0]))
                self.G, self.cross = np.empty((2, max(n_on * (self.width - n_on), <int>self.G.shape[0])))
        return 0

    cdef int split(self, const double *theta) noexcept nogil:
        """Which features are selected; how many."""
        cdef int i
        self.n_on = self.n_off = 0
        for i in range(self.width):
            if theta[i] > 0.0:
                self.on[self.n_on] = i
                self.n_on += 1
            else:
                self.off[self.n_off] = i
                self.n_off += 1
        return self.n_on

    cdef bint invert(self, const double *theta, double ridge) noexcept nogil:
        """P = (χ_OO + diag(d/m − χ))⁻¹, both triangles."""
        cdef int i, p, q, info, n = self.n_on
        cdef double least = 1.0
        if n == 0:
            return True
        for p in range(n):
            i = self.on[p]
            self.P[p * n + p] = self.gram[i, i] - self.chi[i] + self.chi[i] * (1.0 + ridge) * (1.0 + exp(-theta[i]))
            self.scale[p] = 1.0 / sqrt(self.P[p * n + p])
        for p in range(n):
            for q in range(p, n):
                if q > p:
                    self.P[p * n + q] = self.gram[self.on[p], self.on[q]]
                self.P[p * n + q] *= self.scale[p] * self.scale[q]
        dpotrf("L", &n, &self.P[0], &n, &info)
        for p in range(n):
            least = min(least, self.P[p * n + p])
        if info != 0 or least < COPIES:
            return False
        dpotri("L", &n, &self.P[0], &n, &info)
        for p in range(n):
            for q in range(p, n):
                self.P[p * n + q] *= self.scale[p] * self.scale[q]
                self.P[q * n + p] = self.P[p * n + q]
        return True

    cdef void measure(self, double ridge) noexcept nogil:
        """v, the loss of every drop, and of every feature that is off c, s and its row of G = χP."""
        cdef int i, j, p, q, n = self.n_on, off = self.n_off
        cdef double one = 1.0, zero = 0.0, explained = 0.0, d, total
        for p in range(n):
            total = 0.0
            for q in range(n):
                total += self.P[p * n + q] * self.b[self.on[q]]
            self.v[p] = total
            explained += total * self.b[self.on[p]]
            self.inverse_P_ii[p] = 1.0 / fmax(self.P[p * n + p], 1e-300)
            self.slope[p] = total * self.inverse_P_ii[p]
            self.loss[p] = total * self.slope[p]
        self.noise = fmax(self.sigma2_y - explained, NOISE_FLOOR * self.sigma2_y)
        for j in range(off):
            for p in range(n):
                self.cross[j * n + p] = self.gram[self.off[j], self.on[p]]
        if n and off:  # column by column, that is Gᵀ = P crossᵀ
            dsymm("L", "L", &n, &off, &one, &self.P[0], &n, &self.cross[0], &n, &zero, &self.G[0], &n)
        for j in range(off):
            i, d = self.off[j], self.chi[self.off[j]] * (1.0 + ridge)
            self.c[j], self.s[j] = self.b[i], d
            if n:
                self.c[j] -= ddot(&n, &self.cross[j * n], &ONE, &self.v[0], &ONE)
                self.s[j] -= ddot(&n, &self.cross[j * n], &ONE, &self.G[j * n], &ONE)
            self.s[j] = fmax(self.s[j], 1e-12 * d)

    cdef double energy(self, double explained) noexcept nogil:
        """The likelihood's part of the change of F, when so much more variance is explained."""
        return 0.5 * self.n_samples * log(fmax(1.0 - explained / self.noise, 1e-300))

    def best(self, int most, bint adds, bint swaps):
        """The changes of F, drops and adds (−1: none) of the best moves, best first."""
        cdef Best found
        check_most(most)
        self.find_best(&found, most, adds, swaps)
        cut = range(found.size)
        return (
            np.array([found.value[p] for p in cut]),
            np.array([found.drop[p] for p in cut], dtype=np.intp),
            np.array([found.add[p] for p in cut], dtype=np.intp),
        )

    cdef void find_best(self, Best *found, int most, bint adds, bint swaps) noexcept nogil:
        cdef int p, j
        cdef Best swapped
        begin(found, most)
        for p in range(self.n_on):
            offer(found, self.energy(-self.loss[p]) + self.gamma[self.on[p]], self.on[p], -1)
        if adds:
            for j in range(self.n_off):
                offer(found, self.energy(self.c[j] * self.c[j] / self.s[j]) - self.gamma[self.off[j]], -1, self.off[j])
        if swaps:
            self.find_swaps(&swapped, most, NULL)
            for p in range(swapped.size):
                offer(found, swapped.value[p], swapped.drop[p], swapped.add[p])

    def best_swap(self, int most, const unsigned char[::1] touched):
        """The change of F, drop and add of the best of the ``most`` swaps that explain most; None if there is none."""
        cdef Best found
        check_most(most)
        return (found.value[0], found.drop[0], found.add[0]) if self.find_swap(&found, most, &touched[0]) else None

    cdef bint find_swap(self, Best *found, int most, const unsigned char *touched) noexcept nogil:
        cdef Best swapped
        cdef int p
        self.find_swaps(&swapped, most, touched)
        begin(found, 1)
        for p in range(swapped.size):
            offer(found, swapped.value[p], swapped.drop[p], swapped.add[p])
        return found.size > 0

    cdef void find_swaps(self, Best *found, int most, const unsigned char *touched) noexcept nogil:
        """The swaps of untouched features that explain most, with their changes of F."""
        cdef int j, p, n = self.n_on
        cdef double g, add, s
        begin(found, most)
        for j in range(self.n_off):
            if touched != NULL and touched[self.off[j]]:
                continue
            for p in range(n):
                if touched != NULL and touched[self.on[p]]:
                    continue
                g = self.G[j * n + p]
                add = self.c[j] + g * self.slope[p]
                s = self.s[j] + g * g * self.inverse_P_ii[p]
                if add * add > (self.loss[p] - found.worst) * s:  # most are not among the best: spare the division
                    offer(found, self.loss[p] - add * add / s, p, j)
        for p in range(found.size):
            found.value[p] = self.energy(-found.value[p])
            found.drop[p], found.add[p] = self.on[found.drop[p]], self.off[found.add[p]]
            found.value[p] += self.gamma[found.drop[p]] - self.gamma[found.add[p]]
