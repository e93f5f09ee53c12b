# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True, initializedcheck=False
"""The search over a grid of γ on one Block, compiled; :class:`garrote.search.Search` is the oracle.

On small problems the descents take microseconds, and the search around them took as long as they. It is the same
search, part by part and rule by rule; its numbers are those of garrote.search, garrote.exchange and garrote.ladder,
where each is explained.
"""

cimport cython
from libc.math cimport INFINITY, exp, expm1, fabs, fmax, fmin, log, sqrt
from libc.string cimport memcmp, memcpy, memset

from garrote._descent cimport BlockDescent
from garrote._exchange cimport Best, BlockScreen

from typing import NamedTuple

import numpy as np

from garrote import exchange, foresight, ladder, limits, overfitting, points, search

cdef extern from "_vectors.h" nogil:
    int count_above(int n, double bound, const double *x)
    int count_jumps(int n, double least, const double *a, const double *b)
    void masses(int n, const double *x, double *weak, double *strong)
    void extrapolate(
        int n, double first, double second, double shift, double most, const double *near, const double *far,
        const double *farther, double *out,
    )

cdef extern from "_screening.h" nogil:
    double noises_of_pairs(
        int n, double sigma2_y, double least_noise, double copies, double one_scale, double one_z, double one_against,
        const double *products, const double *scale, const double *z, const double *against, double *out,
    )

cdef double FORESIGHT = foresight.FORESIGHT
cdef double LARGEST_WEIGHT = foresight.LARGEST_WEIGHT
cdef double JUMP = points.JUMP
cdef double DIFFUSE = overfitting.DIFFUSE
cdef double UNDECIDED = search.UNDECIDED
cdef int MANY_UNDECIDED = search.MANY_UNDECIDED
cdef int SWEEPS = search.SWEEPS
cdef int CASCADE = search.CASCADE
cdef double BEHIND = search.BEHIND
cdef int AVALANCHE = search.AVALANCHE
cdef int HIGHEST = search.HIGHEST
cdef int SWAPS = search.SWAPS
cdef double SLACK = exchange.SLACK
cdef double SLACK_OF_ADDITIONS = exchange.SLACK_OF_ADDITIONS
cdef double UPHILL = exchange.UPHILL
cdef int MOVES = exchange.MOVES
cdef int DEPTH = exchange.DEPTH
cdef int CHAINS = exchange.CHAINS
cdef double SWITCHED = exchange.SWITCHED
cdef double DECIDED = exchange.DECIDED
cdef double MUCH = exchange.MUCH
cdef double CERTAIN = ladder.CERTAIN
cdef int RUNG_SWAPS = ladder.SWAPS
cdef int PAIRED = ladder.PAIRED
cdef double COPIES = ladder.COPIES
cdef double MOST_AGAINST = ladder.MOST_AGAINST
cdef double LOWER = ladder.LOWER
cdef double INTERPOLATED = limits.INTERPOLATED

BRANCHES = ("up", "down", "neighbour", "exchange")
cdef enum:
    UP, DOWN, NEIGHBOUR, EXCHANGE

cdef enum:
    THETA, M, W, V, GOAL, ROWS  # of a point's state


class Columns(NamedTuple):
    """What is known of the best points, by γ."""

    m: np.ndarray
    w: np.ndarray
    noise: np.ndarray
    energy: np.ndarray
    residual: np.ndarray
    branch: list
    n_iter: np.ndarray
    n_factorizations: np.ndarray


class CopiesError(Exception):
    """Selected columns are copies of each other, or almost."""


cdef int first_with(const Best *found, const int *features) noexcept nogil:
    """The best of the moves that drop, or add, a feature; −1 if there is none."""
    cdef int p
    for p in range(found.size):
        if features[p] >= 0:
            return p
    return -1


@cython.final
cdef class BlockSearch:
    """The best point at each γ, and what each part of the search needs to remember.

    Parts that meet selected columns which are copies of each other raise CopiesError: their screening needs a
    pseudo-inverse, and the plain search can go on from the points that were found.
    """

    cdef:
        BlockDescent descent
        BlockScreen screen
        int width, max_iter
        double tol, lower, most_selected, n_samples, sigma2_y, ridge
        bint wide, cut
        int swaps_compared  # to find the best: where all features have the same prior, it explains most
        const double[::1] grid, odds
        double[::1] vectors  # the memory of the next six
        double *prior
        double *start
        double *start_w
        double *above  # the last three states of a branch that is followed down
        double *beyond
        double *farther
        unsigned char[::1] flags  # the memory of the next two
        unsigned char *touched
        unsigned char *selection
        object states, numbers, counts  # of the best points; the memory of what follows
        double *state
        double *energy
        double *noise
        double *residual
        double *up
        double *down
        int *branch
        int *n_iter
        int *n_factorizations
        int *converged
        int *stamp  # each point that is kept has a number
        int *settled
        int *tried  # of the neighbours above and below
        int last_stamp
        unsigned long long[::1] seen  # a number for each selection that was looked at, and how often
        int[::1] looks
        int n_seen
        unsigned char[:, ::1] rungs, climbed
        double[::1] rung_energy
        double[:, ::1] rung_w
        int n_climbed
        readonly int size, end, total_iter, total_factorizations
        readonly bint overfitted
        readonly double n_selected, strong_mass, weak_mass  # of the first point that overfits

    def __init__(
        self,
        BlockDescent descent,
        BlockScreen screen,
        grid,
        odds,
        double ridge,
        beta,
        double tol,
        int max_iter,
        double lower,
        double most_selected,
        bint wide,
    ):
        cdef int n = len(grid), width = descent.width
        self.descent, self.screen, self.width = descent, screen, width
        self.grid, self.odds, self.ridge = grid, odds, ridge
        self.swaps_compared = 1 if (odds == odds[0]).all() else MOVES
        self.tol, self.max_iter, self.lower = tol, max_iter, lower
        self.most_selected, self.wide = most_selected, wide
        self.n_samples, self.sigma2_y = descent.n_samples, descent.sigma2_y
        descent.model(ridge, beta)
        self.reserve(n)
        self.vectors, self.flags = np.empty((3 + 3 * ROWS) * width), np.zeros(2 * width, dtype=np.uint8)
        self.prior, self.start, self.start_w = &self.vectors[0], &self.vectors[width], &self.vectors[2 * width]
        self.above = self.start_w + width
        self.beyond, self.farther = self.above + ROWS * width, self.above + 2 * ROWS * width
        self.touched, self.selection = &self.flags[0], &self.flags[width]
        self.seen, self.looks, self.n_seen = np.empty(64, dtype=np.uint64), np.empty(64, dtype=np.intc), 0

    cdef void reserve(self, int n) except *:
        """Memory for the best points at so many γ."""
        self.states = np.empty((n, ROWS * self.width))
        self.numbers, self.counts = np.zeros((5, n)), np.zeros((8, n), dtype=np.intc)
        cdef double[:, ::1] states = self.states, numbers = self.numbers
        cdef int[:, ::1] counts = self.counts
        self.state = &states[0, 0]
        self.energy, self.noise, self.residual = &numbers[0, 0], &numbers[1, 0], &numbers[2, 0]
        self.up, self.down = &numbers[3, 0], &numbers[4, 0]
        self.branch, self.n_iter, self.n_factorizations = &counts[0, 0], &counts[1, 0], &counts[2, 0]
        self.converged, self.stamp, self.settled, self.tried = &counts[3, 0], &counts[4, 0], &counts[5, 0], &counts[6, 0]

    def energies(self):
        """F of the best points, of those on the way up and of those on the way down."""
        return self.numbers[0, : self.size], self.numbers[3, : self.size], self.numbers[4, : self.size]

    def ends(self):
        """Which descents came to their ends."""
        return self.counts[3, : self.size]

    def points(self):
        """Of every γ the state θ, m, w, v, goal, then noise, F, residual, branch, steps, evaluations, converged."""
        energy, noise, residual = self.numbers[:3, : self.size].tolist()
        branch, n_iter, n_factorizations, converged = self.counts[:4, : self.size].tolist()
        return zip(
            self.states[: self.size].copy().reshape(self.size, ROWS, self.width),
            noise,
            energy,
            residual,
            [BRANCHES[i] for i in branch],
            n_iter,
            n_factorizations,
            map(bool, converged),
        )

    def columns(self, int n):
        """What is known of the first n points, without their θ, v and goals."""
        states = self.states[:n].reshape(n, ROWS, self.width)
        energy, noise, residual = self.numbers[:3, :n].copy()
        branch, n_iter, n_factorizations = self.counts[:3, :n].copy()
        return Columns(
            states[:, M].copy(),
            states[:, W].copy(),
            noise,
            energy,
            residual,
            [BRANCHES[i] for i in branch.tolist()],
            n_iter,
            n_factorizations,
        )

    # ---- points --------------------------------------------------------------------------------------------

    cdef const double *row(self, int k, int which) noexcept nogil:
        return self.state + (<size_t>k * ROWS + which) * self.width

    cdef int descend(self, int k, const double *theta, int branch, const double *w) except -1 nogil:
        """Solve at the k-th γ from θ and w."""
        cdef double most = self.most_selected if self.cut or k < self.end else INFINITY
        if branch == EXCHANGE:
            most = fmin(
                most,
                count_above(self.width, 0.0, theta) + (CASCADE if self.additions_mean_something(self.grid[k]) else 0),
            )
        return self.descend_to(most, k, theta, branch, w)

    cdef int descend_to(self, double most, int k, const double *theta, int branch, const double *w) except -1 nogil:
        """The same, until more features are selected than that.

        The best point at the k-th γ is to be beaten; on the way down it is enough not to come to it.
        """
        self.set_prior(self.grid[k])
        memcpy(self.descent.gamma, self.prior, self.width * sizeof(double))
        self.descent.rival, self.descent.rival_energy, self.descent.to_beat = NULL, INFINITY, branch > DOWN
        if branch != UP:
            self.descent.rival, self.descent.rival_energy = self.row(k, M), self.energy[k] - self.lower
        self.descent.descend(theta, w, self.tol, self.max_iter, most, NULL)
        self.total_iter += self.descent.n_iter
        self.total_factorizations += self.descent.n_factorizations
        return 0

    cdef void set_prior(self, double gamma) noexcept nogil:
        cdef int i
        for i in range(self.width):
            self.prior[i] = gamma + self.odds[i]

    cdef void store(self, int k, int branch) noexcept nogil:
        """The descent's end as the best point at the k-th γ."""
        memcpy(self.state + <size_t>k * ROWS * self.width, self.descent.theta, ROWS * self.width * sizeof(double))
        self.energy[k], self.noise[k] = self.found_energy(), self.descent.noise[self.descent.at]
        self.residual[k], self.branch[k] = self.descent.residual[self.descent.at], branch
        self.n_iter[k], self.n_factorizations[k] = self.descent.n_iter, self.descent.n_factorizations
        self.converged[k] = self.descent.converged
        self.last_stamp += 1
        self.stamp[k] = self.last_stamp

    cdef double found_energy(self) noexcept nogil:
        return self.descent.free_energy[self.descent.at]

    cdef bint keep(self, int k, int branch) noexcept nogil:
        cdef bint abandoned = not self.descent.converged and self.descent.n_iter < self.max_iter
        if abandoned or not self.found_energy() < self.energy[k] - self.lower or self.overfits():  # NaN is not lower
            return False
        self.store(k, branch)
        return True

    cdef bint overfits(self) noexcept nogil:
        cdef int selected
        cdef double strong, weak
        if self.most_selected == INFINITY:
            return False
        selected = count_above(self.width, 0.5, self.descent.m)
        masses(self.width, self.descent.m, &weak, &strong)
        if not self.overfitted:
            self.n_selected, self.strong_mass, self.weak_mass = selected, strong, weak
        return selected > self.most_selected or weak > fmax(strong, DIFFUSE * self.n_samples)

    cdef void select(self, int k) noexcept nogil:
        """The k-th point's selection as the present one."""
        cdef int i
        for i in range(self.width):
            self.selection[i] = self.row(k, THETA)[i] > 0.0

    cdef bint undecided(self, int k) noexcept nogil:
        cdef int selected = count_above(self.width, 0.5, self.row(k, M))
        cdef int not_out = count_above(self.width, UNDECIDED, self.row(k, M))
        return not_out - selected > max(selected, MANY_UNDECIDED)

    cdef bint same_selection(self, const double *theta, const double *other) noexcept nogil:
        return count_jumps(self.width, -1.0, theta, other) == 0

    cdef bint same_branch(self, const double *theta, const double *other) noexcept nogil:
        return count_jumps(self.width, JUMP, theta, other) == 0

    cdef void foresee(
        self, int k, int step, const double *near, const double *far, const double *farther
    ) noexcept nogil:
        """As garrote.foresight.foreseen, from the states of the points one, two and three steps away, or NULL."""
        cdef double first, second = 0.0, shift, gamma = self.grid[k + step]
        cdef int width = self.width
        if far == NULL or not self.same_branch(near, far):
            memcpy(self.start, near, width * sizeof(double))
            memcpy(self.start_w, near + W * width, width * sizeof(double))
            return
        if farther == NULL or not self.same_selection(near, far) or not self.same_selection(far, farther):
            farther = far
        self.weigh(k, step, farther != far, &first, &second)
        shift = self.grid[k] - gamma - first * (gamma - self.grid[k + 2 * step])
        if second != 0.0:
            shift -= second * (self.grid[k + 2 * step] - self.grid[k + 3 * step])
        extrapolate(width, first, second, shift, FORESIGHT, near, far, farther, self.start)
        extrapolate(
            width, first, second, 0.0, INFINITY, near + W * width, far + W * width, farther + W * width, self.start_w
        )

    cdef void weigh(self, int k, int step, bint quadratic, double *first, double *second) noexcept nogil:
        """As garrote.foresight.weights."""
        cdef double gamma = self.grid[k + step], t = expm1(fmin(self.grid[k] - gamma, 500.0))
        cdef double last = expm1(fmin(self.grid[k + 2 * step] - gamma, 500.0)), before = last
        if quadratic:
            before = expm1(fmin(self.grid[k + 3 * step] - gamma, 500.0))
        first[0], second[0] = -t / last, 0.0
        if before != last:
            second[0] = -t * (t - last) / (before * (before - last))
            first[0] = second[0] - t * (t - before) / (last * (last - before))
        if not (fabs(first[0]) < LARGEST_WEIGHT and fabs(second[0]) < LARGEST_WEIGHT):
            first[0] = second[0] = 0.0

    cdef const double *best_at(self, int k) noexcept nogil:
        """The state of the best point at the k-th γ, or NULL where there is none."""
        return self.row(k, THETA) if 0 <= k < self.end else NULL

    cdef bint additions_mean_something(self, double gamma) noexcept nogil:
        return not self.wide or self.width * exp(gamma) < 1.0

    # ---- parts 1 and 2: up and down ------------------------------------------------------------------------

    def anneal_up(self, bint whole_grid):
        cdef int k
        self.cut = not whole_grid
        with nogil:
            self.set_prior(self.grid[0])
            for k in range(<int>self.grid.shape[0]):
                if k == 0:
                    self.anneal(k, self.prior, NULL)
                elif k > 1 and self.same_branch(self.row(k - 1, THETA), self.row(k - 2, THETA)):
                    self.foresee(k, -1, self.row(k - 1, THETA), self.row(k - 2, THETA), self.row(k - 3, THETA) if k > 2 else NULL)
                    self.anneal(k, self.start, self.start_w)
                else:
                    self.anneal(k, self.row(k - 1, GOAL), self.row(k - 1, W))
                self.overfitted = self.overfitted or self.overfits()
                if self.overfitted and not whole_grid and k > 0:
                    break
                self.store(k, UP)
                self.up[k] = self.down[k] = self.energy[k]
                self.size = k + 1
                if not self.overfitted:
                    self.end = k + 1

    cdef int anneal(self, int k, const double *theta, const double *w) except -1 nogil:
        cdef int selected = count_above(self.width, 0.0, theta)
        cdef bint far = self.cut and selected + AVALANCHE < self.most_selected < INFINITY
        if not far or self.additions_mean_something(self.grid[k]):
            return self.descend(k, theta, UP, w)
        self.descend_to(selected + CASCADE, k, theta, UP, w)
        if not self.descent.converged and count_above(self.width, 0.0, self.descent.theta) > selected + CASCADE:
            if not self.falls_without_end():
                memcpy(self.start, self.descent.theta, self.width * sizeof(double))
                memcpy(self.start_w, self.descent.w, self.width * sizeof(double))
                return self.descend(k, self.start, UP, self.start_w)
        return 0

    cdef bint falls_without_end(self) except -1 nogil:
        """As garrote.ladder.falls_without_end, from where the descent is; then it is known to overfit."""
        cdef int i, p
        cdef Best found
        for i in range(self.width):
            self.selection[i] = self.descent.theta[i] > 0.0
        self.look_at_selection()
        while True:
            if self.screen.n_on > self.most_selected:
                self.overfitted = True
                self.n_selected, self.strong_mass, self.weak_mass = self.screen.n_on, 0.0, 0.0
                return True
            self.screen.find_best(&found, MOVES, True, False, 0.0, INFINITY)
            p = first_with(&found, &found.add[0])
            if p < 0:
                return False
            self.move_selection(-1, found.add[p])

    def follow_down(self):
        cdef int k, size = ROWS * self.width * sizeof(double)
        cdef bint following = False
        with nogil:
            for k in range(self.end - 2, -1, -1):
                if not following:
                    if self.same_selection(self.row(k + 1, THETA), self.row(k, THETA)):
                        continue
                    memcpy(self.above, self.row(k + 1, THETA), size)
                    if k + 2 < self.end:
                        memcpy(self.beyond, self.row(k + 2, THETA), size)
                    if k + 3 < self.end:
                        memcpy(self.farther, self.row(k + 3, THETA), size)
                self.foresee(
                    k,
                    1,
                    self.above,
                    self.beyond if k + 2 < self.end else NULL,
                    self.farther if k + 3 < self.end else NULL,
                )
                self.descend(k, self.start, DOWN, self.start_w)
                following = False
                if not self.descent.converged:
                    continue
                self.down[k] = self.found_energy()
                following = not fabs(self.down[k] - self.up[k]) < self.lower and self.down[k] < self.energy[k] + BEHIND
                memcpy(self.farther, self.beyond, size)
                memcpy(self.beyond, self.above, size)
                memcpy(self.above, self.descent.theta, size)
                self.keep(k, DOWN)

    # ---- part 3: climb -------------------------------------------------------------------------------------

    def climb(self):
        cdef int k, size, top = -1, most = 0
        for k in range(self.end):
            size = count_above(self.width, 0.0, self.row(k, THETA))
            if size <= HIGHEST and size > most and not self.undecided(k):
                top, most = k, size
        if top < 0:
            return
        cdef int highest = most
        if not self.wide:
            highest = <int>fmax(most, fmin(fmin(most + CASCADE, HIGHEST), self.most_selected))
        self.rungs = np.zeros((highest + 1, self.width), dtype=np.uint8)
        self.climbed = np.empty((highest + 1, self.width), dtype=np.uint8)
        self.rung_energy = np.full(highest + 1, INFINITY)
        self.rung_energy[0] = 0.5 * self.n_samples * log(self.sigma2_y)
        self.rung_w = np.empty((highest + 1, self.width))
        for k in range(self.width):
            self.rung_w[0, k] = self.screen.b[k] / (self.screen.chi[k] * (1.0 + self.ridge))
        with nogil:
            self.find_rungs(top, highest)
            self.try_rungs(highest)

    cdef int find_rungs(self, int top, int highest) except -1 nogil:
        """The best selections of every size."""
        self.set_prior(0.0)
        self.select(top)
        self.n_climbed = 0
        self.climb_from_selection(0, False)
        self.climb_from_selection(highest, True)
        if highest >= 2 and 2 <= self.width <= PAIRED:
            self.select_best_pair()
            self.climb_from_selection(highest, False)
        return 0

    cdef int climb_from_selection(self, int up_to, bint remember) except -1 nogil:
        """Rung after rung, down to a single feature or up to a size, or to a rung that is remembered."""
        cdef int tries, size, wanted
        cdef double worst = 0.0 if self.swaps_compared == 1 else INFINITY  # of equal prior odds, less explained is no gain
        cdef Best found
        self.look_at_selection()
        while True:
            for tries in range(RUNG_SWAPS):
                if not self.screen.find_swap(&found, self.swaps_compared, NULL, worst) or found.value[0] > -LOWER:
                    break
                self.move_selection(found.drop[0], found.add[0])
            size = self.screen.n_on
            if self.screen.noise > INTERPOLATED * self.sigma2_y:
                self.offer_rung(size, remember)
            # of equal prior odds, an addition lowers F + γ·size and a drop raises it
            self.screen.find_best(&found, self.swaps_compared, up_to > 0, False, INFINITY, INFINITY)
            wanted = first_with(&found, &found.add[0] if up_to else &found.drop[0])
            if size == (up_to if up_to else 1) or wanted < 0 or (not remember and self.is_remembered()):
                return 0
            if up_to:
                self.move_selection(-1, found.add[wanted])
            else:
                self.move_selection(found.drop[wanted], -1)

    cdef int look_at_selection(self) except -1 nogil:
        cdef int i
        for i in range(self.width):
            self.start[i] = CERTAIN if self.selection[i] else -CERTAIN
        return self.look(self.start)

    cdef int move_selection(self, int drop, int add) except -1 nogil:
        """Make a move from the selection that was looked at last, and look at the one after it."""
        if drop >= 0:
            self.selection[drop] = False
        if add >= 0:
            self.selection[add] = True
        return self.inverted(self.screen.make(drop, add))

    cdef int look(self, const double *theta) except -1 nogil:
        """Screen every move from θ."""
        return self.inverted(self.screen.look_at(theta, self.prior, self.ridge))

    cdef int inverted(self, bint known) except -1 nogil:
        if not known:
            with gil:
                raise CopiesError
        return 0

    cdef void offer_rung(self, int size, bint remember) noexcept nogil:
        cdef int i
        cdef double value = 0.5 * self.n_samples * log(self.screen.noise)
        for i in range(self.width):
            if self.selection[i]:
                value -= self.odds[i]
        if value < self.rung_energy[size]:
            self.rung_energy[size] = value
            memcpy(&self.rungs[size, 0], self.selection, self.width)
            self.screen.find_w_after(-1, -1, &self.rung_w[size, 0])
        if remember:
            memcpy(&self.climbed[self.n_climbed, 0], self.selection, self.width)
            self.n_climbed += 1

    cdef bint is_remembered(self) noexcept nogil:
        cdef int p
        for p in range(self.n_climbed):
            if memcmp(&self.climbed[p, 0], self.selection, self.width) == 0:
                return True
        return False

    cdef void select_best_pair(self) noexcept nogil:
        """The two features with the lowest F, as garrote.ladder.best_pair."""
        cdef int i, j, n = self.width, first = 0, second = 1
        cdef double *scale = self.start
        cdef double *z = self.start_w
        cdef double *against = self.prior
        cdef double *noise = self.above  # no branch is followed any more
        cdef double least, lowest = INFINITY, most = -INFINITY
        for i in range(n):
            scale[i] = 1.0 / sqrt(self.screen.chi[i] * (1.0 + self.ridge))
            z[i] = self.screen.b[i] * scale[i]
            most = fmax(most, self.odds[i])
        for i in range(n):
            against[i] = exp(fmin(2.0 / self.n_samples * (most - self.odds[i]), MOST_AGAINST))
        for i in range(n - 1):
            j = i + 1
            least = noises_of_pairs(
                n - j, self.sigma2_y, INTERPOLATED * self.sigma2_y, COPIES, scale[i], z[i], against[i],
                &self.screen.gram[i, j], scale + j, z + j, against + j, noise + j,
            )
            if least < lowest:
                while noise[j] != least:
                    j += 1
                lowest, first, second = least, i, j
        self.set_prior(0.0)
        memset(self.selection, 0, n)
        self.selection[first] = self.selection[second] = True

    cdef int try_rungs(self, int highest) except -1 nogil:
        """At each γ the rung that promises the lowest F, where that is not the best point's selection."""
        cdef int k, i, size, best
        for k in range(self.end):
            best = 0
            for size in range(1, highest + 1):
                if self.rung_energy[size] - self.grid[k] * size < self.rung_energy[best] - self.grid[k] * best:
                    best = size
            if self.is_rung(best, k):
                continue
            self.set_prior(self.grid[k])
            for i in range(self.width):
                self.start[i] = CERTAIN if self.rungs[best, i] else self.prior[i]
            if k and self.is_rung(best, k - 1):  # the rung was tried there, and its solution is near by
                self.foresee(k, -1, self.best_at(k - 1), self.best_at(k - 2), self.best_at(k - 3))
                self.descend(k, self.start, EXCHANGE, self.start_w)
            else:
                self.descend(k, self.start, EXCHANGE, &self.rung_w[best, 0])
            if self.descent.noise[self.descent.at] >= INTERPOLATED * self.sigma2_y:
                self.keep(k, EXCHANGE)
        return 0

    cdef bint is_rung(self, int size, int k) noexcept nogil:
        """Whether the rung of a size is the selection of the k-th point."""
        cdef int i
        for i in range(self.width):
            if (self.rungs[size, i] != 0) != (self.row(k, THETA)[i] > 0.0):
                return False
        return True

    # ---- part 4: settle ------------------------------------------------------------------------------------

    def settle(self):
        cdef int k, sweep
        cdef bint changed
        with nogil:
            for sweep in range(SWEEPS):
                changed = False
                for k in range(self.end - 1, -1, -1):
                    changed |= self.try_neighbour(k, k + 1, 0)
                    changed |= self.try_exchange(k)
                for k in range(self.end):
                    changed |= self.try_neighbour(k, k - 1, 1)
                    changed |= self.try_exchange(k)
                if not changed:
                    break

    cdef bint try_neighbour(self, int k, int neighbour, int side) except -1 nogil:
        cdef int step = neighbour - k
        if not 0 <= neighbour < self.end:
            return False
        if self.tried[2 * k + side] == self.stamp[neighbour]:
            return False
        if self.same_selection(self.row(k, THETA), self.row(neighbour, THETA)):
            return False
        self.tried[2 * k + side] = self.stamp[neighbour]
        self.foresee(k, step, self.best_at(neighbour), self.best_at(neighbour + step), self.best_at(neighbour + 2 * step))
        self.descend(k, self.start, NEIGHBOUR, self.start_w)
        return self.keep(k, NEIGHBOUR)

    cdef bint try_exchange(self, int k) except -1 nogil:
        cdef bint changed = False
        while self.settled[k] != self.stamp[k] and not self.undecided(k):
            self.settled[k] = self.stamp[k]
            changed |= self.try_moves(k, self.count_selection(k) <= SWAPS)
        return changed

    cdef int count_selection(self, int k) except -1 nogil:
        """How often the selection of the k-th point was looked at, this time included."""
        cdef int i
        cdef unsigned long long number = 14695981039346656037u
        self.select(k)
        for i in range(self.width):  # Fowler, Noll and Vo's hash: that two selections share a number will not happen
            if self.selection[i]:
                number = (number ^ <unsigned long long>i) * 1099511628211u
        for i in range(self.n_seen):
            if self.seen[i] == number:
                self.looks[i] += 1
                return self.looks[i]
        if self.n_seen == self.seen.shape[0]:
            with gil:
                self.seen, self.looks = np.resize(self.seen, 2 * self.n_seen), np.resize(self.looks, 2 * self.n_seen)
        self.seen[self.n_seen], self.looks[self.n_seen] = number, 1
        self.n_seen += 1
        return 1

    cdef bint try_moves(self, int k, bint swaps) except -1 nogil:
        """Solve the most promising moves from the k-th point, until one lowers F."""
        cdef int p
        cdef bint lasts
        cdef Best found
        cdef double gamma = self.grid[k], slack
        self.set_prior(gamma)
        self.look(self.row(k, THETA))
        self.screen.find_best(
            &found, MOVES, self.additions_mean_something(gamma), swaps, UPHILL, self.explained_by(UPHILL)
        )
        for p in range(found.size):
            slack = SLACK if found.drop[p] >= 0 else SLACK_OF_ADDITIONS
            lasts = found.value[p] < -MUCH or self.is_decided(k, found.drop[p]) or self.is_decided(k, found.add[p])
            if found.value[p] < slack and lasts:
                memcpy(self.start, self.row(k, THETA), self.width * sizeof(double))
                self.switch(found.drop[p], found.add[p])
                self.screen.find_w_after(found.drop[p], found.add[p], self.start_w)
                if self.try_start(k):
                    return True
        return swaps and self.try_chains(k, &found)

    cdef double explained_by(self, double rise) noexcept nogil:
        """How much less a swap may explain that raises F by so much; no bound, where prior odds differ."""
        if self.swaps_compared > 1:
            return INFINITY
        return self.screen.noise * (exp(2.0 * rise / self.n_samples) - 1.0)

    cdef bint is_decided(self, int k, int i) noexcept nogil:
        return i >= 0 and fabs(self.row(k, THETA)[i]) >= DECIDED

    cdef void switch(self, int drop, int add) noexcept nogil:
        if drop >= 0:
            self.start[drop] = fmin(-SWITCHED, self.prior[drop])
        if add >= 0:
            self.start[add] = SWITCHED

    cdef bint try_start(self, int k) except -1 nogil:
        self.descend(k, self.start, EXCHANGE, self.start_w)
        return self.keep(k, EXCHANGE)

    cdef bint try_chains(self, int k, const Best *found) except -1 nogil:
        """Chains that begin with the best swaps among the best moves."""
        cdef int p, chains = 0
        for p in range(found.size):
            if chains < CHAINS and found.drop[p] >= 0 and found.add[p] >= 0:
                if chains == 0:
                    self.screen.bookmark()
                chains += 1
                if self.try_chain(k, found.value[p], found.drop[p], found.add[p]):
                    return True
                self.screen.go_back()
        return False

    cdef bint try_chain(self, int k, double total, int drop, int add) except -1 nogil:
        """Starts that differ by a swap and more moves; ``total`` is the change of F that the swap promises."""
        cdef int depth
        cdef double most
        cdef Best found
        cdef bint adds = self.additions_mean_something(self.grid[k])
        memset(self.touched, 0, self.width)
        memcpy(self.start, self.row(k, THETA), self.width * sizeof(double))
        self.set_prior(self.grid[k])
        for depth in range(1, DEPTH):
            if total > UPHILL:
                return False
            self.switch(drop, add)
            self.touch(drop)
            self.touch(add)
            self.inverted(self.screen.make(drop, add))
            most = (UPHILL if depth + 1 < DEPTH else SLACK) - total  # the last link is of use only if it is tried
            if not self.screen.find_link(
                &found, self.swaps_compared, adds, self.touched, most, self.explained_by(most)
            ):
                return False
            total, drop, add = total + found.value[0], found.drop[0], found.add[0]
            if total < SLACK:
                self.screen.find_w_after(drop, add, self.start_w)
                self.switch(drop, add)
                if self.try_start(k):
                    return True
        return False

    cdef void touch(self, int i) noexcept nogil:
        if i >= 0:
            self.touched[i] = True
