# cython: language_level=3
"""The compiled screening as the compiled search sees it; its methods are explained in _exchange.pyx."""

cimport cython


cdef enum:
    LARGEST = 16  # so many moves are kept at most
    ROOM = 80  # memory is reserved for so many selected features
    SPARE = 32  # and then for so many more


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
        double sigma2_y, n_samples, ridge
        readonly double noise
        int width, n_on, room, changes
        int n_bookmarked, changes_bookmarked, room_bookmarked
        bint known  # whether P, G, c and s are those of the selected features
        double[::1] vectors  # the memory of those of all features, and of the numbers of features
        int[::1] numbers
        int *on
        int *different
        int *bookmarked_on
        unsigned char[::1] is_on
        double *gamma
        double *v
        double *c
        double *s
        double *open_s
        double *r
        double *lost
        double *loss
        double *slope
        double *inverse_P_ii
        double *work
        double *more_work
        double[::1] P, G, cross, bookmarked

        int look_at(self, const double *theta, const double *gamma, double ridge) except -1 nogil
        int make(self, int drop, int add) except -1 nogil
        int begin_anew(self, double ridge) except -1 nogil
        int follow(self, const double *theta, int different) except -1 nogil
        int change(self, int drop, int add) except -1 nogil
        int bookmark(self) except -1 nogil
        int go_back(self) except -1 nogil
        int reserve(self, int n_on) except -1 nogil
        bint invert(self) noexcept nogil
        void respond(self) noexcept nogil
        bint enter(self, int i) noexcept nogil
        void leave(self, int slot) noexcept nogil
        bint swap(self, int slot, int i) noexcept nogil
        void measure(self) noexcept nogil
        void open(self, const unsigned char *closed) noexcept nogil
        void close(self, const unsigned char *touched) noexcept nogil
        void find_w_after(self, int drop, int add, double *w) noexcept nogil
        int slot_of(self, int i) noexcept nogil
        void left_of(self, int i) noexcept nogil
        double energy(self, double explained) noexcept nogil
        void find_best(
            self, Best *found, int most, bint adds, bint swaps, double worst, double least_explained
        ) noexcept nogil
        void find_best_swap(self, Best *found, int most, const unsigned char *touched, double worst) noexcept nogil
        void find_swaps(self, Best *found, int most, const unsigned char *touched, double worst) noexcept nogil
        bint find_swap(self, Best *found, int most, const unsigned char *touched, double worst) noexcept nogil
        void offer_single(self, Best *found, bint adds, const unsigned char *touched) noexcept nogil
        bint find_link(
            self, Best *found, int most, bint adds, const unsigned char *touched, double worst, double least_explained
        ) noexcept nogil
