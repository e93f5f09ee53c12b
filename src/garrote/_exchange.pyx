# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What every drop, add and swap would do to F, compiled; :class:`garrote.exchange.Screen` is the oracle."""

from libc.math cimport exp, fmax, log, sqrt
from scipy.linalg.cython_blas cimport ddot, dsymm
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

import numpy as np

cdef int ONE = 1
cdef double NOISE_FLOOR = 1e-20
#: A Cholesky factor with a smaller diagonal, of columns scaled to one, is that of copies.
cdef double COPIES = 1e-7

cdef enum:
    LARGEST = 16  # so many moves are kept at most


cdef class BlockScreen:
    """The screening of one Block, with its working memory; the formulas are those of garrote.exchange."""

    cdef:
        const double[:, ::1] gram
        const double[::1] chi, b, gamma
        double sigma2_y, n_samples
        readonly double noise
        int width, n_on, n_off
        int[::1] on, off
        double[::1] P, G, cross, v, c, s, loss, slope, inverse_P_ii, scale

    def __init__(self, gram, chi, b, double sigma2_y, double n_samples):
        cdef int width = len(chi)
        self.gram, self.chi, self.b = gram, chi, b
        self.sigma2_y, self.n_samples, self.width = sigma2_y, n_samples, width
        self.on, self.off = np.empty((2, width), dtype=np.intc)
        self.v, self.c, self.s, self.loss, self.slope, self.inverse_P_ii, self.scale = np.empty((7, width))
        self.P, self.G, self.cross = np.empty(0), np.empty(0), np.empty(0)

    def look(self, const double[::1] theta, const double[::1] gamma, double ridge):
        """Prepare for a solution's θ; False where selected columns are copies, or almost."""
        cdef int i, n_on = 0
        cdef bint inverted
        for i in range(self.width):
            n_on += theta[i] > 0.0
        if n_on * n_on > self.P.shape[0]:
            self.P = np.empty(n_on * n_on)
        if n_on * (self.width - n_on) > self.G.shape[0]:
            self.G, self.cross = np.empty((2, n_on * (self.width - n_on)))
        self.gamma = gamma
        with nogil:
            self.split(theta)
            inverted = self.invert(theta, ridge)
            if inverted:
                self.measure(ridge)
        return inverted

    cdef void split(self, const double[::1] theta) noexcept nogil:
        cdef int i
        self.n_on = self.n_off = 0
        for i in range(self.width):
            if theta[i] > 0.0:
                self.on[self.n_on] = i
                self.n_on += 1
            else:
                self.off[self.n_off] = i
                self.n_off += 1

    cdef bint invert(self, const double[::1] theta, double ridge) noexcept nogil:
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
        cdef int p, j
        cdef Best found = Best(most), swapped
        for p in range(self.n_on):
            found.offer(self.energy(-self.loss[p]) + self.gamma[self.on[p]], self.on[p], -1)
        if adds:
            for j in range(self.n_off):
                found.offer(self.energy(self.c[j] * self.c[j] / self.s[j]) - self.gamma[self.off[j]], -1, self.off[j])
        if swaps:
            swapped = self.best_swaps(most, None)
            for p in range(swapped.size):
                found.offer(swapped.value[p], swapped.drop[p], swapped.add[p])
        return found.moves()

    def best_swap(self, int most, const unsigned char[::1] touched):
        """The change of F, drop and add of the best of the ``most`` swaps that explain most; None if there is none."""
        cdef Best found = Best(1), swapped = self.best_swaps(most, touched)
        cdef int p
        for p in range(swapped.size):
            found.offer(swapped.value[p], swapped.drop[p], swapped.add[p])
        return (found.value[0], found.drop[0], found.add[0]) if found.size else None

    cdef Best best_swaps(self, int most, const unsigned char[::1] touched):
        """The swaps of untouched features that explain most, with their changes of F."""
        cdef int j, p, n = self.n_on
        cdef double g, add, s
        cdef Best found = Best(most)
        for j in range(self.n_off):
            if touched is not None and touched[self.off[j]]:
                continue
            for p in range(n):
                if touched is not None and touched[self.on[p]]:
                    continue
                g = self.G[j * n + p]
                add = self.c[j] + g * self.slope[p]
                s = self.s[j] + g * g * self.inverse_P_ii[p]
                if add * add > (self.loss[p] - found.worst) * s:  # most are not among the best: spare the division
                    found.offer(self.loss[p] - add * add / s, p, j)
        for p in range(found.size):
            found.value[p] = self.energy(-found.value[p])
            found.drop[p], found.add[p] = self.on[found.drop[p]], self.off[found.add[p]]
            found.value[p] += self.gamma[found.drop[p]] - self.gamma[found.add[p]]
        return found


cdef class Best:
    """The few offers of lowest value, in order."""

    cdef int most, size
    cdef double worst  # an offer must be lower
    cdef double value[LARGEST]
    cdef long drop[LARGEST]
    cdef long add[LARGEST]

    def __cinit__(self, int most):
        if most > LARGEST:
            raise ValueError(f"the best {most} moves are asked for; ask for {LARGEST} at most.")
        self.most, self.size, self.worst = most, 0, 1e300

    cdef void offer(self, double value, long drop, long add) noexcept nogil:
        cdef int p
        if not value < self.worst:
            return
        if self.size < self.most:
            self.size += 1
        p = self.size - 1
        while p > 0 and self.value[p - 1] > value:
            self.value[p], self.drop[p], self.add[p] = self.value[p - 1], self.drop[p - 1], self.add[p - 1]
            p -= 1
        self.value[p], self.drop[p], self.add[p] = value, drop, add
        if self.size == self.most:
            self.worst = self.value[self.most - 1]

    cdef moves(self):
        cut = range(self.size)
        return (
            np.array([self.value[p] for p in cut]),
            np.array([self.drop[p] for p in cut], dtype=np.intp),
            np.array([self.add[p] for p in cut], dtype=np.intp),
        )
