# cython: language_level=3
"""The compiled screening as the compiled search sees it; its methods are explained in _exchange.pyx."""

cimport cython


cdef enum:
    LARGEST = 16  # so many moves are kept at most


cdef struct Best:  # the few offers of lowest value, in order; −1: drops or adds none
    int most
    int size
    double worst  # an offer must be lower
    double value[LARGEST]
    int drop[LARGEST]
    int add[LARGEST]


@cython.final
cdef class BlockScreen:
    cdef:
        const double[:, ::1] gram
        const double[::1] chi, b
        double sigma2_y, n_samples
        readonly double noise
        int width, n_on, n_off
        int[::1] on, off
        double[::1] gamma, P, G, cross, v, c, s, loss, slope, inverse_P_ii, scale

        int look_at(self, const double *theta, const double *gamma, double ridge) except -1 nogil
        int reserve(self, int n_on) except -1 nogil
        int split(self, const double *theta) noexcept nogil
        bint invert(self, const double *theta, double ridge) noexcept nogil
        void measure(self, double ridge) noexcept nogil
        double energy(self, double explained) noexcept nogil
        void find_best(self, Best *found, int most, bint adds, bint swaps) noexcept nogil
        void find_swaps(self, Best *found, int most, const unsigned char *touched) noexcept nogil
        bint find_swap(self, Best *found, int most, const unsigned char *touched) noexcept nogil
