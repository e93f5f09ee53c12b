# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""What every drop, add and swap would do to F, compiled; :class:`garrote.exchange.Screen` is the oracle.

The screen remembers the selection that it looked at last. Most selections differ from the one before by a feature or two:
then P, G, c and s are brought up to date by rank-one changes, in place of an inverse; for a swap, by two at once. A
selection from which several chains of moves begin is *bookmarked*, and found again without undoing them.
"""

from libc.math cimport fmax, fmin, log, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, dsymm
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

import numpy as np

from garrote import limits

cdef extern from "_screening.h" nogil:
    double CLOSED
    int differing(int n, const double *theta, const unsigned char *is_on, int *out)
    void subtract_rows(int rows, int n, const double *g, const double *G, double *r)
    void add_to_rows(int rows, int n, double factor, const double *g, const double *r, double *G)
    void add_square(int n, int stride, double factor, const double *g, double *A)
    void times(int n, double factor, const double *x, double *out)
    void subtract_two(
        int rows, int n, const double *a, const double *x, const double *b, const double *y, double *G
    )
    void add_two_squares(
        int n, int stride, double a_factor, const double *a, double b_factor, const double *b, double *A
    )
    void shift_two(
        int n, double c_x, double s_x, const double *x, double c_y, double s_y, const double *y, double *c, double *s
    )
    void shift(int n, double c_factor, double s_factor, const double *r, double *c, double *s)
    void open_features(
        int n, double least, const double *chi, const double *s, const unsigned char *closed, double *open_s
    )
    void divide_by_d(int n, double ridge, const double *chi, double *x)
    int gains(int n, double bound, double slope, double weight, const double *c, const double *s, const double *g)
    int next_gain(
        int j, int n, double bound, double slope, double weight, const double *c, const double *s, const double *g
    )
    double least_changes(
        int n, double half_n, double noise, const double *gamma, const double *c, const double *s, double *out
    )

cdef int ONE = 1
cdef double UNIT = 1.0
cdef double NOISE_FLOOR = limits.NOISE_FLOOR
#: A Cholesky factor with a smaller diagonal, of columns scaled to one, is that of copies.
cdef double COPIES = 1e-7
#: A feature of which so little is left when the others are removed does not enter by a rank-one change.
cdef double ALMOST_A_COPY = 1e-6
#: So many rank-one changes are made before everything is computed anew; and so many at once, even if few are selected.
cdef int CHANGES = 200
cdef int FEW = 12
#: At least this part of χ is taken to be left of a feature, of which a copy may be selected.
cdef double LEFT = 1e-12

#: More than the value of any offer.
cdef double ANYTHING = 1e300
#: Memory before any is needed.
cdef double[::1] NOTHING = np.empty(0)

cdef void begin(Best *best, int most, double worst) noexcept nogil:
    best.most, best.size, best.worst = most, 0, worst


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
    """The screening of one Block, with its working memory; the formulas are those of garrote.exchange.

    Selected features have slots, in any order; G has a row for each slot, of all features.
    """

    def __init__(self, gram, chi, b, double sigma2_y, double n_samples):
        cdef int width = len(chi)
        cdef double *start
        self.gram, self.chi, self.b = gram, chi, b
        self.sigma2_y, self.n_samples, self.width = sigma2_y, n_samples, width
        self.numbers, self.is_on = np.empty(3 * width + 3, dtype=np.intc), np.zeros(width, dtype=np.uint8)
        self.on, self.different = &self.numbers[0], &self.numbers[width + 1]
        self.bookmarked_on, self.n_bookmarked = &self.numbers[2 * width + 2], -1
        self.vectors = np.empty(12 * width)
        start = &self.vectors[0]
        self.gamma, self.v, self.c, self.s = start, start + width, start + 2 * width, start + 3 * width
        start += 4 * width
        self.open_s, self.r, self.lost, self.loss = start, start + width, start + 2 * width, start + 3 * width
        start += 4 * width
        self.slope, self.inverse_P_ii, self.work, self.more_work = start, start + width, start + 2 * width, start + 3 * width
        self.P = self.G = self.cross = self.bookmarked = NOTHING
        self.known = False

    def look(self, const double[::1] theta, const double[::1] gamma, double ridge):
        """Prepare for a solution's θ; False where selected columns are copies, or almost."""
        with nogil:
            inverted = self.look_at(&theta[0], &gamma[0], ridge)
        return bool(inverted)

    cdef int look_at(self, const double *theta, const double *gamma, double ridge) except -1 nogil:
        cdef int i, p, n = self.n_on, left = -1, entered = -1
        cdef int different = differing(self.width, theta, &self.is_on[0], self.different)
        memcpy(self.gamma, gamma, self.width * sizeof(double))
        for p in range(different):
            i = self.different[p]
            if self.is_on[i]:
                left, n = i, n - 1
            else:
                entered, n = i, n + 1
        if self.known and ridge == self.ridge:
            if different == 0:
                return True
            if different == 1 or (different == 2 and left >= 0 and entered >= 0):
                return self.make(left, entered)
            if different <= max(n // 2, FEW) and self.changes + different <= CHANGES and self.follow(theta, different):
                self.measure()
                return True
        for i in range(self.width):
            self.is_on[i] = theta[i] > 0.0
        return self.begin_anew(ridge)

    cdef int make(self, int drop, int add) except -1 nogil:
        """Prepare for the selection after a move (−1: none); False as above."""
        if self.changes + 2 <= CHANGES and self.change(drop, add):
            self.measure()
            return True
        if drop >= 0:
            self.is_on[drop] = False
        if add >= 0:
            self.is_on[add] = True
        return self.begin_anew(self.ridge)

    cdef int begin_anew(self, double ridge) except -1 nogil:
        cdef int i
        self.ridge, self.changes, self.n_on = ridge, 0, 0
        for i in range(self.width):
            if self.is_on[i]:
                self.on[self.n_on] = i
                self.n_on += 1
        self.reserve(self.n_on)
        self.known = self.invert()
        if not self.known:
            return False
        self.respond()
        self.measure()
        return True

    cdef int follow(self, const double *theta, int different) except -1 nogil:
        """Let features leave and enter one by one; False where one is almost a copy of others."""
        cdef int i, p = 0
        self.reserve(self.n_on + different)
        while p < self.n_on:
            if theta[self.on[p]] > 0.0:
                p += 1
            else:
                self.leave(p)
        for p in range(different):
            i = self.different[p]
            if theta[i] > 0.0 and not self.enter(i):
                return False
        return True

    cdef int change(self, int drop, int add) except -1 nogil:
        """The changes of a move; False where the feature that enters is almost a copy of others."""
        if drop >= 0 and add >= 0:
            return self.swap(self.slot_of(drop), add)
        if drop >= 0:
            self.leave(self.slot_of(drop))
            return True
        self.reserve(self.n_on + 1)
        return self.enter(add)

    cdef int bookmark(self) except -1 nogil:
        """Remember what is known of the present selection."""
        cdef int n = self.n_on, width = self.width
        cdef size_t size = self.room * (self.room + width) + 3 * width
        cdef double *to
        if <size_t>self.bookmarked.shape[0] != size:
            with gil:
                self.bookmarked = np.empty(size)
        to = &self.bookmarked[0]
        memcpy(to, self.v, n * sizeof(double))
        memcpy(to + width, self.c, width * sizeof(double))
        memcpy(to + 2 * width, self.s, width * sizeof(double))
        memcpy(to + 3 * width, &self.P[0], n * self.room * sizeof(double))
        memcpy(to + 3 * width + n * self.room, &self.G[0], n * width * sizeof(double))
        memcpy(self.bookmarked_on, self.on, n * sizeof(int))
        self.n_bookmarked, self.changes_bookmarked, self.room_bookmarked = n, self.changes, self.room
        return 0

    cdef int go_back(self) except -1 nogil:
        """To the bookmarked selection."""
        cdef int p, n = self.n_bookmarked, width = self.width
        cdef const double *start
        memset(&self.is_on[0], False, width)
        for p in range(n):
            self.is_on[self.bookmarked_on[p]] = True
        if self.room != self.room_bookmarked:
            return self.begin_anew(self.ridge)
        start = &self.bookmarked[0]
        memcpy(self.v, start, n * sizeof(double))
        memcpy(self.c, start + width, width * sizeof(double))
        memcpy(self.s, start + 2 * width, width * sizeof(double))
        memcpy(&self.P[0], start + 3 * width, n * self.room * sizeof(double))
        memcpy(&self.G[0], start + 3 * width + n * self.room, n * width * sizeof(double))
        memcpy(self.on, self.bookmarked_on, n * sizeof(int))
        self.n_on, self.changes, self.known = n, self.changes_bookmarked, True
        self.measure()
        return True

    def remember(self):
        """Remember what is known of the present selection."""
        self.bookmark()

    def recall(self):
        """Go back to the selection that was remembered."""
        self.go_back()

    cdef int reserve(self, int n_on) except -1 nogil:
        """Memory for so many selected features; what is known of them stays."""
        cdef int room = max(n_on + SPARE, min(self.width, ROOM))
        if n_on <= self.room:
            return 0
        with gil:
            P, G = np.zeros((room, room)), np.empty((room, self.width))
            if self.room:
                P[: self.room, : self.room] = np.asarray(self.P).reshape(self.room, self.room)
                G[: self.room] = np.asarray(self.G).reshape(self.room, self.width)
            self.P, self.G, self.cross = P.ravel(), G.ravel(), np.empty(room * self.width)
            self.room = room
        return 0

    cdef bint invert(self) noexcept nogil:
        """P = (χ_OO + diag(d − χ))⁻¹, both triangles."""
        cdef int i, p, q, info, n = self.n_on, room = self.room
        cdef double least = 1.0
        cdef double *scale = self.r
        for p in range(n):
            i = self.on[p]
            self.P[p * room + p] = self.gram[i, i] + self.ridge * self.chi[i]
            scale[p] = 1.0 / sqrt(self.P[p * room + p])
        for p in range(n):
            for q in range(p, n):
                if q > p:
                    self.P[p * room + q] = self.gram[self.on[p], self.on[q]]
                self.P[p * room + q] *= scale[p] * scale[q]
        if n == 0:
            return True
        dpotrf("L", &n, &self.P[0], &room, &info)
        for p in range(n):
            least = min(least, self.P[p * room + p])
        if info != 0 or least < COPIES:
            return False
        dpotri("L", &n, &self.P[0], &room, &info)
        for p in range(n):
            for q in range(p, n):
                self.P[p * room + q] *= scale[p] * scale[q]
                self.P[q * room + p] = self.P[p * room + q]
        return True

    cdef void respond(self) noexcept nogil:
        """v, and of every feature its column of G = Pχ, c and s."""
        cdef int j, p, q, n = self.n_on, room = self.room, width = self.width
        cdef double one = 1.0, zero = 0.0, minus, total
        for j in range(width):
            self.c[j], self.s[j] = self.b[j], self.chi[j] * (1.0 + self.ridge)
        if n == 0:
            return
        for p in range(n):
            memcpy(&self.cross[p * width], &self.gram[self.on[p], 0], width * sizeof(double))
            total = 0.0
            for q in range(n):
                total += self.P[p * room + q] * self.b[self.on[q]]
            self.v[p] = total
        # column by column that is Gᵀ = crossᵀ P
        dsymm("R", "L", &width, &n, &one, &self.P[0], &room, &self.cross[0], &width, &zero, &self.G[0], &width)
        for p in range(n):
            minus = -self.v[p]
            daxpy(&width, &minus, &self.cross[p * width], &ONE, self.c, &ONE)
            for j in range(width):
                self.s[j] -= self.cross[p * width + j] * self.G[p * width + j]

    cdef bint enter(self, int i) noexcept nogil:
        """Select one more feature; False where it is almost a copy of the selected ones."""
        cdef int p, q, n = self.n_on, room = self.room, width = self.width
        cdef double s = self.s[i], c = self.c[i], factor
        cdef double *r = self.r
        cdef double *g = self.work
        if not s > ALMOST_A_COPY * self.chi[i]:
            return False
        self.left_of(i)
        for p in range(n):
            g[p] = self.G[p * width + i]
        factor = -1.0 / s
        add_to_rows(n, width, factor, g, r, &self.G[0])
        add_square(n, room, 1.0 / s, g, &self.P[0])
        for p in range(n):
            self.P[p * room + n] = self.P[n * room + p] = g[p] * factor
            self.v[p] += g[p] * c * factor
        self.P[n * room + n], self.v[n] = 1.0 / s, c / s
        times(width, 1.0 / s, r, &self.G[n * width])
        shift(width, -c / s, -1.0 / s, r, self.c, self.s)
        self.on[n], self.is_on[i] = i, True
        self.n_on += 1
        self.changes += 1
        return True

    cdef void leave(self, int slot) noexcept nogil:
        """Drop the feature of a slot."""
        cdef int p, q, last = self.n_on - 1, room = self.room, width = self.width
        cdef double P_ii = self.P[slot * room + slot], v = self.v[slot], factor = -1.0 / P_ii
        cdef double *g = self.work
        cdef double *r = self.r
        memcpy(r, &self.G[slot * width], width * sizeof(double))
        for p in range(last + 1):
            g[p] = self.P[p * room + slot]
        add_to_rows(self.n_on, width, factor, g, r, &self.G[0])
        add_square(last + 1, room, factor, g, &self.P[0])
        for p in range(last + 1):
            self.v[p] += g[p] * v * factor
        shift(width, v / P_ii, 1.0 / P_ii, r, self.c, self.s)
        self.is_on[self.on[slot]] = False
        if slot < last:  # the last one takes its slot
            self.on[slot], self.v[slot] = self.on[last], self.v[last]
            memcpy(&self.G[slot * width], &self.G[last * width], width * sizeof(double))
            memcpy(&self.P[slot * room], &self.P[last * room], last * sizeof(double))
            self.P[slot * room + slot] = self.P[last * room + last]
            for p in range(last):
                self.P[p * room + slot] = self.P[slot * room + p]
        self.n_on = last
        self.changes += 1

    cdef bint swap(self, int slot, int i) noexcept nogil:
        """Let another feature take a slot: what ``leave`` and ``enter`` do, in one pass over G."""
        cdef int p, n = self.n_on, room = self.room, width = self.width
        cdef double per_P, v = self.v[slot], of_i, s, c
        cdef double *lost = self.lost
        cdef double *r = self.r
        cdef double *g = self.work
        cdef double *h = self.more_work
        memcpy(lost, &self.G[slot * width], width * sizeof(double))
        per_P, of_i = 1.0 / self.P[slot * room + slot], lost[i]
        s, c = self.s[i] + of_i * of_i * per_P, self.c[i] + v * per_P * of_i
        if not s > ALMOST_A_COPY * self.chi[i]:
            return False
        self.left_of(i)
        add_to_rows(1, width, of_i * per_P, &UNIT, lost, r)
        for p in range(n):
            g[p] = self.P[p * room + slot] * per_P
            h[p] = (self.G[p * width + i] - g[p] * of_i) / s
        subtract_two(n, width, g, lost, h, r, &self.G[0])
        add_two_squares(n, room, -self.P[slot * room + slot], g, s, h, &self.P[0])
        for p in range(n):
            self.P[p * room + slot] = self.P[slot * room + p] = -h[p]
            self.v[p] -= g[p] * v + h[p] * c
        self.P[slot * room + slot], self.v[slot] = 1.0 / s, c / s
        times(width, 1.0 / s, r, &self.G[slot * width])
        shift_two(width, v * per_P, per_P, lost, -c / s, -1.0 / s, r, self.c, self.s)
        self.is_on[self.on[slot]], self.is_on[i], self.on[slot] = False, True, i
        self.changes += 2
        return True

    cdef void measure(self) noexcept nogil:
        """The noise, the loss of every drop, and s of the features that can enter."""
        cdef int p
        cdef double explained = 0.0
        for p in range(self.n_on):
            explained += self.v[p] * self.b[self.on[p]]
            self.inverse_P_ii[p] = 1.0 / fmax(self.P[p * self.room + p], 1e-300)
            self.slope[p] = self.v[p] * self.inverse_P_ii[p]
            self.loss[p] = self.v[p] * self.slope[p]
        self.noise = fmax(self.sigma2_y - explained, NOISE_FLOOR * self.sigma2_y)
        self.open(&self.is_on[0])

    cdef void open(self, const unsigned char *closed) noexcept nogil:
        """Let features enter, but for some."""
        open_features(self.width, LEFT * (1.0 + self.ridge), &self.chi[0], self.s, closed, self.open_s)

    def w_after(self, int drop, int add):
        """w of every feature when a selected one is dropped, another added, or both (−1: none)."""
        w = np.empty(self.width)
        cdef double[::1] out = w
        self.find_w_after(drop, add, &out[0])
        return w

    cdef void find_w_after(self, int drop, int add, double *w) noexcept nogil:
        """The same, by rank-one changes of v and c."""
        cdef int p, slot = self.slot_of(drop), width = self.width
        cdef double slope = 0.0, own = 0.0, change = 0.0, s
        cdef const double *lost = NULL
        memcpy(w, self.c, width * sizeof(double))
        if slot >= 0:
            slope, lost = self.slope[slot], &self.G[slot * width]
            add_to_rows(1, width, slope, &UNIT, lost, w)
        if add >= 0:
            self.left_of(add)
            s = fmax(self.s[add], LEFT * self.chi[add])  # of a copy nothing may be left
            if slot >= 0:
                own = lost[add] * self.inverse_P_ii[slot]
                s += own * lost[add]
                add_to_rows(1, width, own, &UNIT, lost, self.r)
            change = w[add] / s
            add_to_rows(1, width, -change, &UNIT, self.r, w)
        divide_by_d(width, self.ridge, &self.chi[0], w)
        for p in range(self.n_on):
            if p != slot:
                w[self.on[p]] = self.v[p] - (self.G[p * width + add] * change if add >= 0 else 0.0)
                if slot >= 0:
                    w[self.on[p]] -= self.P[p * self.room + slot] * (slope - own * change)
        if add >= 0:
            w[add] = change

    cdef int slot_of(self, int i) noexcept nogil:
        """The slot of a selected feature; −1 if there is none."""
        cdef int p
        for p in range(self.n_on):
            if self.on[p] == i:
                return p
        return -1

    cdef void left_of(self, int i) noexcept nogil:
        """r = χ_i less what the selected features explain of it."""
        cdef int p
        memcpy(self.r, &self.gram[i, 0], self.width * sizeof(double))
        for p in range(self.n_on):
            self.work[p] = self.gram[i, self.on[p]]
        subtract_rows(self.n_on, self.width, self.work, &self.G[0], self.r)

    cdef double energy(self, double explained) noexcept nogil:
        """The likelihood's part of the change of F, when so much more variance is explained."""
        return 0.5 * self.n_samples * log(fmax(1.0 - explained / self.noise, 1e-300))

    def best(self, int most, bint adds, bint swaps):
        """The changes of F, drops and adds (−1: none) of the best moves, best first."""
        cdef Best found
        check_most(most)
        self.find_best(&found, most, adds, swaps, ANYTHING, ANYTHING)
        cut = range(found.size)
        return (
            np.array([found.value[p] for p in cut]),
            np.array([found.drop[p] for p in cut], dtype=np.intp),
            np.array([found.add[p] for p in cut], dtype=np.intp),
        )

    cdef void find_best(
        self, Best *found, int most, bint adds, bint swaps, double worst, double least_explained
    ) noexcept nogil:
        """Moves that raise F by less than ``worst``; swaps only if they explain no more than so much less."""
        cdef int p
        cdef Best swapped
        begin(found, most, worst)
        self.offer_single(found, adds, NULL)
        if swaps:
            self.find_swaps(&swapped, most, NULL, least_explained)
            for p in range(swapped.size):
                offer(found, swapped.value[p], swapped.drop[p], swapped.add[p])

    cdef void offer_single(self, Best *found, bint adds, const unsigned char *touched) noexcept nogil:
        """Every drop, and every add, of untouched features."""
        cdef int p, j
        cdef double gained
        for p in range(self.n_on):
            if touched != NULL and touched[self.on[p]]:
                continue
            # log(1 + x) is at least x/(1 + x): most are not among the best, which spares the logarithm
            if 0.5 * self.n_samples * self.loss[p] / (self.noise + self.loss[p]) + self.gamma[self.on[p]] < found.worst:
                offer(found, self.energy(-self.loss[p]) + self.gamma[self.on[p]], self.on[p], -1)
        if adds and least_changes(
            self.width, 0.5 * self.n_samples, self.noise, self.gamma, self.c, self.open_s, self.r
        ) < found.worst:
            for j in range(self.width):
                if self.r[j] < found.worst:
                    gained = self.c[j] * self.c[j] / self.open_s[j]
                    offer(found, self.energy(gained) - self.gamma[j], -1, j)

    def best_swap(self, int most, const unsigned char[::1] touched):
        """The change of F, drop and add of the best of the ``most`` swaps that explain most; None if there is none."""
        cdef Best found
        check_most(most)
        swap = self.find_swap(&found, most, &touched[0], ANYTHING)
        return (found.value[0], found.drop[0], found.add[0]) if swap else None

    def best_link(self, int most, bint adds, const unsigned char[::1] touched):
        """The same for the best of all moves."""
        cdef Best found
        check_most(most)
        link = self.find_link(&found, most, adds, &touched[0], ANYTHING, ANYTHING)
        return (found.value[0], found.drop[0], found.add[0]) if link else None

    cdef bint find_link(
        self, Best *found, int most, bint adds, const unsigned char *touched, double worst, double least_explained
    ) noexcept nogil:
        self.close(touched)
        self.find_best_swap(found, most, touched, least_explained)
        found.worst = fmin(found.worst, worst)
        self.offer_single(found, adds, touched)
        self.open(&self.is_on[0])
        return found.size > 0

    cdef void close(self, const unsigned char *touched) noexcept nogil:
        """Touched features do not enter, until they are opened again."""
        cdef int j
        for j in range(self.width):
            if touched[j]:
                self.open_s[j] = CLOSED

    cdef bint find_swap(self, Best *found, int most, const unsigned char *touched, double worst) noexcept nogil:
        """The swap of untouched features that ``best_swap`` returns; False if there is none."""
        if touched != NULL:
            self.close(touched)
        self.find_best_swap(found, most, touched, worst)
        if touched != NULL:
            self.open(&self.is_on[0])
        return found.size > 0

    cdef void find_best_swap(self, Best *found, int most, const unsigned char *touched, double worst) noexcept nogil:
        """Of the swaps that explain most the one of lowest F; touched features are closed."""
        cdef Best swapped
        cdef int p
        self.find_swaps(&swapped, most, touched, worst)
        begin(found, 1, ANYTHING)
        for p in range(swapped.size):
            offer(found, swapped.value[p], swapped.drop[p], swapped.add[p])

    cdef void find_swaps(self, Best *found, int most, const unsigned char *touched, double worst) noexcept nogil:
        """The swaps of untouched features that explain most, at most so much less than before, with their changes of F."""
        cdef int j, p, width = self.width
        cdef double add, s
        cdef const double *g
        begin(found, most, worst)
        for p in range(self.n_on):
            if touched != NULL and touched[self.on[p]]:
                continue
            g, j = &self.G[p * width], -1
            if not gains(
                width, self.loss[p] - found.worst, self.slope[p], self.inverse_P_ii[p], self.c, self.open_s, g
            ):
                continue
            while True:
                j = next_gain(
                    j + 1, width, self.loss[p] - found.worst, self.slope[p], self.inverse_P_ii[p], self.c,
                    self.open_s, g,
                )
                if j == width:
                    break
                add, s = self.c[j] + g[j] * self.slope[p], self.open_s[j] + g[j] * g[j] * self.inverse_P_ii[p]
                offer(found, self.loss[p] - add * add / s, p, j)
        for p in range(found.size):
            found.value[p] = self.energy(-found.value[p])
            found.drop[p] = self.on[found.drop[p]]
            found.value[p] += self.gamma[found.drop[p]] - self.gamma[found.add[p]]
