"""Where the lowest F no longer means the best solution: there a path ends.

Where X can interpolate y, E → 0 and F → −∞. Long before that, where very many features are to be had, some of them fit
the noise that is left; and once they do, still more of them fit what these have left, until little of y is.
"""

from __future__ import annotations

import math

from garrote.limits import INTERPOLATED
from garrote.problem import Problem
from garrote.workingset import HEAVY, Found, Model

#: With as many features as samples, more than this fraction of n_samples selected is on the way to interpolation.
INTERPOLATES = 0.5

#: Unselected features may together hold this fraction of n_samples in inclusions (or as many as are selected).
DIFFUSE = 0.05

#: An exchange move that brings in more features than this is abandoned, and the ladder ends so much above a solution.
CASCADE = 10


class Overfitting:
    """The rules for one problem."""

    def __init__(self, problem: Problem, model: Model) -> None:
        self.n_samples, self.sigma2_y = problem.n_samples, problem.sigma2_y
        self.n_features = len(problem.varying)
        # As many features as samples can fit anything; with fewer, F is bounded.
        can_interpolate = self.n_features >= self.n_samples - 1
        self.most_selected = INTERPOLATES * (self.n_samples - 1) if can_interpolate else math.inf
        self.wide = self.n_features >= 2 * self.n_samples  #: whether some useless features always fit well
        self.flat = model.ridge == 0.0  #: a slab prior bounds F
        odds = model.prior_log_odds
        alike = odds is None or bool((odds == odds[0]).all())
        self.doubts = self.wide and alike and self.flat  #: whether it is known what useless features explain

    def overfits(self, found: Found) -> str:
        """Why lowest F no longer means best here, or ''."""
        if not math.isfinite(self.most_selected):
            return ""
        m = found.run.end.m
        selected = m[m > 0.5]
        if not found.at_rest and len(selected) <= self.most_selected:
            return "unselected features together begin to explain y, and no solution comes to rest"
        outside = found.outside_mass
        if self.flat and outside > HEAVY * self.n_samples:
            return f"unselected features hold a total inclusion of {outside:.3g}: together they begin to explain y"
        strong = float(selected.sum())
        return self.excess(len(selected), strong, float(m.sum()) - strong + outside)

    def excess(self, n_selected: float, strong: float, weak: float) -> str:
        """What is too much of the selected features, or of the inclusion that the others hold, or ''."""
        if n_selected > self.most_selected:
            return (
                f"{n_selected:g} features are selected from {self.n_samples:g} samples: the fit begins to interpolate"
            )
        if weak > max(strong, DIFFUSE * self.n_samples):
            return f"unselected features hold a total inclusion of {weak:.3g}, the selected ones {strong:.3g}"
        return ""

    def cascade(self, gamma: float, size: int, larger: int, noise: float, less_noise: float) -> str:
        """Why the path ends where a selection of lower F is much larger, by more than a move may bring in; or ''.

        It is not believed if it explains only what useless features would, and the prior expects less than one of them.
        """
        if larger <= size + 1 + CASCADE or not (self.doubts and self.additions_mean_something(gamma)):
            return ""
        if log_sets_as_good(self.n_samples, self.n_features, size, larger, less_noise / noise) <= 0.0:
            return ""
        added = larger - size
        return (
            f"at gamma = {gamma:.4g} free energy is lowest with {larger} features, but the {added} added to {size} "
            f"explain no more than the best {added} of {self.n_features - size} useless ones would"
        )

    def interpolates(self, found: Found) -> bool:
        """Repeated samples hide from the rules above, which count samples, that X can interpolate y."""
        return found.run.end.noise < INTERPOLATED * self.sigma2_y

    def additions_mean_something(self, gamma: float) -> bool:
        """Whether exchange may add features: not where the prior alone expects one of very many useless ones.

        The best of these is always worth adding there, and after it the next, until y is interpolated.
        """
        return not self.wide or self.n_features * math.exp(gamma) < 1.0


def log_sets_as_good(n_samples: float, n_features: int, size: int, larger: int, left: float) -> float:
    """The logarithm of how many sets of useless features, added to some, leave no more of the noise; a lower bound.

    Regression on j random directions leaves a fraction ε or less with probability I_ε(a, b), where 2b = j and 2a is the
    degrees of freedom after it. I_ε(a, b) is above ε^a (1 − ε)^(b − 1) / (a B(a, b)) if b ≥ 1.
    """
    added = larger - size
    a, b = 0.5 * (n_samples - 1.0 - larger), 0.5 * added
    sets = math.lgamma(n_features - size + 1) - math.lgamma(added + 1) - math.lgamma(n_features - larger + 1)
    if left <= 0.0 or left >= 1.0:
        return -math.inf if left <= 0.0 else sets
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return sets + a * math.log(left) + (b - 1.0) * math.log1p(-left) - math.log(a) - log_beta
