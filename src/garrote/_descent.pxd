# cython: language_level=3
"""The compiled descent as the compiled search sees it; its methods are explained in _descent.pyx."""

cimport cython

from garrote._conjugate cimport ConjugateDescent


@cython.final
cdef class BlockDescent:
    cdef:
        const double[::1, :] root
        const double[::1] target
        const double[:, ::1] gram
        const double[::1] chi, b
        double *gamma
        double floor, sigma2_y, n_samples, ridge, beta
        bint reserved, has_root, fixed_beta
        int width, rows
        double[::1] state  # the five arrays below, one after the other, and γ
        ConjugateDescent conjugate
        double *theta
        double *m
        double *w
        double *v
        double *goal
        double[::1] base  # the residual without the strong features' part; where there is no root, its correlations
        double[::1] e  # the residual, or its correlations
        double base_squares, weak_spread, weak_bernoulli, weak_out
        double largest, running_noise, running_beta  # of a visit to the weak features
        bint risen
        int n_strong, at
        int[::1] strong
        char[::1] is_strong, promoted
        const double *rival  # the inclusions of a solution that is to be beaten, or NULL
        double rival_energy
        bint to_beat
        double[::1] moved
        double[:, ::1] s_theta, s_m, s_w, s_v, s_goal, s_root_m, s_slack, chol  # of the strong ones, at both points
        double[:, ::1] matrices  # the memory of all of them
        double noise[2]
        double free_energy[2]
        double residual[2]
        double least_newton  # the shortest part of Newton's step that is tried
        bint dual[2]  # in which form M is factorised
        double[::1] strong_root  # the strong features' columns, one after the other
        bint gathers, finished
        double[::1] c_base  # the strong features' correlations with the base
        double[::1] c, u, work, step, t, a, y
        double[::1] inverse, hessian
        double[:, ::1] cg
        int[::1] local
        public int n_iter, n_factorizations
        public bint converged

        void model(self, double ridge, object beta) except *
        int reserve(self) except -1
        int descend(
            self, const double *theta, const double *w, double tol, int max_iter, double most, double *trace
        ) except -1 nogil
        bint ends_by_gradients(
            self, const double *theta, const double *w, double tol, int max_iter, double most, double *trace
        ) except -1 nogil
        bint at_rest(self, double weak_change, double before, double tol) noexcept nogil
        int selected(self) noexcept nogil
        void scatter(self) noexcept nogil
        void choose_strong(self) noexcept nogil
        void sum_weak(self) noexcept nogil
        void add_weak(self, int i) noexcept nogil
        void promote(self, double largest) noexcept nogil
        void scatter_if_any(self) noexcept nogil
        void rebuild_base(self) noexcept nogil
        void measure_base(self) noexcept nogil
        void strong_products(self, double[::1] residual, double[::1] out) noexcept nogil
        void add_strong(self, int k, double factor, double[::1] residual) noexcept nogil
        void remove(self, int i, double change, double[::1] residual) noexcept nogil
        double correlation(self, int i, double[::1] residual) noexcept nogil
        double visit_weak(self, bint keep_m) noexcept nogil
        void visit_panel(self, int first, int size, bint keep_m) noexcept nogil
        double settle(self, int i, double c, bint keep_m) noexcept nogil
        bint take_step(self) noexcept nogil
        bint attempt(self, double length) noexcept nogil
        double fit(self, int k) noexcept nogil
        void factorize(self, int k) noexcept nogil
        void factorize_dual(self, int k) noexcept nogil
        void factorize_primal(self, int k) noexcept nogil
        void solve_system(self, int k, double *x) noexcept nogil
        void evaluate(self, int k, bint factorized) noexcept nogil
        bint refine(self, int k) noexcept nogil
        void set_v(self, int k) noexcept nogil
        double aim(self, int i, double beta, double w) noexcept nogil
        double gaussian(self, int k) noexcept nogil
        double rounding_error(self, int k) noexcept nogil
        double precision(self, int k) noexcept nogil
        void newton(self, int k) noexcept nogil
        double follows(self, int k) noexcept nogil
        bint newton_directly(self, int k, int undecided) noexcept nogil
        void newton_by_gradients(self, int k, int undecided) noexcept nogil
        double largest_step(self, int undecided, double[::1] x) noexcept nogil
        void apply_hessian(self, int k, int undecided, double[::1] x, double[::1] image) noexcept nogil
        void finish(self) noexcept nogil
