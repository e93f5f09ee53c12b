# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""One γ on one Block, compiled; :func:`garrote.minimise.minimise_plain` is the oracle.

At most γ nearly all inclusions are tiny. So the features are split: the *strong* ones (m above a threshold) are solved
jointly, with w and β profiled out and Newton steps on their m (Section 3 of the design; garrote.energy explains each
line). The *weak* ones, whose interaction is of the order of their inclusions, are visited one after the other: for
given others, w_i = ĉ_i/d_i and m_i = σ(γ_i + (βn/2) w_i² d_i) minimise F exactly (ĉ_i leaves out the feature's own part).
Both lower F, so F never rises. A weak feature is never raised above the threshold by itself: it becomes strong, and
the joint solve decides. Where the alternation is slow, the slowest of them are solved jointly too.

All that is done where conjugate gradients (:mod:`garrote._conjugate`), which are tried first, are lost.

With more strong features than rows, and a slab prior that keeps every slack d − mχ positive, the linear system is solved
in its dual form: M⁻¹ = Σ − ΣSXᵀC⁻¹XSΣ with Σ = slack⁻¹ and the rows × rows matrix C = I + XS²ΣXᵀ, at a cost linear in
the number of features. Where many features are undecided, Newton's equations are solved by conjugate gradients.
"""

cimport cython
from libc.math cimport fabs, fmax, fmin, log, log1p, sqrt
from libc.string cimport memcpy
from scipy.linalg.cython_blas cimport daxpy, ddot, dgemv, dsyrk, dtrsv
from scipy.linalg.cython_lapack cimport dpotrf, dpotri

from garrote._columns cimport dot_column, exponential, move_column, sigmoid
from garrote._conjugate cimport AT_REST, LOST, ConjugateDescent

import numpy as np

from garrote import limits

cdef int ONE = 1
cdef double NOISE_FLOOR = limits.NOISE_FLOOR
cdef double THETA_MAX = limits.THETA_MAX
cdef double DECIDED = limits.DECIDED
cdef double SURE = limits.SURE
cdef double TRUST = limits.TRUST
cdef double ROUNDING = limits.ROUNDING
cdef double LOST_DIGITS = limits.LOST_DIGITS
cdef double SHORTEST_STEP = 1e-4
#: A linear system is solved when so little of its right side is left, relative to its terms.
cdef double ACCURATE = 1e-13
cdef double TWO_PI = 6.283185307179586
#: Inclusion above which a feature is strong. (At half of it there are fewer steps, but dearer ones.)
cdef double STRONG = 0.2
cdef double WEAK = log(STRONG / (1.0 - STRONG)) + 1e-9
#: After so many steps, weak features whose last change is at least this fraction of the largest are solved jointly too.
cdef int PATIENCE = 10
cdef double SLOW = 0.3
#: Visits to the weak features before the first step, where their w are not known.
cdef int WARM = 2
#: The dual form needs every slack to be at least this fraction of χ.
cdef double LEAST_SLACK = 1e-2
#: With more undecided features than this, Newton's step is found by conjugate gradients, to this relative accuracy.
cdef int MANY = 64
cdef double CG_ACCURACY = 1e-4
#: The largest change of θ along a direction of negative curvature.
cdef double ESCAPE = 2.0
cdef double SHORTEST_ESCAPE = 0.05
#: A visit to the weak features may be the last when the next one, by how fast they shrink, would change m by less than
#: this fraction of the tolerance.
cdef double FORESEEN = 0.25
#: The correlations of so many neighbouring weak features are found together.
cdef enum:
    PANEL = 16
#: Columns with more rows than this are not copied: long ones need no help from the cache.
cdef int LONG = 2048
#: Changes of a weak contribution smaller than this, relative to the noise, wait.
cdef double UNFELT = 1e-13
#: The logarithm of a product of probabilities is taken before it becomes smaller than this.
cdef double LEAST_PRODUCT = 1e-200
#: So many matrices are asked for: twice as many as there are.
cdef int MATRICES = 8


cdef inline double bernoulli(double theta, double m, double gamma) noexcept nogil:
    """One feature's −γm + m log m + (1 − m) log(1 − m)."""
    if m < 1e-3:
        return m * (theta - gamma) - m * (1.0 + m * (0.5 + m * (1.0 / 3.0 + m * (0.25 + 0.2 * m))))
    return m * (theta - gamma) - max(theta, 0.0) - log1p(exponential(-fabs(theta)))


cdef inline double off_aim(double aim, double theta, double m) noexcept nogil:
    """How far one feature's m is from Eq. (m), weighted as in garrote.energy."""
    return fabs(sigmoid(aim) - m) * max(fabs(aim - theta), 1.0)


cdef inline void solve_factorized(int n, double *L, double *x) noexcept nogil:
    """(LLᵀ)⁻¹ x, in place; for one x at a time LAPACK's dpotrs takes several times as long."""
    dtrsv("L", "N", "N", &n, L, &n, x, &ONE)
    dtrsv("L", "T", "N", &n, L, &n, x, &ONE)


@cython.final
cdef class BlockDescent:
    """The state of all features, and of the strong ones at two points: the present one and a trial."""

    def __init__(self, root, target, gram, chi, b, double floor, double sigma2_y, double n_samples):
        cdef int width = len(chi)
        cdef double *start
        self.has_root = root is not None
        self.root = root if self.has_root else np.empty((0, width), order="F")
        self.gram, self.chi = gram, chi
        self.sigma2_y, self.n_samples = sigma2_y, n_samples
        self.width, self.rows = width, self.root.shape[0]
        self.conjugate = ConjugateDescent(root, target, gram, chi, b, floor, sigma2_y, n_samples)
        self.retarget(target, b, floor)
        self.state, self.rival = np.zeros(6 * width), NULL
        start = &self.state[0]
        self.theta, self.m, self.w, self.v = start, start + width, start + 2 * width, start + 3 * width
        self.goal, self.gamma = start + 4 * width, start + 5 * width
        # Nothing of this is written before it is needed. That it is asked for at once, and is more than all the rest, keeps
        # the C library from handing a path's memory back after each, to ask for it anew page by page (glibc's thresholds).
        self.matrices = np.empty((MATRICES, width * width))

    cdef int reserve(self) except -1:
        """Working memory for the descent with factorisations, which few paths need."""
        cdef int width = self.width
        self.base, self.e = np.empty((2, self.rows if self.has_root else width))
        self.strong, self.local = np.empty((2, width), dtype=np.intc)
        self.is_strong, self.promoted = np.zeros((2, width), dtype=np.int8)
        self.moved = np.zeros(width)
        self.s_theta, self.s_m, self.s_w, self.s_v, self.s_goal, self.s_root_m, self.s_slack = np.empty((7, 2, width))
        self.chol, self.inverse, self.hessian = self.matrices[:2], self.matrices[2], self.matrices[3]
        self.c, self.c_base, self.u, self.work, self.step, self.t, self.a = np.empty((7, width))
        self.gathers = self.has_root and self.rows <= LONG
        self.strong_root = np.empty(self.rows * width if self.gathers else 0)
        self.y = np.empty(self.rows)
        self.cg = np.empty((5, width))
        self.reserved = True
        return 0

    def retarget(self, target, b, double floor):
        """Another y for the same features."""
        self.target = target if self.has_root else np.empty(0)
        self.b, self.floor = b, floor
        self.conjugate.set_data(self.target, self.b, floor)

    def result(self):
        """θ, m, w, v, the goal γ + (βn/2) w² d, the noise 1/β, F and the fixed-point residual at the present point."""
        state = np.array(self.state).reshape(6, self.width)[:5]
        return (*state, self.noise[self.at], self.free_energy[self.at], self.residual[self.at])

    def run(
        self,
        const double[::1] theta,
        const double[::1] w,
        const double[::1] gamma,
        double ridge,
        beta,
        double tol,
        int max_iter,
        double most,
        const double[::1] rival,
        double rival_energy,
        bint to_beat,
        bint traced,
    ):
        """Descend from θ, and from w if they are known; F at the start and after each step, if traced.

        The descent is abandoned when it selects more than ``most`` features, or when it comes close to the inclusions
        ``rival``, or will end above ``rival_energy``.
        """
        energies = np.empty(max_iter + 2 if traced else 0)
        cdef double[::1] trace = energies
        self.model(ridge, beta)
        memcpy(self.gamma, &gamma[0], self.width * sizeof(double))
        self.rival, self.rival_energy, self.to_beat = NULL if rival is None else &rival[0], rival_energy, to_beat
        with nogil:
            self.descend(&theta[0], NULL if w is None else &w[0], tol, max_iter, most, &trace[0] if traced else NULL)
        return energies[: self.n_iter + 2]

    cdef void model(self, double ridge, beta) except *:
        """What is fitted, apart from γ."""
        self.ridge, self.fixed_beta = ridge, beta is not None
        self.beta = beta if self.fixed_beta else 0.0
        self.conjugate.set_model(self.ridge, self.fixed_beta, self.beta)

    cdef int descend(
        self, const double *theta, const double *w, double tol, int max_iter, double most, double *trace
    ) except -1 nogil:
        """As ``run``, for the γ, model and rival that are set; a trace is written if there is one."""
        cdef int i
        cdef double before, weak_change = 0.0
        self.n_iter, self.n_factorizations, self.n_strong, self.at, self.finished = 0, 0, 0, 0, False
        if self.ends_by_gradients(theta, w, tol, max_iter, most, trace):
            return 0
        if not self.reserved:
            with gil:
                self.reserve()
        for i in range(self.width):
            self.promoted[i] = False
            self.theta[i] = theta[i]
            self.m[i] = sigmoid(theta[i])
            self.w[i] = 0.0  # those of the start were of no use
            self.v[i] = self.m[i] * self.w[i]
        self.choose_strong()
        for i in range(WARM):  # w for the given m, so that a solution is a fixed point
            if self.n_strong < self.width:
                self.visit_weak(True)
                self.evaluate(self.at, True)
        if trace != NULL:
            trace[0] = self.free_energy[self.at]
        while True:
            before, weak_change = weak_change, 0.0
            self.risen = False
            if self.n_strong < self.width:
                weak_change = self.visit_weak(False)
                if self.risen:
                    self.choose_strong()
                else:
                    self.evaluate(self.at, True)
            if trace != NULL:
                trace[self.n_iter + 1] = self.free_energy[self.at]
            self.converged = self.at_rest(weak_change, before, tol)
            if self.converged or self.n_iter >= max_iter or self.selected() > most:
                break
            self.newton(self.at)
            if not self.take_step() and weak_change <= tol and not self.risen:
                self.converged = True
                break
            self.n_iter += 1
            self.conjugate.system.unheard += (
                <double>self.n_strong * self.n_strong * self.n_strong + <double>self.width * self.width
            )
            self.conjugate.hear()
            if self.n_iter % PATIENCE == 0 and self.n_strong < self.width:
                self.promote(weak_change)
        if not self.finished:
            self.finish()
        return 0

    cdef bint ends_by_gradients(
        self, const double *theta, const double *w, double tol, int max_iter, double most, double *trace
    ) except -1 nogil:
        """The whole descent by conjugate gradients; False where they are lost."""
        cdef int how = self.conjugate.descend(
            theta, w, self.gamma, tol, max_iter, most, self.rival, self.rival_energy, self.to_beat, trace
        )
        self.n_factorizations = self.conjugate.n_evaluations
        if how == LOST:
            return False
        self.n_iter, self.converged = self.conjugate.n_iter, how == AT_REST
        memcpy(self.theta, self.conjugate.theta, 5 * self.width * sizeof(double))
        self.noise[0], self.free_energy[0] = self.conjugate.noise, self.conjugate.free_energy
        self.residual[0] = self.conjugate.residual
        return True

    cdef bint at_rest(self, double weak_change, double before, double tol) noexcept nogil:
        """Whether Eq. (m) holds for every feature, after a visit that changed the weak ones' m by so much.

        Where their changes shrink fast, the next visit is spared: only its residual is looked at.
        """
        if self.risen or self.residual[self.at] > tol:
            return False
        if weak_change <= tol:
            return True
        if weak_change * weak_change > FORESEEN * tol * before:
            return False
        self.finish()
        self.finished = self.residual[self.at] <= tol
        return self.finished

    cdef int selected(self) noexcept nogil:
        cdef int p, count = 0
        for p in range(self.n_strong):
            count += self.s_theta[self.at, p] > 0.0
        return count

    # ---- strong and weak -----------------------------------------------------------------------------------

    cdef void scatter(self) noexcept nogil:
        """The strong features' state into that of all."""
        cdef int p, i, k = self.at
        for p in range(self.n_strong):
            i = self.strong[p]
            self.theta[i], self.m[i] = self.s_theta[k, p], self.s_m[k, p]
            self.w[i], self.v[i], self.goal[i] = self.s_w[k, p], self.s_v[k, p], self.s_goal[k, p]

    cdef void choose_strong(self) noexcept nogil:
        """Split the features anew, and solve for the strong ones as they are."""
        cdef int i, n = 0, heaviest = 0
        self.scatter_if_any()
        for i in range(self.width):
            self.is_strong[i] = self.promoted[i] or self.m[i] > STRONG
            if self.m[i] > self.m[heaviest]:
                heaviest = i
        self.is_strong[heaviest] = True
        for i in range(self.width):  # decided ones first: Newton's step is about the others
            if self.is_strong[i] and fabs(self.theta[i]) > SURE:
                self.strong[n] = i
                n += 1
        for i in range(self.width):
            if self.is_strong[i] and not fabs(self.theta[i]) > SURE:
                self.strong[n] = i
                n += 1
        self.n_strong = n
        for n in range(self.n_strong):
            i = self.strong[n]
            self.s_theta[self.at, n] = self.theta[i]
            if self.gathers:
                memcpy(&self.strong_root[n * self.rows], &self.root[0, i], self.rows * sizeof(double))
        self.sum_weak()
        self.rebuild_base()
        self.evaluate(self.at, False)

    cdef void sum_weak(self) noexcept nogil:
        """The weak features' part of F."""
        cdef int i
        self.weak_spread, self.weak_bernoulli, self.weak_out = 0.0, 0.0, 1.0
        for i in range(self.width):
            if not self.is_strong[i]:
                self.add_weak(i)

    cdef void add_weak(self, int i) noexcept nogil:
        """A weak feature's part of F: the spread of its s w, what a change of v that waits explains, its entropy."""
        cdef double m = self.m[i], w = self.w[i], d = self.chi[i] * (1.0 + self.ridge)
        cdef double waits = m * w - self.v[i], c = d * w - self.chi[i] * self.v[i]
        self.weak_spread += (d - m * self.chi[i]) * m * w * w - waits * (2.0 * c - waits * self.chi[i])
        self.weak_bernoulli += m * (self.theta[i] - self.gamma[i])
        self.weak_out *= 1.0 - m
        if self.weak_out < LEAST_PRODUCT:
            self.weak_bernoulli += log(self.weak_out)
            self.weak_out = 1.0

    cdef void promote(self, double largest) noexcept nogil:
        """Let the weak features that come to rest most slowly be solved jointly."""
        cdef int i
        for i in range(self.width):
            if not self.is_strong[i] and self.moved[i] > SLOW * largest:
                self.promoted[i] = True
        self.choose_strong()

    cdef void scatter_if_any(self) noexcept nogil:
        if self.n_strong:
            self.scatter()

    cdef void rebuild_base(self) noexcept nogil:
        """The residual without the strong features' part, from the weak features' v."""
        cdef int i
        cdef double minus = -1.0, one = 1.0
        memcpy(&self.base[0], &self.target[0] if self.has_root else &self.b[0], self.base.shape[0] * sizeof(double))
        if self.gathers:
            for i in range(self.width):
                self.work[i] = 0.0 if self.is_strong[i] else self.v[i]
            dgemv(
                "N", &self.rows, &self.width, &minus, <double *>&self.root[0, 0], &self.rows, &self.work[0], &ONE,
                &one, &self.base[0], &ONE,
            )
        else:
            for i in range(self.width):
                if not self.is_strong[i]:
                    self.remove(i, self.v[i], self.base)
        self.measure_base()

    cdef void measure_base(self) noexcept nogil:
        """What an evaluation needs to know of the base."""
        cdef int i
        self.strong_products(self.base, self.c_base)
        if self.has_root:
            return
        self.base_squares = self.sigma2_y
        for i in range(self.width):
            if not self.is_strong[i]:
                self.base_squares -= self.v[i] * (self.b[i] + self.base[i])

    cdef void strong_products(self, double[::1] residual, double[::1] out) noexcept nogil:
        """The strong features' correlations with a residual."""
        cdef int p, n = self.n_strong
        cdef double one = 1.0, zero = 0.0
        if self.gathers:
            dgemv("T", &self.rows, &n, &one, &self.strong_root[0], &self.rows, &residual[0], &ONE, &zero, &out[0], &ONE)
            return
        for p in range(n):
            out[p] = self.correlation(self.strong[p], residual)

    cdef void add_strong(self, int k, double factor, double[::1] residual) noexcept nogil:
        """Add a multiple of the strong features' part at the k-th point to a residual."""
        cdef int p, n = self.n_strong
        cdef double one = 1.0
        if self.gathers:
            dgemv(
                "N", &self.rows, &n, &factor, &self.strong_root[0], &self.rows, &self.s_v[k, 0], &ONE,
                &one, &residual[0], &ONE,
            )
            return
        for p in range(n):
            self.remove(self.strong[p], -factor * self.s_v[k, p], residual)

    cdef void remove(self, int i, double change, double[::1] residual) noexcept nogil:
        """What is left of a residual (or of its correlations) when v_i has grown by `change`."""
        cdef double minus = -change
        if self.has_root:
            move_column(self.root, i, change, residual)
        elif change != 0.0:
            daxpy(&self.width, &minus, <double *>&self.gram[i, 0], &ONE, &residual[0], &ONE)

    cdef double correlation(self, int i, double[::1] residual) noexcept nogil:
        return dot_column(self.root, i, residual) if self.has_root else residual[i]

    cdef double visit_weak(self, bint keep_m) noexcept nogil:
        """Minimise F over (m_i, w_i), or over w_i alone, of each weak feature in turn; the largest change of m."""
        cdef int panel, first, size, p, n_weak
        cdef double change
        self.weak_spread, self.weak_bernoulli, self.weak_out = 0.0, 0.0, 1.0
        self.largest, self.running_noise = 0.0, self.noise[self.at]
        self.running_beta = self.precision(self.at)
        for panel in range((self.width + PANEL - 1) // PANEL):
            first = panel * PANEL
            size = min(<int>PANEL, self.width - first)
            n_weak = 0
            for p in range(first, first + size):
                n_weak += not self.is_strong[p]
            if self.has_root and 2 * n_weak > size:
                self.visit_panel(first, size, keep_m)
                continue
            for p in range(first, first + size):
                if not self.is_strong[p]:
                    change = self.settle(p, self.correlation(p, self.e), keep_m)
                    self.remove(p, change, self.e)
        memcpy(&self.base[0], &self.e[0], self.base.shape[0] * sizeof(double))
        self.add_strong(self.at, 1.0, self.base)
        self.measure_base()
        return self.largest

    cdef void visit_panel(self, int first, int size, bint keep_m) noexcept nogil:
        """The same for neighbouring columns, whose correlations are found together and kept up to date by χ."""
        cdef int p, q
        cdef double one = 1.0, zero = 0.0, minus = -1.0
        cdef double c[PANEL]
        cdef double change[PANEL]
        cdef double *columns = <double *>&self.root[0, first]
        cdef const double *chi
        cdef bint felt = False
        dgemv("T", &self.rows, &size, &one, columns, &self.rows, &self.e[0], &ONE, &zero, c, &ONE)
        for p in range(size):
            change[p] = 0.0
            if self.is_strong[first + p]:
                continue
            change[p] = self.settle(first + p, c[p], keep_m)
            if change[p] != 0.0:
                felt = True
                chi = &self.gram[first + p, first]
                for q in range(p + 1, size):
                    c[q] -= change[p] * chi[q]
        if felt:
            dgemv("N", &self.rows, &size, &minus, columns, &self.rows, change, &ONE, &one, &self.e[0], &ONE)

    cdef double settle(self, int i, double c, bint keep_m) noexcept nogil:
        """Minimise F over (m_i, w_i), and over β, for a weak feature's correlation with the residual; the change of v_i."""
        cdef double chi = self.chi[i], d = chi * (1.0 + self.ridge), beta = self.running_beta
        cdef double w = (c + chi * self.v[i]) / d, theta = self.theta[i], m = self.m[i], change
        self.running_noise -= (d - m * chi) * m * self.w[i] * self.w[i]
        self.goal[i] = self.gamma[i] + 0.5 * beta * self.n_samples * w * w * d
        if keep_m:
            pass
        elif self.goal[i] > WEAK:  # leave it as it is, for the joint solve
            self.risen = self.promoted[i] = True
        else:
            theta = self.goal[i]
            m = sigmoid(theta)
        self.moved[i] = fabs(m - self.m[i])
        self.largest = max(self.largest, self.moved[i])
        change = m * w - self.v[i]
        if change * change * chi * beta > UNFELT * UNFELT:
            self.v[i] = m * w
        else:
            change = 0.0
        self.theta[i], self.m[i], self.w[i] = theta, m, w
        self.running_noise += (d - m * chi) * m * w * w - change * (2.0 * c - change * chi)
        if not self.fixed_beta:
            self.running_beta = 1.0 / max(self.running_noise, NOISE_FLOOR * self.sigma2_y)
        self.add_weak(i)
        return change

    # ---- the strong features -------------------------------------------------------------------------------

    cdef bint take_step(self) noexcept nogil:
        """Newton's step or a part of it, if that lowers F, or the longest part of the fixed-point step that does."""
        cdef int p, k = self.at
        cdef double length = 1.0
        for p in range(self.n_strong):
            self.step[p] = fmin(fmax(self.step[p], -TRUST), TRUST)
        while length >= self.least_newton:
            if self.attempt(length):
                return True
            length *= 0.25
        length = 1.0
        for p in range(self.n_strong):
            self.step[p] = self.s_goal[k, p] - self.s_theta[k, p]
        while length >= SHORTEST_STEP:
            if self.attempt(length):
                return True
            length *= 0.5
        self.fit(k)
        return False

    cdef bint attempt(self, double length) noexcept nogil:
        cdef int p, k = self.at, trial = 1 - self.at
        for p in range(self.n_strong):
            self.s_theta[trial, p] = self.s_theta[k, p] + length * self.step[p]
        self.evaluate(trial, False)
        if self.free_energy[trial] <= self.free_energy[k] or (
            self.free_energy[trial] - self.free_energy[k] <= self.rounding_error(k)
            and self.residual[trial] < self.residual[k]
        ):
            self.at = trial
            return True
        return False

    cdef double fit(self, int k) noexcept nogil:
        """⟨(y − x·v)²⟩ with the k-th point's v; its residual is left in e, the strong features' correlations in c."""
        cdef int p
        cdef double total
        memcpy(&self.e[0], &self.base[0], self.base.shape[0] * sizeof(double))
        self.add_strong(k, -1.0, self.e)
        if self.has_root:
            total = self.floor + ddot(&self.rows, &self.e[0], &ONE, &self.e[0], &ONE)
        else:
            total = self.base_squares
            for p in range(self.n_strong):
                total -= self.s_v[k, p] * (self.base[self.strong[p]] + self.e[self.strong[p]])
        self.strong_products(self.e, self.c)
        return total

    cdef void factorize(self, int k) noexcept nogil:
        """The Cholesky factor of M = S χ S + diag(slack), or of its dual C."""
        cdef int i, p
        self.n_factorizations += 1
        self.dual[k] = self.has_root and self.n_strong > self.rows
        for p in range(self.n_strong):
            i = self.strong[p]
            self.s_m[k, p] = sigmoid(self.s_theta[k, p])
            self.s_root_m[k, p] = sqrt(self.s_m[k, p])
            self.s_slack[k, p] = self.chi[i] * (1.0 + self.ridge - self.s_m[k, p])
            if self.s_slack[k, p] < LEAST_SLACK * self.chi[i]:
                self.dual[k] = False
        if self.dual[k]:
            self.factorize_dual(k)
        else:
            self.factorize_primal(k)

    cdef void factorize_dual(self, int k) noexcept nogil:
        """C = I + X diag(m/slack) Xᵀ, lower, column by column."""
        cdef int i, j, p, info, rows = self.rows
        cdef double *L = &self.chol[k, 0]
        cdef double one = 1.0, zero = 0.0, scale
        for p in range(self.n_strong):
            i, scale = self.strong[p], self.s_root_m[k, p] / sqrt(self.s_slack[k, p])
            for j in range(rows):
                self.inverse[p * rows + j] = scale * self.root[j, i]
        dsyrk("L", "N", &rows, &self.n_strong, &one, &self.inverse[0], &rows, &zero, L, &rows)
        for j in range(rows):
            L[j * rows + j] += 1.0
        dpotrf("L", &rows, L, &rows, &info)

    cdef void factorize_primal(self, int k) noexcept nogil:
        """M = S χ S + diag(slack), lower, column by column."""
        cdef int p, q, i, info, tries, n = self.n_strong
        cdef double *L = &self.chol[k, 0]
        cdef double jitter = 0.0, s
        for tries in range(3):
            for p in range(n):
                i, s = self.strong[p], self.s_root_m[k, p]
                for q in range(p, n):
                    L[p * n + q] = self.gram[i, self.strong[q]] * s * self.s_root_m[k, q]
                L[p * n + p] = (L[p * n + p] + self.s_slack[k, p]) * (1.0 + jitter)
            dpotrf("L", &n, L, &n, &info)
            if info == 0:
                return
            jitter = 1e-12 if tries == 0 else 1e-9

    cdef void solve_system(self, int k, double *x) noexcept nogil:
        """M⁻¹ x, in place."""
        cdef int j, p, n = self.n_strong, rows = self.rows
        if not self.dual[k]:
            solve_factorized(n, &self.chol[k, 0], x)
            return
        for j in range(rows):
            self.y[j] = 0.0
        for p in range(n):
            self.remove(self.strong[p], -self.s_root_m[k, p] * x[p] / self.s_slack[k, p], self.y)
        solve_factorized(rows, &self.chol[k, 0], &self.y[0])
        for p in range(n):
            x[p] = (x[p] - self.s_root_m[k, p] * self.correlation(self.strong[p], self.y)) / self.s_slack[k, p]

    cdef void evaluate(self, int k, bint factorized) noexcept nogil:
        """F and all that belongs to it at the k-th point's θ; the factor may be known from before."""
        cdef int i, p, n = self.n_strong
        cdef double d, total, beta, aim
        if not factorized:
            self.factorize(k)
        for p in range(n):
            self.u[p] = self.s_root_m[k, p] * self.c_base[p]
        self.solve_system(k, &self.u[0])
        self.set_v(k)
        total = self.fit(k)
        if self.refine(k):
            total = self.fit(k)
        total += self.weak_spread
        for p in range(n):
            total += self.s_slack[k, p] * self.u[p] * self.u[p]
            i = self.strong[p]
            self.s_w[k, p] = (self.c[p] + self.chi[i] * self.s_v[k, p]) / (self.chi[i] * (1.0 + self.ridge))
        self.noise[k] = total
        beta = self.precision(k)
        self.free_energy[k] = self.gaussian(k) + self.weak_bernoulli + log(self.weak_out)
        self.residual[k] = 0.0
        for p in range(n):
            i = self.strong[p]
            d = self.chi[i] * (1.0 + self.ridge)
            aim = self.aim(i, beta, self.s_w[k, p])
            self.s_goal[k, p] = min(aim, THETA_MAX)
            self.residual[k] = max(self.residual[k], off_aim(aim, self.s_theta[k, p], self.s_m[k, p]))
            self.free_energy[k] += bernoulli(self.s_theta[k, p], self.s_m[k, p], self.gamma[i])

    cdef bint refine(self, int k) noexcept nogil:
        """A step of iterative refinement of u, where rounding has left more than a little of M u − S c."""
        cdef int p
        cdef double left = 0.0, scale = 0.0
        for p in range(self.n_strong):
            self.work[p] = self.s_root_m[k, p] * self.c[p] - self.s_slack[k, p] * self.u[p]
            left = fmax(left, fabs(self.work[p]))
            scale = fmax(scale, fabs(self.s_slack[k, p] * self.u[p]))
        if left <= ACCURATE * scale:
            return False
        self.solve_system(k, &self.work[0])
        for p in range(self.n_strong):
            self.u[p] += self.work[p]
        self.set_v(k)
        return True

    cdef void set_v(self, int k) noexcept nogil:
        cdef int p
        for p in range(self.n_strong):
            self.s_v[k, p] = self.s_root_m[k, p] * self.u[p]

    cdef double aim(self, int i, double beta, double w) noexcept nogil:
        """θ by Eq. (m): γ + (βn/2) w² d."""
        return self.gamma[i] + 0.5 * beta * self.n_samples * w * w * self.chi[i] * (1.0 + self.ridge)

    cdef double gaussian(self, int k) noexcept nogil:
        cdef double beta = self.precision(k)
        return 0.5 * self.n_samples * (log(TWO_PI / beta) + beta * self.noise[k])

    cdef double rounding_error(self, int k) noexcept nogil:
        cdef double good = self.sigma2_y / fmax(self.noise[k], NOISE_FLOOR * self.sigma2_y)
        return ROUNDING * (1.0 + fabs(self.free_energy[k])) + LOST_DIGITS * self.n_samples * sqrt(good)

    cdef double precision(self, int k) noexcept nogil:
        return self.beta if self.fixed_beta else 1.0 / fmax(self.noise[k], NOISE_FLOOR * self.sigma2_y)

    cdef void newton(self, int k) noexcept nogil:
        """The step in θ: Newton's on the undecided features, the fixed-point step on the others."""
        cdef int i, p, undecided = 0
        cdef double beta = self.precision(k), spread, d
        self.least_newton = 1.0
        for p in range(self.n_strong):
            i = self.strong[p]
            self.step[p] = self.s_goal[k, p] - self.s_theta[k, p]
            spread = self.s_m[k, p] * sigmoid(-self.s_theta[k, p])
            if spread > DECIDED:
                d = self.chi[i] * (1.0 + self.ridge)
                self.local[undecided] = p
                self.t[undecided] = sqrt(spread)
                self.a[undecided] = self.s_w[k, p] * d / self.s_root_m[k, p]
                self.work[undecided] = beta * self.s_w[k, p] * self.s_w[k, p] * d
                self.u[undecided] = self.t[undecided] * self.step[p]
                undecided += 1
        if undecided == 0:
            return
        if self.dual[k] or undecided > MANY:
            self.newton_by_gradients(k, undecided)
        elif not self.newton_directly(k, undecided):
            return
        for p in range(undecided):
            self.step[self.local[p]] = self.u[p] / self.t[p]

    cdef double follows(self, int k) noexcept nogil:
        """The factor of the Hessian's rank-one part, which is there when β follows E."""
        return 0.0 if self.fixed_beta or self.noise[k] <= NOISE_FLOOR * self.sigma2_y else 0.5 * self.n_samples

    cdef bint newton_directly(self, int k, int undecided) noexcept nogil:
        """Solve (I + TKT) x = u in place by Cholesky; False where the Hessian is not positive definite.

        (Enough on its diagonal to make it so would leave saddles in fewer steps, but for worse minima.)
        """
        cdef int p, q, n = self.n_strong, first = self.local[0], rest = n - self.local[0], info
        cdef double d, beta_n = self.precision(k) * self.n_samples, rank_one = self.follows(k)
        cdef double *inverse = &self.inverse[0]
        cdef double *hessian = &self.hessian[0]
        for p in range(rest):  # M⁻¹ of the last features is that of the last part of the Cholesky factor
            memcpy(&inverse[p * rest + p], &self.chol[k, (first + p) * (n + 1)], (rest - p) * sizeof(double))
        dpotri("L", &rest, inverse, &rest, &info)
        if info != 0:
            return False
        for p in range(undecided):
            for q in range(p, undecided):
                hessian[p * undecided + q] = self.t[p] * self.t[q] * (
                    -beta_n * self.a[p] * self.a[q] * inverse[(self.local[p] - first) * rest + self.local[q] - first]
                    - rank_one * self.work[p] * self.work[q]
                )
            d = self.chi[self.strong[self.local[p]]] * (1.0 + self.ridge)
            hessian[p * undecided + p] += 1.0 + self.t[p] * self.t[p] * beta_n * self.a[p] * self.a[p] / d
        dpotrf("L", &undecided, hessian, &undecided, &info)
        if info != 0:
            return False
        solve_factorized(undecided, hessian, &self.u[0])
        return True

    cdef void newton_by_gradients(self, int k, int undecided) noexcept nogil:
        """The same by conjugate gradients, until a direction of negative curvature is met."""
        cdef int p, steps
        cdef double[::1] x = self.cg[0], r = self.cg[1], direction = self.cg[2], image = self.cg[3]
        cdef double squares = 0.0, before, least, length, curvature
        for p in range(undecided):
            x[p] = 0.0
            r[p] = direction[p] = self.u[p]
            squares += r[p] * r[p]
        least = CG_ACCURACY * CG_ACCURACY * squares
        for steps in range(undecided):
            if squares <= least:
                break
            self.apply_hessian(k, undecided, direction, image)
            curvature = 0.0
            for p in range(undecided):
                curvature += direction[p] * image[p]
            if curvature <= 0.0 and self.ridge == 0.0:
                return  # the fixed-point step, which keeps to the branch that annealing follows
            if curvature <= 0.0:  # downhill, and ever more so: as far as the model is trusted
                self.least_newton = SHORTEST_ESCAPE
                length = ESCAPE / self.largest_step(undecided, direction)
                for p in range(undecided):
                    self.u[p] = x[p] + length * direction[p]
                return
            length, before, squares = squares / curvature, squares, 0.0
            for p in range(undecided):
                x[p] += length * direction[p]
                r[p] -= length * image[p]
                squares += r[p] * r[p]
            for p in range(undecided):
                direction[p] = r[p] + squares / before * direction[p]
        for p in range(undecided):
            self.u[p] = x[p]

    cdef double largest_step(self, int undecided, double[::1] x) noexcept nogil:
        """The largest change of θ that x means."""
        cdef int p
        cdef double largest = 0.0
        for p in range(undecided):
            largest = fmax(largest, fabs(x[p] / self.t[p]))
        return largest

    cdef void apply_hessian(self, int k, int undecided, double[::1] x, double[::1] image) noexcept nogil:
        """(I + TKT) x."""
        cdef int p
        cdef double beta_n = self.precision(k) * self.n_samples, along = 0.0, d
        cdef double[::1] solved = self.cg[4]
        for p in range(self.n_strong):
            solved[p] = 0.0
        for p in range(undecided):
            solved[self.local[p]] = self.a[p] * self.t[p] * x[p]
            along += self.work[p] * self.t[p] * x[p]
        along *= self.follows(k)
        self.solve_system(k, &solved[0])
        for p in range(undecided):
            d = self.chi[self.strong[self.local[p]]] * (1.0 + self.ridge)
            image[p] = x[p] + self.t[p] * (
                beta_n * self.a[p] * (self.a[p] * self.t[p] * x[p] / d - solved[self.local[p]]) - along * self.work[p]
            )

    cdef void finish(self) noexcept nogil:
        """Everything of every feature at the end, the residual of Eq. (m) with it."""
        cdef int i, k = self.at
        cdef double beta, aim
        cdef double one = 1.0, zero = 0.0
        cdef double *c = &self.e[0]
        self.scatter()
        beta = self.precision(k)
        if self.has_root and self.n_strong < self.width:
            c = &self.work[0]
            dgemv(
                "T", &self.rows, &self.width, &one, <double *>&self.root[0, 0], &self.rows, &self.e[0], &ONE, &zero, c, &ONE
            )
        for i in range(self.width):
            if not self.is_strong[i]:
                self.w[i] = (c[i] + self.chi[i] * self.v[i]) / (self.chi[i] * (1.0 + self.ridge))
                aim = self.aim(i, beta, self.w[i])
                self.goal[i] = min(aim, THETA_MAX)
                self.residual[k] = max(self.residual[k], off_aim(aim, self.theta[i], self.m[i]))
