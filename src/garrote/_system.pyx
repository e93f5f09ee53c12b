# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The linear systems of a descent by conjugate gradients, over the features that take part in a step.

Every system is (1 + S (C − 1) S − z zᵀ) x = r, with the features' correlations C and S² = weight/(1 + λ): its diagonal
is one before z, whatever the weights are. It is solved in single precision, which is half the memory to read and twice as
many numbers at once. That limits a step's accuracy to about six digits, and not that of the descent, whose equations are
evaluated in double precision. C is at most one, and the right side is taken to have length one, so nothing overflows.
"""

cimport cython
from libc.math cimport sqrt
from libc.string cimport memset
from scipy.linalg.cython_blas cimport sgemv

import numpy as np

cdef extern from "_levels.h" nogil:
    bint solve_at_once(Gradients *system, float most, int most_steps)
    void sum_rows(
        int columns, int n, int stride, int order, const int *chosen, const float *A, const float *x, float *out
    )

cdef extern from "_single.h" nogil:
    void in_single(int n, double factor, const double *x, const double *factors, float *out)
    int filled_up(int n)
    float *aligned(float *x)
    void dot_rows(int columns, int n, int stride, int order, const float *A, const float *x, float *out)
    void gather_rows(
        int known, int n, int filled, int stride, int room, const int *chosen, const float *A, float *out
    )
    double difference(
        int n, int filled, double unit, const double *norm, const double *v, const double *other, float *side
    )
    double move_correlations(
        int n, double unit, const double *norm, const float *sums, const double *v, const double *other,
        const double *there, double *c,
    )
    int count_above(int n, double bound, const double *x)
    void choose_more(int n, int p, double bound, const double *x, unsigned char *is_chosen, int *chosen)
    int count_chosen(int n, double bound, const int *chosen, const double *x)
    double of_length_one(int n, int filled, const double *right, float *r, float *direction)
    void less_response(int n, double size, const double *norm, const float *sums, const double *R, double *out)
    void weigh(int n, int filled, double d, const int *chosen, const double *weight, float *scale, float *rest)
    float scaled(int n, const float *scale, const float *z, const float *direction, float *side)
    float curvature_of(
        int n, float along, const float *scale, const float *rest, const float *z, const float *direction,
        float *applied,
    )
    float advance(int n, float length, const float *direction, const float *applied, float *x, float *r)
    float turn(int n, float factor, const float *r, const float *scale, const float *z, float *direction, float *side)

cdef int ONE = 1
#: Engaged features are chosen anew when there are so many times too many.
cdef double IDLE = 1.25
#: Steps of conjugate gradients at most.
cdef int MOST_STEPS = 200
#: What single precision can attain, relative to the right side.
cdef double FINEST = 1e-6
#: Up to so many features a plain loop is as fast as BLAS, and sooner begun.
cdef int SMALL = 640


@cython.final
cdef class EngagedSystem:
    """The engaged features, their correlations, and what conjugate gradients need."""

    def __init__(self, root, gram, chi):
        cdef int i, width = len(chi), stride = filled_up(width), room = filled_up(3 * width // 4 + 1)
        cdef int rows = 0 if root is None else root.shape[0], tall = filled_up(rows)
        cdef const double[:, ::1] products = gram
        cdef const double[::1, :] columns
        cdef float *start
        self.width, self.stride, self.rows, self.tall, self.order = width, stride, rows, tall, 1
        self.norm = np.sqrt(chi)
        self.per_norm = 1.0 / np.asarray(self.norm)  # powers of two in the units of X change no digit
        self.has_root = 0 < 2 * rows < width
        self.matrices = np.empty(
            width * stride + room * room + (width * tall if self.has_root else 0) + 64, dtype=np.float32
        )
        self.vectors = np.empty(9 * stride + tall + 16, dtype=np.float32)
        self.correlation, start = aligned(&self.matrices[0]), aligned(&self.vectors[0])
        self.gathered = aligned(self.correlation + width * stride)
        for i in range(width):
            in_single(width, self.per_norm[i], &products[i, 0], &self.per_norm[0], self.correlation + i * stride)
            memset(self.correlation + i * stride + width, 0, (stride - width) * sizeof(float))
        if self.has_root:
            columns, self.columns = root, aligned(self.gathered + room * room)
            for i in range(width):
                in_single(rows, self.per_norm[i], &columns[0, i], NULL, self.columns + i * tall)
                memset(self.columns + i * tall + rows, 0, (tall - rows) * sizeof(float))
        self.engaged, self.is_engaged, self.room = np.empty(width + 1, dtype=np.intc), np.zeros(width, dtype=np.uint8), room
        self.scale, self.rest, self.z, self.x = start, start + stride, start + 2 * stride, start + 3 * stride
        start += 4 * stride
        self.r, self.direction, self.applied = start, start + stride, start + 2 * stride
        self.side, self.sums, self.fit = start + 3 * stride, start + 4 * stride, start + 5 * stride

    cdef void engage(self, const double *weight, double least, double ridge) noexcept nogil:
        """Let the features with a weight take part, and scale them; a matrix that serves is not gathered again."""
        cdef int n = count_above(self.width, least, weight)
        cdef int known = count_chosen(self.n_engaged, least, &self.engaged[0], weight)
        if self.n_engaged > IDLE * n + 8:
            self.gather(weight, least, n, 0)
        elif known < n:
            self.gather(weight, least, self.n_engaged + n - known, self.n_engaged)
        weigh(self.n_engaged, self.filled, 1.0 + ridge, &self.engaged[0], weight, self.scale, self.rest)
        memset(self.z + self.n_engaged, 0, (self.filled - self.n_engaged) * sizeof(float))

    cdef void gather(self, const double *weight, double least, int n, int known) noexcept nogil:
        """The correlations of n features, of which some are known and the others have a weight, or of all."""
        cdef int i
        if known == 0:
            memset(&self.is_engaged[0], False, self.width)
        if 4 * n > 3 * self.width:  # to gather most of a matrix takes longer than to use it
            for i in range(self.width):
                self.engaged[i], self.is_engaged[i] = i, True
            self.n_engaged, self.filled, self.block, self.block_stride = self.width, self.stride, self.correlation, self.stride
            return
        choose_more(self.width, known, least, weight, &self.is_engaged[0], &self.engaged[0])
        self.n_engaged, self.filled, self.block, self.block_stride = n, filled_up(n), self.gathered, self.room
        gather_rows(known, n, self.filled, self.stride, self.room, &self.engaged[0], self.correlation, self.gathered)

    cdef void solve(self, const double *right, double accuracy, double most) noexcept nogil:
        """Conjugate gradients, until what is left is so much smaller than the right side and its squares not above ``most``.

        They end, too, where they meet a direction without positive curvature.
        """
        cdef Gradients system
        cdef double squares
        memset(self.x, 0, self.filled * sizeof(float))
        self.size, self.convex, self.gain = of_length_one(self.n_engaged, self.filled, right, self.r, self.direction), True, 0.0
        squares = self.left = self.size * self.size
        if not squares > 0.0:
            return
        system.n, system.filled, system.stride, system.C = self.n_engaged, self.filled, self.block_stride, self.block
        system.scale, system.rest, system.z, system.x, system.r = self.scale, self.rest, self.z, self.x, self.r
        system.direction, system.side, system.squares, system.order = self.direction, self.side, 1.0, self.order
        most = min(most / squares, max(accuracy, FINEST) ** 2)
        if not solve_at_once(&system, most, min(self.n_engaged, MOST_STEPS)):
            self.solve_by_steps(&system, most)
        else:
            self.order = system.order
        self.unheard += <double>system.n * system.n * system.steps
        self.convex, self.gain, self.left = system.convex, system.gain * squares, system.squares * squares

    cdef void solve_by_steps(self, Gradients *system, float most) noexcept nogil:
        """The same for a system that does not fit into registers."""
        cdef int filled = self.filled
        cdef float curvature, before, along = scaled(filled, self.scale, self.z, self.direction, self.side)
        system.convex, system.gain, system.steps = True, 0.0, 0
        while system.squares > most and system.steps < min(self.n_engaged, MOST_STEPS):
            self.apply()
            curvature = curvature_of(filled, along, self.scale, self.rest, self.z, self.direction, self.applied)
            if not curvature > 0.0:
                system.convex = False
                break
            before = system.squares
            system.gain += before * before / curvature
            system.squares = advance(filled, before / curvature, self.direction, self.applied, self.x, self.r)
            along = turn(filled, system.squares / before, self.r, self.scale, self.z, self.direction, self.side)
            system.steps += 1

    cdef void go_on(self, double times, double most) noexcept nogil:
        """From x along the last direction: so many times the step that has the curvature one, but at most so far."""
        cdef int p, n = self.n_engaged
        cdef double squares = 0.0
        cdef float length
        for p in range(n):
            squares += self.direction[p] * self.direction[p]
        length = <float>min(times * self.left / (squares * self.size * self.size), most)
        for p in range(n):
            self.x[p] += length * self.direction[p]

    cdef void apply(self) noexcept nogil:
        """The correlations times ``side``."""
        cdef int n = self.n_engaged, filled = self.filled
        cdef float one = 1.0, zero = 0.0
        if self.by_root():
            self.through_root(self.applied)
        elif n <= SMALL:
            self.multiply(filled, n, self.block_stride, NULL, self.block, self.side, self.applied)
        else:
            sgemv("N", &filled, &n, &one, self.block, &self.block_stride, self.side, &ONE, &zero, self.applied, &ONE)

    cdef void multiply(
        self, int columns, int n, int stride, const int *chosen, const float *A, const float *x, float *out
    ) noexcept nogil:
        """The sum of rows of a matrix, from the last one where the product before began with the first."""
        sum_rows(columns, n, stride, self.order, chosen, A, x, out)
        self.order = -self.order

    cdef void respond(self, const double *R, double *image) noexcept nogil:
        """image = R, of every feature, less what the others' change of v = S x/√χ_ii takes from its c."""
        cdef int p
        scaled(self.filled, self.scale, self.z, self.x, self.side)
        if self.by_root():
            self.through_root(self.sums)
        else:
            self.multiply(self.stride, self.n_engaged, self.stride, &self.engaged[0], self.correlation, self.side, self.sums)
        for p in range(self.n_engaged):
            self.sums[self.engaged[p]] -= self.side[p]
        less_response(self.width, self.size, &self.norm[0], self.sums, R, image)

    cdef double distance(self, double unit, const double *v, const double *other) noexcept nogil:
        """The length of v − other, for columns of length one, in such units; ``move`` needs it before."""
        return sqrt(difference(self.width, self.stride, unit, &self.norm[0], v, other, self.side))

    cdef double move(
        self, double unit, const double *v, const double *other, const double *there, double *c
    ) noexcept nogil:
        """c of v, from what they are for the other; returns by how much less is left of y."""
        self.unheard += <double>self.width * self.width
        if self.has_root:
            self.through_root(self.sums)
        else:
            self.multiply(self.stride, self.width, self.stride, NULL, self.correlation, self.side, self.sums)
        return move_correlations(self.width, unit, &self.norm[0], self.sums, v, other, there, c)

    cdef bint by_root(self) noexcept nogil:
        """Whether C is multiplied by two products with its root: where all are engaged, and there are few rows."""
        return self.has_root and self.n_engaged == self.width

    cdef void through_root(self, float *out) noexcept nogil:
        """out = C·side, and zeros."""
        self.multiply(self.tall, self.width, self.tall, NULL, self.columns, self.side, self.fit)
        dot_rows(self.tall, self.width, self.tall, self.order, self.columns, self.fit, out)
        memset(out + self.width, 0, (self.stride - self.width) * sizeof(float))
        self.order = -self.order
