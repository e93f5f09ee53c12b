# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The descent for all features of a Block at once, by conjugate gradients instead of factorisations.

At a point (θ, w), with m = σ(θ), v = mw, κ = βn/2 and d = (1 + λ)χ_ii, F is known after two products with X, or
one with χ. What is left over of the equations of a minimum is

    R_i = c_i + χ_ii v_i − d_i w_i     and     ρ_i = γ_i + κ d_i w_i² − θ_i,

and κ follows E. Their linearisation, with θ and w eliminated, is one symmetric system for the change of v,

    (χ + diag(d/v′ − χ_ii) − z zᵀ/s) dv = R + (d/v′) t + z h/s,     v′ = ∂v/∂w = m + 2 m(1−m) κ d w²,

with t = m(1−m) w ρ, q = ∂v/∂κ = m(1−m) d w³, z = d q/v′, s = (E/κ − Σ d w m q/v′)/(2κ), h = Σ d w m t/(2κ v′) and
dκ = (z·dv + h)/s. Scaled by √(v′/d) its diagonal is one, whatever v′ is. Where F is convex it is positive definite:
conjugate gradients solve it (:mod:`garrote._system`), over the *engaged* features whose v′ is not negligible, and the
others follow. That is Newton's step. Where they meet a direction of negative curvature, the step goes on along it, off the
saddle. Where that does not lower F, the step is that of Eq. (m), or a part of it that does, with w anew for the new m: the
same system with m in the place of v′, without z and t.

What an evaluation needs of X is remembered where it was last computed in double precision, at the *anchor*: near by, only
the difference of v from there is multiplied, in single precision, for as long as that is exact enough for what the
evaluation is to show. Where a descent ends, it is exact to a small part of the tolerance.

F never rises. Where conjugate gradients are of no use (columns that are almost copies, a fit that is almost exact) the
descent is lost, and :mod:`garrote._descent` begins anew.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, fabs, log, log1p, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport ddot, dgemv

from garrote._system cimport EngagedSystem

import numpy as np

from garrote import limits

cdef extern from "_vectors.h" nogil:
    void sigmoids(int n, const double *theta, const double *w, double *m, double *most, double *v)
    double product(int n, const double *x)
    void left_over(
        int n, double ridge, const double *chi, const double *gamma, const double *theta, const double *m,
        const double *w, const double *v, const double *c, double *R, double *variance, double *bernoulli,
    )
    double largest_residual(
        int n, double ridge, double kappa, const double *chi, const double *per_chi, const double *gamma,
        const double *theta, const double *m, const double *w, const double *R, double *of_w,
    )
    void slopes(
        int n, double ridge, double kappa, const double *chi, const double *gamma, const double *theta,
        const double *m, const double *w, double *slope, double *q, double *t, double *with_q, double *with_t,
        double *with_rho,
    )
    void newton_step(
        int n, double ridge, double kappa, double kappa_change, double trust, double sure, double theta_max,
        const double *chi, const double *per_chi, const double *gamma, double *theta, double *w, double *image,
        double *step,
    )
    void change_w(int n, double ridge, const double *per_chi, const double *change, double *w)
    void go(int n, double length, const double *start, const double *step, double *out)
    int count_above(int n, double bound, const double *x)
    double product_with_sum(int n, const double *x, const double *y, const double *z)
    double largest_slope(int n, double ridge, double kappa, const double *chi, const double *m, const double *w)
    double finish_point(
        int n, double ridge, double kappa, double theta_max, const double *chi, const double *per_chi,
        const double *gamma, const double *theta, const double *m, double *R, double *w, double *goal,
    )
    void fixed_point_step(
        int n, double ridge, double kappa, double theta_max, const double *chi, const double *per_chi,
        const double *gamma, const double *theta, const double *w, const double *R, double *step,
    )

cdef extern from "_levels.h" nogil:
    void subtract_product(int rows, int n, const double *A, const double *x, const double *b, double *out)

cdef extern from "_single.h" nogil:
    int count_alike(int n, double bound, double slope, const double *slopes, const float *row)
    void right_side(
        int n, double unit, double shift, const int *chosen, const double *norm, const double *per_norm,
        const float *scale, const double *q, const double *t, const double *R, float *z, double *right,
    )
    void right_side_of_w(
        int n, const int *chosen, const double *per_norm, const float *scale, const double *R, float *z, double *right
    )

cdef int ONE = 1
cdef double PI = 3.141592653589793
cdef double NOISE_FLOOR = limits.NOISE_FLOOR
cdef double THETA_MAX = limits.THETA_MAX
cdef double ROUNDING = limits.ROUNDING
cdef double LOST_DIGITS = limits.LOST_DIGITS
cdef double TRUST = limits.TRUST  # but for features that are decided
cdef double SURE = limits.SURE
#: Newton's step, a quarter of it, …: so many are tried.
cdef int TRIES = 2
#: Features with a smaller v′ do not move the others within Newton's step: than this, or so many times the residual, but
#: no more than that.
cdef double ENGAGED = 1e-2
cdef double FOCUS = 5.0
cdef double MOST_ENGAGED = 0.2
#: More than so many are engaged only if their v′ are above MOST_ENGAGED: products with a larger matrix cost more than they
#: save in steps.
cdef int CROWD = 128
#: Features with a smaller m have w found by themselves.
cdef double JOINT = 0.2
#: The accuracy of conjugate gradients for Newton's step, relative to its right side, at most.
cdef double COARSE = 0.1
#: The accuracy of w when they are found anew: relative, and what they may leave of F. (The split between columns that are
#: almost copies hardly matters for F, but decides which of them stays.)
cdef double ACCURATE_W = 1e-2
cdef double W_OF_F = 1e-3
#: Where more than this is left of the equations, w may be far from those that belong to m, and are found anew.
cdef double FAR = 2.0
#: Where a descent ends, no w is farther from its equation than so many times the tolerance, in units of its own deviation: F
#: has the square of that, and Eq. (m) holds to the tolerance itself.
cdef double LOOSE = 10.0
#: w that leave so many times ⟨y²⟩ are none: what exchange foresees of almost copies may be rounding.
cdef double WORSE = 100.0
#: The least part of a fixed-point step that is tried.
cdef double SHORTEST_STEP = 0.01
#: Along a direction of negative curvature the step is so many times the fixed-point step, and changes θ by so much at most.
cdef double BOLD = 4.0
cdef double BOLDEST = 0.5
#: A descent has come to a rival when no inclusion differs by more than this.
cdef double HOME = 0.05
#: It is hopeless when so many times the decrease that Newton's step promises does not reach the rival.
cdef double HOPE = 4.0
#: On the way down nothing is made of a point above the best but the next start: it may be left with such a residual, where its
#: F is higher by so much that it will stay so.
cdef double ROUGH = 1e-3
cdef double ABOVE = 0.1
#: Two features with v′_i v′_j χ_ij² above this, in units of d_i d_j, are almost copies that share what one should have.
cdef double APART = 1.000001
#: In single precision, that is surely more than this.
cdef double ALIKE = 0.99999
#: With more than this part of ⟨y²⟩ left, the Gram matrix loses no digits that matter.
cdef double PLENTY = 1e-3
#: What single precision does to F, at most, and to m, roughly, in units of κ⟨y²⟩ and of the (squared) length that is rounded.
cdef double SINGLE = 1e-6
cdef double FUZZ = 3e-9
#: An evaluation is to show this part of the residual before, and may be wrong by this part of what it is to show.
cdef double PROGRESS = 1e-4
cdef double FAINT = 0.3
#: The farthest that an anchor is of use.
cdef double NEAR = 0.5
#: With so many features, or rows, and not more, plain loops over the Gram matrix, or the root, are faster than BLAS.
cdef int LEAST = 8
cdef int SMALL = 256
#: After so many steps a descent is lost.
cdef int PATIENCE = 100
#: Operations, roughly, between two looks at whether a signal came: some hundredths of a second.
cdef double DEAF = 1e8
#: Numbers between ½ and 1 of which the product is not too small.
cdef enum:
    FACTORS = 1000


@cython.final
cdef class ConjugateDescent:
    """The state of all features of a Block, and of the engaged ones what a step needs."""

    def __init__(self, root, target, gram, chi, b, double floor, double sigma2_y, double n_samples):
        cdef int width = len(chi)
        cdef double *start
        self.has_root = root is not None
        self.root = root if self.has_root else np.empty((0, width), order="F")
        self.gram, self.chi, self.per_chi = gram, chi, 1.0 / chi
        self.sigma2_y, self.n_samples = sigma2_y, n_samples
        self.width, self.rows = width, self.root.shape[0]
        self.set_data(target if self.has_root else np.empty(0), b, floor)
        self.system = EngagedSystem(root, gram, chi)
        self.memory = np.empty(20 * width + self.rows)
        start = &self.memory[0]
        self.theta, self.m, self.w, self.v = start, start + width, start + 2 * width, start + 3 * width
        self.goal, self.c, self.R, self.slope = start + 4 * width, start + 5 * width, start + 6 * width, start + 7 * width
        start += 8 * width
        self.q, self.t, self.most, self.image = start, start + width, start + 2 * width, start + 3 * width
        self.old_R, self.step = start + 4 * width, start + 5 * width
        self.old_theta, self.old_w = start + 6 * width, start + 7 * width
        self.right, self.change = start + 8 * width, start + 9 * width
        self.anchor_v, self.anchor_c, self.e = start + 10 * width, start + 11 * width, start + 12 * width

    cdef void set_data(self, const double[::1] target, const double[::1] b, double floor) noexcept:
        if self.has_data and &b[0] == &self.b[0] and floor == self.floor:  # what is known of them stays true
            if not self.has_root or &target[0] == &self.target[0]:
                return
        self.has_data, self.anchored = True, False
        self.target, self.b, self.floor, self.squares = target, b, floor, self.sigma2_y
        if self.has_root:  # a background was subtracted, perhaps
            self.squares = floor + ddot(&self.rows, <double *>&target[0], &ONE, <double *>&target[0], &ONE)
        self.unit = sqrt(self.squares)

    cdef void set_model(self, double ridge, bint fixed_beta, double beta) noexcept nogil:
        self.ridge, self.fixed_beta, self.beta = ridge, fixed_beta, beta

    cdef int descend(
        self, const double *theta, const double *w, const double *gamma, double tol, int max_iter, double most,
        const double *rival, double rival_energy, bint to_beat, double *trace,
    ) except -1 nogil:
        """Descend from θ, and from w if they are known; how it ended. F at the start and after each step is traced.

        The descent is abandoned when it selects more than ``most`` features, or when it comes close to the inclusions
        ``rival``, or will end above ``rival_energy``.
        """
        self.gamma, self.n_iter, self.n_evaluations = gamma, 0, 0
        self.system.n_engaged, self.system.order = 0, 1  # nothing of what was solved before
        self.tol, self.old_residual = tol, INFINITY
        if not self.begin(theta, w):
            return LOST
        while True:
            if trace != NULL:
                trace[self.n_iter] = trace[self.n_iter + 1] = self.energy_in_full()
            if self.at_rest(tol):
                if self.n_iter < max_iter and self.tells_copies_apart():
                    continue
                return AT_REST
            if rival != NULL and not to_beat and self.residual <= ROUGH and self.free_energy > rival_energy + ABOVE:
                self.finish()
                return AT_REST
            if self.n_iter >= max_iter:
                self.finish()
                return UNFINISHED
            if self.n_iter >= PATIENCE:
                return LOST
            self.hear()
            if count_above(self.width, 0.0, self.theta) > most or (rival != NULL and self.at_rival(rival, rival_energy)):
                self.finish()
                return ABANDONED
            self.remember()
            if self.find_newton_step(tol):
                if to_beat and self.hopeless(rival_energy):
                    self.finish()
                    return ABANDONED
                if self.try_newton_step():
                    self.n_iter += 1
                    continue
            if not self.try_fixed_point_step():
                return LOST
            self.n_iter += 1

    cdef int hear(self) except -1 nogil:
        """Ctrl-C shall not have to wait for the end, of one descent or of many."""
        if self.system.unheard > DEAF:
            self.system.unheard = 0.0
            with gil:
                PyErr_CheckSignals()
        return 0

    cdef bint begin(self, const double *theta, const double *w) noexcept nogil:
        """Evaluate the start; where w is not known, or not that of a solution near by, it is found for the given m."""
        self.by_gram = not self.has_root or 2 * self.rows >= self.width  # whatever was before
        memcpy(self.theta, theta, self.width * sizeof(double))
        if w != NULL:
            memcpy(self.w, w, self.width * sizeof(double))
            if self.evaluate() and self.noise < WORSE * self.sigma2_y:
                return self.w_residual <= FAR or self.find_w()
        memset(self.w, 0, self.width * sizeof(double))
        return self.evaluate() and self.find_w()

    cdef void remember(self) noexcept nogil:
        """Where steps begin."""
        memcpy(self.old_theta, self.theta, self.width * sizeof(double))
        memcpy(self.old_w, self.w, self.width * sizeof(double))
        memcpy(self.old_R, self.R, self.width * sizeof(double))
        self.old_energy, self.old_residual, self.old_kappa = self.free_energy, self.residual, self.kappa
        self.old_distance = self.anchor_distance

    cdef bint at_rest(self, double tol) noexcept nogil:
        """Whether Eq. (m) holds for every feature; then the descent is finished."""
        if not self.holds(tol):
            return False
        if self.fuzz > FAINT * tol:
            self.anchored = False
            if not self.evaluate() or not self.holds(tol):
                return False
        self.finish()
        return self.residual <= tol

    cdef bint holds(self, double tol) noexcept nogil:
        """Whether little is left of the equations."""
        return self.m_residual <= tol and self.w_residual <= LOOSE * tol

    cdef bint tells_copies_apart(self) noexcept nogil:
        """Whether two features that are almost copies share what one of them should have, and a step has undone that.

        Where copies are equal in everything, the point between their minima is a saddle that Newton's steps lead to, and
        conjugate gradients do not see. Along the difference of two features the curvature is negative where
        v′_i v′_j χ_ij² > d_i d_j. The first of them then takes all.
        """
        cdef int i, j
        cdef double unused, most = largest_slope(self.width, self.ridge, self.kappa, &self.chi[0], self.m, self.w)
        most /= 1.0 + self.ridge
        if most < APART:
            return False
        slopes(
            self.width, self.ridge, self.kappa, &self.chi[0], self.gamma, self.theta, self.m, self.w, self.slope,
            self.q, self.t, &unused, &unused, &unused,
        )
        for i in range(self.width):
            self.slope[i] /= 1.0 + self.ridge
        for i in range(self.width):
            if self.slope[i] * most < APART or count_alike(
                self.width, ALIKE, self.slope[i], self.slope, self.system.correlation + i * self.system.stride
            ) <= (self.slope[i] * self.slope[i] > ALIKE):  # it is like itself
                continue
            for j in range(i + 1, self.width):
                if self.slope[i] * self.slope[j] < APART:
                    continue
                if self.slope[i] * self.slope[j] * self.gram[i, j] * self.gram[i, j] > APART * self.chi[i] * self.chi[j]:
                    return self.split(i, j)
        return False

    cdef bint split(self, int i, int j) noexcept nogil:
        """Let the first of two features take all, if that lowers F."""
        self.remember()
        self.theta[i], self.theta[j] = max(self.theta[i], 0.0) + 2.0, min(self.theta[j], self.gamma[j])
        if self.evaluate() and self.find_w() and self.free_energy < self.old_energy:
            self.n_iter += 1
            return True
        memcpy(self.theta, self.old_theta, self.width * sizeof(double))
        memcpy(self.w, self.old_w, self.width * sizeof(double))
        self.evaluate()
        self.finish()
        return False

    cdef void finish(self) noexcept nogil:
        """w, the goals and the exact residual that belong to the present v."""
        self.residual = finish_point(
            self.width, self.ridge, self.kappa, THETA_MAX, &self.chi[0], &self.per_chi[0], self.gamma, self.theta, self.m, self.R, self.w,
            self.goal,
        )

    cdef bint at_rival(self, const double *rival, double rival_energy) noexcept nogil:
        """Whether the descent has come, from above, to where the rival is."""
        cdef int i
        if self.free_energy < rival_energy:
            return False
        for i in range(self.width):
            if fabs(self.m[i] - rival[i]) > HOME:
                return False
        return True

    cdef bint hopeless(self, double rival_energy) noexcept nogil:
        """Whether F will stay above the rival's, as Newton's step predicts where F is convex."""
        return self.system.convex and self.promised < 1.0 and self.free_energy - HOPE * self.promised > rival_energy

    # ---- steps ---------------------------------------------------------------------------------------------

    cdef bint lowers(self) noexcept nogil:
        """Whether F is no higher than before the step; within its rounding error, the smaller residual decides."""
        cdef double rise, rounding, lost
        rise = self.free_energy - self.old_energy
        lost = self.sigma2_y / self.noise if self.by_gram else sqrt(self.sigma2_y / self.noise)
        rounding = ROUNDING * (1.0 + fabs(self.old_energy)) + LOST_DIGITS * self.n_samples * lost
        rounding += SINGLE * self.kappa * self.squares * max(self.anchor_distance, self.old_distance) ** 2
        return rise <= 0.0 or (rise <= rounding and self.residual < self.old_residual)

    cdef bint find_newton_step(self, double tol) noexcept nogil:
        """Newton's step; where F is not convex, that and a step off the saddle. False where there is neither."""
        if not self.linearise():
            return False
        self.system.solve(self.right, max(min(COARSE, sqrt(self.residual)), 0.3 * tol / self.residual), INFINITY)
        self.promised += 2.0 * self.kappa * self.system.gain
        if not self.system.convex:
            self.leave_saddle()
        return True

    cdef void leave_saddle(self) noexcept nogil:
        """Go on, from what conjugate gradients have found so far, along the direction of negative curvature.

        The fixed-point step goes there too, by what is left of the gradient, but it takes many to get away.
        """
        cdef int i, p
        cdef double change, largest = 0.0
        for p in range(self.system.n_engaged):  # the largest change of θ that the direction means
            if self.system.scale[p] > 0.0:
                i = self.system.engaged[p]
                change = self.w[i] * self.system.norm[i] * self.system.direction[p] / self.system.scale[p]
                largest = max(largest, 2.0 * self.kappa * fabs(change))
        self.system.go_on(BOLD, BOLDEST / (largest * self.system.size))

    cdef bint try_newton_step(self) noexcept nogil:
        """Go by what the engaged features' change of v means, or a part of it, if that lowers F."""
        cdef int p, tries
        cdef double along = 0.0, length = 0.25
        for p in range(self.system.n_engaged):
            along += self.system.z[p] * self.system.x[p]
        along = 0.0 if self.fixed_beta else along * self.system.size / sqrt(self.stiffness) + self.h / self.stiffness
        self.system.respond(self.R, self.image)
        newton_step(
            self.width, self.ridge, self.kappa, along, TRUST, SURE, THETA_MAX, &self.chi[0], &self.per_chi[0], self.gamma,
            self.theta, self.w, self.image, self.step,
        )
        for tries in range(TRIES):
            if self.evaluate() and (self.w_residual <= FAR or self.find_w()) and self.lowers():
                return True
            go(self.width, length, self.old_theta, self.step, self.theta)
            go(self.width, length, self.old_w, self.image, self.w)
            length *= 0.25
        return False

    cdef bint try_fixed_point_step(self) noexcept nogil:
        """The step of Eq. (m), a half of it, …, whichever first lowers F; False if there is none."""
        cdef double length = 1.0
        fixed_point_step(
            self.width, self.ridge, self.old_kappa, THETA_MAX, &self.chi[0], &self.per_chi[0], self.gamma, self.old_theta,
            self.old_w, self.old_R, self.step,
        )
        while length >= SHORTEST_STEP:
            go(self.width, length, self.old_theta, self.step, self.theta)
            memcpy(self.w, self.old_w, self.width * sizeof(double))
            if self.evaluate() and self.find_w() and self.lowers():
                return True
            length *= 0.5
        return False

    # ---- evaluation ----------------------------------------------------------------------------------------

    cdef bint evaluate(self) noexcept nogil:
        """v, the fit, E, κ, F and the residual of Eq. (m), to first order, at the present θ and w."""
        cdef int i, n = self.width
        cdef double spread = 0.0, bernoulli = 0.0
        self.n_evaluations += 1
        self.system.unheard += <double>n * n
        sigmoids(n, self.theta, self.w, self.m, self.most, self.v)
        if not self.residual_from_anchor():
            self.residual_in_full()
        left_over(
            n, self.ridge, &self.chi[0], self.gamma, self.theta, self.m, self.w, self.v, self.c, self.R, &spread,
            &bernoulli,
        )
        self.noise = self.total + spread
        if not NOISE_FLOOR * self.sigma2_y < self.noise < INFINITY:
            return False
        for i in range((n - 1) // FACTORS + 1):
            bernoulli += log(product(min(<int>FACTORS, n - i * FACTORS), self.most + i * FACTORS))
        self.kappa = 0.5 * self.n_samples * (self.beta if self.fixed_beta else 1.0 / self.noise)
        self.free_energy = (
            0.5 * self.n_samples * log(PI * self.n_samples / self.kappa) + self.kappa * self.noise + bernoulli
        )
        self.residual = largest_residual(
            n, self.ridge, self.kappa, &self.chi[0], &self.per_chi[0], self.gamma, self.theta, self.m, self.w, self.R,
            &self.w_residual,
        )
        self.m_residual, self.residual = self.residual, max(self.residual, self.w_residual)
        return True

    cdef bint residual_from_anchor(self) noexcept nogil:
        """c and the mean square of the residual, from those of an anchor near by; False where that is not exact enough.

        Only the difference of v from there is multiplied in single precision. That need not be more exact than what the
        evaluation is to show: a small part of the residual before, or the tolerance.
        """
        if not self.anchored:
            return False
        self.anchor_distance = self.system.distance(self.unit, self.v, self.anchor_v)
        self.fuzz = FUZZ * self.kappa * self.squares * self.anchor_distance
        if self.fuzz > FAINT * max(self.tol, PROGRESS * self.old_residual) or self.anchor_distance > NEAR:
            return False
        self.total = self.anchor_total - self.system.move(self.unit, self.v, self.anchor_v, self.anchor_c, self.c)
        return self.total > PLENTY * self.squares

    cdef double energy_in_full(self) noexcept nogil:
        """F, as double precision has it; nothing else changes."""
        cdef double change
        if self.anchor_distance == 0.0:
            return self.free_energy
        memcpy(self.change, self.c, self.width * sizeof(double))
        change = self.residual_by_root() if self.has_root else self.residual_by_gram()
        memcpy(self.c, self.change, self.width * sizeof(double))
        change -= self.total
        return self.free_energy + (
            self.kappa * change if self.fixed_beta else 0.5 * self.n_samples * log1p(change / self.noise)
        )

    cdef void residual_in_full(self) noexcept nogil:
        """The same in double precision; an anchor for what follows."""
        if self.by_gram:
            self.total = self.residual_by_gram()
            self.by_gram = not self.has_root or self.total > PLENTY * self.squares
        if not self.by_gram:
            self.total = self.residual_by_root()
        memcpy(self.anchor_v, self.v, self.width * sizeof(double))
        memcpy(self.anchor_c, self.c, self.width * sizeof(double))
        self.anchored, self.anchor_total = self.total > PLENTY * self.squares, self.total
        self.anchor_distance = self.fuzz = 0.0

    cdef double residual_by_root(self) noexcept nogil:
        """c = rootᵀe and the mean square of the residual e = target − root·v."""
        cdef double one = 1.0, zero = 0.0, minus = -1.0
        cdef double *root = <double *>&self.root[0, 0]
        if LEAST <= self.rows <= SMALL:  # column by column
            subtract_product(self.width, self.rows, root, self.v, &self.target[0], self.e)
        else:
            memcpy(self.e, &self.target[0], self.rows * sizeof(double))
            dgemv("N", &self.rows, &self.width, &minus, root, &self.rows, self.v, &ONE, &one, self.e, &ONE)
        dgemv("T", &self.rows, &self.width, &one, root, &self.rows, self.e, &ONE, &zero, self.c, &ONE)
        return self.floor + ddot(&self.rows, self.e, &ONE, self.e, &ONE)

    cdef double residual_by_gram(self) noexcept nogil:
        """The same as c = b − χv and ⟨y²⟩ − v·(b + c), of which rounding leaves less."""
        cdef double one = 1.0, minus = -1.0
        cdef double *gram = <double *>&self.gram[0, 0]
        if LEAST <= self.width <= SMALL:
            subtract_product(self.width, self.width, gram, self.v, &self.b[0], self.c)
        else:
            memcpy(self.c, &self.b[0], self.width * sizeof(double))
            dgemv("N", &self.width, &self.width, &minus, gram, &self.width, self.v, &ONE, &one, self.c, &ONE)
        return self.squares - product_with_sum(self.width, self.v, &self.b[0], self.c)

    # ---- linear systems ------------------------------------------------------------------------------------

    cdef bint linearise(self) noexcept nogil:
        """Newton's system; False where E's part is not that of a minimum."""
        cdef double lost = 0.0, h = 0.0
        slopes(
            self.width, self.ridge, self.kappa, &self.chi[0], self.gamma, self.theta, self.m, self.w, self.slope,
            self.q, self.t, &lost, &h, &self.promised,
        )
        self.stiffness, self.h = 1.0, 0.0
        if self.fixed_beta:
            memset(self.q, 0, self.width * sizeof(double))
        else:
            self.stiffness, self.h = (self.noise / self.kappa - lost) / (2.0 * self.kappa), h / (2.0 * self.kappa)
        if self.stiffness <= 0.0:
            return False
        self.system.engage(self.slope, self.least_engaged(), self.ridge)
        right_side(
            self.system.n_engaged, 1.0 / sqrt(self.stiffness), self.h / self.stiffness, &self.system.engaged[0],
            &self.system.norm[0], &self.system.per_norm[0], self.system.scale, self.q, self.t, self.R, self.system.z, self.right,
        )
        return True

    cdef double least_engaged(self) noexcept nogil:
        """The v′ that an engaged feature has at least."""
        cdef double least = min(max(FOCUS * self.residual, ENGAGED), MOST_ENGAGED)
        while count_above(self.width, least, self.slope) > CROWD and least < MOST_ENGAGED:
            least *= 1.5
        return least

    cdef bint find_w(self) noexcept nogil:
        """w for the present m, jointly, and an evaluation with them; θ stays."""
        self.system.engage(self.m, JOINT, self.ridge)
        right_side_of_w(
            self.system.n_engaged, &self.system.engaged[0], &self.system.per_norm[0], self.system.scale, self.R,
            self.system.z, self.right,
        )
        self.system.solve(self.right, ACCURATE_W, W_OF_F / (2.0 * self.kappa))
        if not self.system.convex:
            return False
        self.system.respond(self.R, self.change)
        change_w(self.width, self.ridge, &self.per_chi[0], self.change, self.w)
        return self.evaluate()
