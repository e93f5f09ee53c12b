# cython: language_level=3
"""The linear systems of a descent as _conjugate.pyx sees them; their methods are explained in _system.pyx."""

cimport cython

cdef extern from "_levels.h" nogil:
    ctypedef struct Gradients:
        int n, filled, stride, order
        const float *C
        const float *scale
        const float *rest
        const float *z
        float *x
        float *r
        float *direction
        float *side
        int convex, steps
        float squares, gain


@cython.final
cdef class EngagedSystem:
    cdef:
        int width, rows, stride, tall  # the width and the rows, filled up
        bint has_root
        float[::1] matrices, vectors  # the memory of those below
        float *correlation  # of all features
        float *columns  # of the root, of length one, one after the other, where they are of use
        double[::1] norm, per_norm  # √χ_ii, and one over it
        int[::1] engaged
        unsigned char[::1] is_engaged
        int n_engaged, filled  # up, too
        int room, block_stride  # of a row of what is gathered, and of the block
        float *gathered
        float *block  # the engaged features' correlations
        float *scale  # of the engaged features, like all below
        float *rest
        float *z
        float *x
        float *r
        float *direction
        float *applied
        float *side
        float *sums  # of all features
        float *fit
        int order  # where the next product begins: 1 at the first row of a matrix, −1 at the last
        double size  # of the right side, in units of which r and x are
        bint convex  # whether conjugate gradients met no direction of negative curvature
        double gain  # twice what the quadratic form loses by x
        double left  # squares of what they left of the right side
        double unheard  # operations since someone looked whether a signal came

        void engage(self, const double *weight, double least, double ridge) noexcept nogil
        void gather(self, const double *weight, double least, int n, int known) noexcept nogil
        void solve(self, const double *right, double accuracy, double most) noexcept nogil
        void go_on(self, double times, double most) noexcept nogil
        void solve_by_steps(self, Gradients *system, float most) noexcept nogil
        void apply(self) noexcept nogil
        void multiply(
            self, int columns, int n, int stride, const int *chosen, const float *A, const float *x, float *out
        ) noexcept nogil
        void respond(self, const double *R, double *image) noexcept nogil
        double distance(self, double unit, const double *v, const double *other) noexcept nogil
        double move(
            self, double unit, const double *v, const double *other, const double *there, double *c
        ) noexcept nogil
        bint by_root(self) noexcept nogil
        void through_root(self, float *out) noexcept nogil
