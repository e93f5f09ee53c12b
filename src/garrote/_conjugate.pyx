# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The descent for all features of a Block at once, by conjugate gradients instead of factorisations.

At a point (θ, w), with m = σ(θ), v = mw, κ = βn/2 and d = (1 + λ)χ_ii, F is known after two products with X. What is
left over of the equations of a minimum is

    R_i = c_i + χ_ii v_i − d_i w_i     and     ρ_i = γ_i + κ d_i w_i² − θ_i,

and κ follows E. Their linearisation, with θ and w eliminated, is one symmetric system for the change of v,

    (χ + diag(d/v′ − χ_ii) − z zᵀ/s) dv = R + (d/v′) t + z h/s,     v′ = ∂v/∂w = m + 2 m(1−m) κ d w²,

with t = m(1−m) w ρ, q = ∂v/∂κ = m(1−m) d w³, z = d q/v′, s = (E/κ − Σ d w m q/v′)/(2κ), h = Σ d w m t/(2κ v′) and
dκ = (z·dv + h)/s. Scaled by √(v′/d) its diagonal is one, whatever v′ is. Where F is convex it is positive definite:
conjugate gradients solve it, over the *engaged* features whose v′ is not negligible, and the others follow. That is
Newton's step. Where the curvature is negative, or Newton's step does not lower F, the step is that of Eq. (m), or a part of
it that lowers F, with w anew for the new m: the same system with m in the place of v′, without z and t.

F never rises. Where conjugate gradients are of no use (columns that are almost copies, a fit that is almost exact) the
descent is lost, and :mod:`garrote._descent` goes on from where it was.
"""

cimport cython
from libc.math cimport INFINITY, fabs, log, sqrt
from libc.string cimport memcpy, memset
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv

import numpy as np

cdef extern from "_vectors.h" nogil:
    void sigmoids(int n, const double *theta, const double *w, double *m, double *most, double *v)
    double product(int n, const double *x)
    void left_over(
        int n, double ridge, const double *chi, const double *gamma, const double *theta, const double *m,
        const double *w, const double *v, const double *c, double *R, double *variance, double *bernoulli,
    )
    double largest_residual(
        int n, double ridge, double kappa, const double *chi, const double *gamma, const double *theta,
        const double *m, const double *w, const double *R,
    )
    void slopes(
        int n, double ridge, double kappa, const double *chi, const double *gamma, const double *theta,
        const double *m, const double *w, double *slope, double *q, double *t, double *with_q, double *with_t,
    )
    double scaled(int n, const double *scale, const double *z, const double *direction, double *side)
    double curvature_of(
        int n, double along, const double *scale, const double *rest, const double *z, const double *direction,
        double *applied,
    )
    double advance(
        int n, double length, const double *direction, const double *applied, double *x, double *r
    )
    void turn(int n, double factor, const double *r, double *direction)
    void newton_step(
        int n, double ridge, double kappa, double kappa_change, double trust, double sure, double theta_max,
        const double *chi, const double *gamma, const double *theta, const double *w, double *image, double *step,
    )
    void go(int n, double length, const double *start, const double *step, double *out)
    void fixed_point_step(
        int n, double ridge, double kappa, double theta_max, const double *chi, const double *gamma,
        const double *theta, const double *w, const double *R, double *step,
    )

cdef int ONE = 1
cdef double NOISE_FLOOR = 1e-20
cdef double PI = 3.141592653589793
cdef double THETA_MAX = 500.0
cdef double ROUNDING = 1e-13
cdef double LOST_DIGITS = 2.2e-15
#: The largest change of θ in a step of Newton's, but for features that are decided (as in _descent.pyx).
cdef double TRUST = 8.0
cdef double SURE = 9.3
#: Newton's step, a quarter of it, …: so many are tried.
cdef int TRIES = 2
#: Features with a smaller v′ do not move the others within Newton's step.
cdef double ENGAGED = 1e-2
cdef double FOCUS = 5.0
#: Features with a smaller m have w found by themselves.
cdef double JOINT = 0.2
#: Engaged features are chosen anew when there are so many times too many.
cdef double IDLE = 1.25
#: The accuracy of conjugate gradients for Newton's step, relative to its right side, at most.
cdef double COARSE = 0.1
#: What w may leave of F when they are found anew.
cdef double ACCURATE_W = 1e-3
#: Where more than this is left of the equations at the start, w is not that of a solution near by.
cdef double FAR = 0.5
#: After a fixed-point step Newton's is tried again when less than this is left of the residual.
cdef double CALMER = 0.8
#: The least part of a fixed-point step that is tried.
cdef double SHORTEST_STEP = 0.01
#: A fixed-point step in the direction of the last one, at an angle with at least this cosine, may be so many times longer,
#: as long as θ changes by no more than so much.
cdef double STRAIGHT = 0.9
cdef double BOLD = 4.0
cdef double BOLDEST = 1.0
#: A descent has come to a rival when no inclusion differs by more than this.
cdef double HOME = 0.05
#: It is hopeless when so many times the decrease that Newton's step promises does not reach the rival.
cdef double HOPE = 20.0
#: After so many steps a descent is lost.
cdef int PATIENCE = 100
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
        self.gram, self.chi = gram, chi
        self.sigma2_y, self.n_samples = sigma2_y, n_samples
        self.width, self.rows = width, self.root.shape[0]
        self.set_data(target if self.has_root else np.empty(0), b, floor)
        self.engaged = np.empty(width, dtype=np.intc)
        self.gathered = np.empty((3 * width // 4) ** 2 + 1)
        self.memory = np.empty(25 * width + 2 * self.rows)
        start = &self.memory[0]
        self.theta, self.m, self.w, self.v = start, start + width, start + 2 * width, start + 3 * width
        self.goal, self.c, self.R, self.slope = start + 4 * width, start + 5 * width, start + 6 * width, start + 7 * width
        start += 8 * width
        self.q, self.t, self.most, self.image = start, start + width, start + 2 * width, start + 3 * width
        self.fixed, self.last = start + 4 * width, start + 5 * width
        self.old_theta, self.old_w = start + 6 * width, start + 7 * width
        start += 8 * width
        self.scale, self.rest, self.z, self.x = start, start + width, start + 2 * width, start + 3 * width
        self.r, self.direction = start + 4 * width, start + 5 * width
        self.applied, self.side = start + 6 * width, start + 7 * width
        start += 8 * width
        self.step, self.e, self.fit = start, start + width, start + width + self.rows

    cdef void set_data(self, const double[::1] target, const double[::1] b, double floor) noexcept:
        self.target, self.b, self.floor = target, b, floor

    cdef void set_model(self, double ridge, bint fixed_beta, double beta) noexcept nogil:
        self.ridge, self.fixed_beta, self.beta = ridge, fixed_beta, beta

    cdef int descend(
        self, const double *theta, const double *w, const double *gamma, double tol, int max_iter, double most,
        const double *rival, double rival_energy, double *trace,
    ) noexcept nogil:
        """Descend from θ, and from w if they are known; how it ended. F at the start and after each step is traced."""
        cdef double energy, residual, last_residual = INFINITY
        cdef bint accepted, by_fixed_point = False
        cdef int i, selected, size = self.width * sizeof(double)
        self.gamma, self.n_iter, self.n_evaluations, self.n_engaged = gamma, 0, 0, 0
        memcpy(self.theta, theta, size)
        memset(self.w, 0, size)
        if w != NULL:
            memcpy(self.w, w, size)
        memcpy(self.old_theta, self.theta, size)
        memcpy(self.old_w, self.w, size)
        if not self.evaluate():
            return LOST
        if (w == NULL or self.residual > FAR) and not (self.solve_w() and self.evaluate()):
            return LOST
        while True:
            if trace != NULL:
                trace[self.n_iter] = trace[self.n_iter + 1] = self.free_energy
            if self.at_rest(tol):
                return AT_REST
            if self.n_iter >= max_iter:
                self.finish()
                return UNFINISHED
            if self.n_iter >= PATIENCE:
                return LOST
            selected = 0
            for i in range(self.width):
                selected += self.theta[i] > 0.0
            if selected > most or (rival != NULL and self.at_rival(rival, rival_energy)):
                self.finish()
                return ABANDONED
            memcpy(self.old_theta, self.theta, size)
            memcpy(self.old_w, self.w, size)
            fixed_point_step(
                self.width, self.ridge, self.kappa, THETA_MAX, &self.chi[0], gamma, self.theta, self.w, self.R, self.fixed
            )
            energy, residual = self.free_energy, self.residual
            accepted = False
            self.escapes = False
            if (not by_fixed_point or residual < CALMER * last_residual) and self.newton(tol):
                if (
                    rival != NULL and not self.escapes and self.promised < 1.0
                    and energy - HOPE * self.promised > rival_energy
                ):
                    self.finish()
                    return ABANDONED
                accepted = self.try_newton(energy, residual)
            if accepted:
                by_fixed_point = False
            else:
                if not self.fixed_point(self.boldness(by_fixed_point), energy, residual):
                    return LOST
                by_fixed_point = True
            last_residual = residual
            self.n_iter += 1

    cdef bint at_rest(self, double tol) noexcept nogil:
        """Whether Eq. (m) holds for every feature; then the descent is finished."""
        if self.residual > tol:
            return False
        self.finish()
        return self.residual <= tol

    cdef void finish(self) noexcept nogil:
        """w, the goals and the exact residual that belong to the present v."""
        cdef int i
        cdef double d
        for i in range(self.width):
            d = (1.0 + self.ridge) * self.chi[i]
            self.w[i] += self.R[i] / d
            self.R[i] = 0.0
            self.goal[i] = min(self.gamma[i] + self.kappa * d * self.w[i] * self.w[i], THETA_MAX)
        sigmoids(self.width, self.goal, self.w, self.slope, self.most, self.q)
        self.residual = 0.0
        for i in range(self.width):
            self.residual = max(
                self.residual, fabs(self.slope[i] - self.m[i]) * max(fabs(self.goal[i] - self.theta[i]), 1.0)
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

    cdef bint accepts(self, double energy, double residual) noexcept nogil:
        """Whether F is no higher than before; within its rounding error, the smaller residual decides."""
        cdef double good = self.sigma2_y / self.noise
        cdef double rounding = ROUNDING * (1.0 + fabs(energy)) + LOST_DIGITS * self.n_samples * sqrt(good)
        return self.free_energy <= energy or (self.free_energy <= energy + rounding and self.residual < residual)

    # ---- steps ---------------------------------------------------------------------------------------------

    cdef bint newton(self, double tol) noexcept nogil:
        """Find Newton's step, and the decrease of F it promises (twice, as λ² does); False where F is not convex."""
        if not self.linearise():
            return False
        return self.solve(max(min(COARSE, sqrt(self.residual)), 0.1 * tol / self.residual), 0.0)

    cdef bint try_newton(self, double energy, double residual) noexcept nogil:
        """Go by what the engaged ones' dv = √(v′/d) x means, or a part of it, if that lowers F."""
        cdef int p, tries
        cdef double along = self.h, length = 1.0
        for p in range(self.n_engaged):
            along += self.z[p] * self.x[p]
        along = 0.0 if self.fixed_beta else along / self.stiffness
        self.respond()
        newton_step(
            self.width, self.ridge, self.kappa, along, TRUST, SURE, THETA_MAX, &self.chi[0], self.gamma, self.theta,
            self.w, self.image, self.step,
        )
        for tries in range(TRIES):
            go(self.width, length, self.old_theta, self.step, self.theta)
            go(self.width, length, self.old_w, self.image, self.w)
            if self.evaluate() and self.accepts(energy, residual):
                return True
            length *= 0.25
        return False

    cdef bint fixed_point(self, double length, double energy, double residual) noexcept nogil:
        """The longest part of the fixed-point step that lowers F, beginning with a length; False if there is none."""
        while length >= SHORTEST_STEP:
            go(self.width, length, self.old_theta, self.fixed, self.theta)
            memcpy(self.w, self.old_w, self.width * sizeof(double))
            if self.evaluate() and self.solve_w() and self.evaluate() and self.accepts(energy, residual):
                return True
            length = min(1.0, 0.5 * length)
        return False

    cdef double boldness(self, bint again) noexcept nogil:
        """How long the fixed-point step may be: longer than one where it goes on in the direction of the last one.

        On the way off a saddle the steps grow slowly, each by the same factor.
        """
        cdef int i
        cdef double first = 0.0, second = 0.0, both = 0.0, longest = 0.0, weight
        for i in range(self.width):
            weight = self.m[i] * (1.0 - self.m[i])
            first += weight * self.last[i] * self.last[i]
            second += weight * self.fixed[i] * self.fixed[i]
            both += weight * self.last[i] * self.fixed[i]
            longest = max(longest, fabs(self.fixed[i]) if fabs(self.theta[i]) < SURE else 0.0)
        memcpy(self.last, self.fixed, self.width * sizeof(double))
        if not again or both <= STRAIGHT * sqrt(first * second):
            return 1.0
        return max(1.0, min(BOLD, BOLDEST / longest))

    # ---- evaluation ----------------------------------------------------------------------------------------

    cdef bint evaluate(self) noexcept nogil:
        """v, the fit, E, κ, F and the residual of Eq. (m), to first order, at the present θ and w."""
        cdef int i, n = self.width
        cdef double one = 1.0, zero = 0.0, minus = -1.0, total, spread = 0.0, bernoulli = 0.0
        self.n_evaluations += 1
        sigmoids(n, self.theta, self.w, self.m, self.most, self.v)
        if self.has_root:
            memcpy(self.e, &self.target[0], self.rows * sizeof(double))
            dgemv("N", &self.rows, &n, &minus, <double *>&self.root[0, 0], &self.rows, self.v, &ONE, &one, self.e, &ONE)
            dgemv("T", &self.rows, &n, &one, <double *>&self.root[0, 0], &self.rows, self.e, &ONE, &zero, self.c, &ONE)
            total = self.floor + ddot(&self.rows, self.e, &ONE, self.e, &ONE)
        else:
            memcpy(self.c, &self.b[0], n * sizeof(double))
            dgemv("N", &n, &n, &minus, <double *>&self.gram[0, 0], &n, self.v, &ONE, &one, self.c, &ONE)
            total = self.sigma2_y
            for i in range(n):
                total -= self.v[i] * (self.b[i] + self.c[i])
        left_over(
            n, self.ridge, &self.chi[0], self.gamma, self.theta, self.m, self.w, self.v, self.c, self.R, &spread,
            &bernoulli,
        )
        self.noise = total + spread
        if not self.noise > NOISE_FLOOR * self.sigma2_y:
            return False
        for i in range((n - 1) // FACTORS + 1):
            bernoulli += log(product(min(<int>FACTORS, n - i * FACTORS), self.most + i * FACTORS))
        self.kappa = 0.5 * self.n_samples * (self.beta if self.fixed_beta else 1.0 / self.noise)
        self.free_energy = (
            0.5 * self.n_samples * log(PI * self.n_samples / self.kappa) + self.kappa * self.noise + bernoulli
        )
        self.residual = largest_residual(
            n, self.ridge, self.kappa, &self.chi[0], self.gamma, self.theta, self.m, self.w, self.R
        )
        return True

    # ---- linear systems ------------------------------------------------------------------------------------

    cdef bint linearise(self) noexcept nogil:
        """Newton's system; False where E's part is not that of a minimum."""
        cdef int i, p
        cdef double s, lost = 0.0, h = 0.0
        slopes(
            self.width, self.ridge, self.kappa, &self.chi[0], self.gamma, self.theta, self.m, self.w, self.slope,
            self.q, self.t, &lost, &h,
        )
        self.stiffness, self.h = 1.0, 0.0
        if self.fixed_beta:
            memset(self.q, 0, self.width * sizeof(double))
        else:
            self.stiffness, self.h = (self.noise / self.kappa - lost) / (2.0 * self.kappa), h / (2.0 * self.kappa)
        if self.stiffness <= 0.0:
            return False
        self.engage(self.slope, min(max(self.residual * FOCUS, ENGAGED), 0.2))
        for p in range(self.n_engaged):
            i, s = self.engaged[p], self.scale[p]
            self.z[p] = self.q[i] / s if s > 0.0 else 0.0
            self.r[p] = s * self.R[i] + (self.t[i] / s if s > 0.0 else 0.0) + self.z[p] * self.h / self.stiffness
        return True

    cdef bint solve_w(self) noexcept nogil:
        """w for the present m, jointly; θ stays."""
        cdef int i, p
        self.stiffness = 1.0
        self.engage(self.m, JOINT)
        for p in range(self.n_engaged):
            self.z[p] = 0.0
            self.r[p] = self.scale[p] * self.R[self.engaged[p]]
        if not self.solve(0.0, ACCURATE_W / (2.0 * self.kappa)):
            return False
        self.respond()
        for i in range(self.width):
            self.w[i] += self.image[i] / ((1.0 + self.ridge) * self.chi[i])
        return True

    cdef void engage(self, const double *weight, double least) noexcept nogil:
        """Let the features with a weight take part, and scale them; a matrix that serves is not gathered again."""
        cdef int i, j, p, n = 0, known = 0
        cdef const double *row
        cdef double d, w
        for i in range(self.width):
            n += weight[i] > least
        for p in range(self.n_engaged):
            known += weight[self.engaged[p]] > least
        if known < n or self.n_engaged > IDLE * n + 8:
            self.gather(weight, least, n)
        for p in range(self.n_engaged):
            i = self.engaged[p]
            d, w = (1.0 + self.ridge) * self.chi[i], weight[i]
            self.scale[p], self.rest[p] = sqrt(w / d), 1.0 - w * self.chi[i] / d

    cdef void gather(self, const double *weight, double least, int n) noexcept nogil:
        """The Gram matrix of the n features with a weight, or of all."""
        cdef int i, j, p = 0
        cdef bint all_of_them = 4 * n > 3 * self.width  # to gather most of a matrix takes longer than to use it
        cdef const double *row
        for i in range(self.width):
            if all_of_them or weight[i] > least:
                self.engaged[p] = i
                p += 1
        self.n_engaged = p
        self.block = &self.gram[0, 0]
        if all_of_them:
            return
        self.block = &self.gathered[0]
        for p in range(n):
            row = &self.gram[self.engaged[p], 0]
            for j in range(n):
                self.gathered[p * n + j] = row[self.engaged[j]]

    cdef bint solve(self, double accuracy, double least) noexcept nogil:
        """Conjugate gradients for the scaled system; False where they meet a direction without positive curvature.

        They end when the squares of what is left are below ``least``, or so much smaller than at first.
        """
        cdef int n = self.n_engaged, steps
        cdef double squares, before, curvature
        memset(self.x, 0, n * sizeof(double))
        memcpy(self.direction, self.r, n * sizeof(double))
        squares = ddot(&n, self.r, &ONE, self.r, &ONE)
        least, self.promised = max(least, accuracy * accuracy * squares), 0.0
        for steps in range(n):
            if squares <= least:
                break
            curvature = self.apply()
            if not curvature > 0.0:
                return self.escape(squares)
            self.promised += 2.0 * self.kappa * squares * squares / curvature
            before = squares
            squares = advance(n, squares / curvature, self.direction, self.applied, self.x, self.r)
            turn(n, squares / before, self.r, self.direction)
        return True

    cdef bint escape(self, double squares) noexcept nogil:
        cdef int i, p, n = self.n_engaged
        cdef double length, largest = 0.0
        self.escapes = True
        for p in range(n):
            i = self.engaged[p]
            if self.slope[i] > 0.0:
                largest = max(largest, fabs(2.0 * self.kappa * self.w[i] * self.direction[p]) * sqrt((1.0 + self.ridge) * self.chi[i] / self.slope[i]))
        length = BOLD * squares / ddot(&n, self.direction, &ONE, self.direction, &ONE)
        length = min(length, BOLDEST / largest)
        for p in range(n):
            self.x[p] += length * self.direction[p]
        return True

    cdef double apply(self) noexcept nogil:
        """The scaled matrix times the direction; the curvature along it."""
        cdef int n = self.n_engaged
        cdef double one = 1.0, zero = 0.0, along
        along = scaled(n, self.scale, self.z, self.direction, self.side) / self.stiffness
        if self.by_root():
            self.through_root(1.0, 0.0, self.applied)
        else:
            dgemv("N", &n, &n, &one, <double *>self.block, &n, self.side, &ONE, &zero, self.applied, &ONE)
        return curvature_of(n, along, self.scale, self.rest, self.z, self.direction, self.applied)

    cdef void respond(self) noexcept nogil:
        """The image: R less what the engaged features' dv = √(weight/d) x takes from the others' c."""
        cdef int p, n = self.width
        cdef double one = 1.0, minus = -1.0, change
        memcpy(self.image, self.R, n * sizeof(double))
        for p in range(self.n_engaged):
            self.side[p] = self.scale[p] * self.x[p]
            self.image[self.engaged[p]] += self.chi[self.engaged[p]] * self.side[p]
        if self.n_engaged < n:
            for p in range(self.n_engaged):
                change = -self.side[p]
                daxpy(&n, &change, <double *>&self.gram[self.engaged[p], 0], &ONE, self.image, &ONE)
        elif self.by_root():
            self.through_root(-1.0, 1.0, self.image)
        else:
            dgemv("N", &n, &n, &minus, <double *>&self.gram[0, 0], &n, self.side, &ONE, &one, self.image, &ONE)

    cdef bint by_root(self) noexcept nogil:
        """Whether χ is multiplied by two products with its root: where all are engaged, and there are few rows."""
        return self.has_root and self.n_engaged == self.width and 2 * self.rows < self.width

    cdef void through_root(self, double factor, double keep, double *out) noexcept nogil:
        """out = factor·χ·side + keep·out."""
        cdef int n = self.width
        cdef double one = 1.0, zero = 0.0
        cdef double *root = <double *>&self.root[0, 0]
        dgemv("N", &self.rows, &n, &one, root, &self.rows, self.side, &ONE, &zero, self.fit, &ONE)
        dgemv("T", &self.rows, &n, &factor, root, &self.rows, self.fit, &ONE, &keep, out, &ONE)
