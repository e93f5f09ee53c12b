# cython: language_level=3
"""The descent by conjugate gradients as the compiled descent sees it; its methods are explained in _conjugate.pyx."""

cimport cython

from garrote._system cimport EngagedSystem


#: How a descent ended.
cdef enum:
    AT_REST, ABANDONED, UNFINISHED, LOST


@cython.final
cdef class ConjugateDescent:
    cdef:
        const double[::1, :] root
        const double[::1] target
        const double[:, ::1] gram
        const double[::1] chi, per_chi, b
        double floor, squares, unit, sigma2_y, n_samples, ridge, beta
        bint has_root, has_data, fixed_beta, by_gram
        int width, rows
        double[::1] memory
        double *theta  # the state: five arrays of all features, one after the other, as in BlockDescent
        double *m
        double *w
        double *v
        double *goal
        double *c  # correlations with the residual
        double *R  # what is left of w's equation
        double *slope  # ∂v/∂w
        double *q  # ∂v/∂κ
        double *t  # the change of v that θ's equation asks for
        double *most  # max(m, 1 − m)
        double *image
        double *step  # of θ; Newton's has the image as that of w
        double *old_theta
        double *old_w
        double *old_R
        double *e  # the residual
        double *change  # of w, where they are found anew
        double *right  # side of a system, of the engaged features
        double *anchor_v  # where c was last computed in double precision
        double *anchor_c
        double anchor_total, anchor_distance  # its mean square of the residual; how far the present v is from there
        double fuzz  # what single precision may have done to m
        bint anchored
        EngagedSystem system
        const double *gamma
        double total  # mean square of the residual
        double kappa, noise, free_energy, residual, w_residual, m_residual
        double stiffness, h  # s and h of κ's equation
        double promised  # the decrease of F by Newton's step, twice, as λ²: the part of θ, and that of v
        double old_energy, old_residual, old_distance, old_kappa, tol
        int n_iter, n_evaluations

        void set_data(self, const double[::1] target, const double[::1] b, double floor) noexcept
        void set_model(self, double ridge, bint fixed_beta, double beta) noexcept nogil
        int descend(
            self, const double *theta, const double *w, const double *gamma, double tol, int max_iter, double most,
            const double *rival, double rival_energy, bint to_beat, double *trace,
        ) except -1 nogil
        int hear(self) except -1 nogil
        bint begin(self, const double *theta, const double *w) noexcept nogil
        void remember(self) noexcept nogil
        bint at_rest(self, double tol) noexcept nogil
        bint holds(self, double tol) noexcept nogil
        bint tells_copies_apart(self) noexcept nogil
        bint split(self, int i, int j) noexcept nogil
        void finish(self) noexcept nogil
        bint at_rival(self, const double *rival, double rival_energy) noexcept nogil
        bint hopeless(self, double rival_energy) noexcept nogil
        bint lowers(self) noexcept nogil
        bint find_newton_step(self, double tol) noexcept nogil
        void leave_saddle(self) noexcept nogil
        bint try_newton_step(self) noexcept nogil
        bint try_fixed_point_step(self) noexcept nogil
        bint evaluate(self) noexcept nogil
        bint residual_from_anchor(self) noexcept nogil
        double energy_in_full(self) noexcept nogil
        void residual_in_full(self) noexcept nogil
        double residual_by_root(self) noexcept nogil
        double residual_by_gram(self) noexcept nogil
        bint linearise(self) noexcept nogil
        double least_engaged(self) noexcept nogil
        bint find_w(self) noexcept nogil
