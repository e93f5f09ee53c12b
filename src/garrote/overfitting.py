"""Where the lowest F no longer means the best solution: there a path ends.

Where X can interpolate y, E → 0 and F → −∞. Long before that, where there are very many features, some of them fit the
noise, and then others fit what these have left of it, until little of y is left.
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

#: To name k of p features takes log C(p, k) nats. Where that was more than so many for each sample, no path that we
#: looked at had found the features that made y, not even without noise: what is selected there is an overfit.
NATS = 1.8


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
        if self.wide and self.flat and alike:
            self.most_selected = min(self.most_selected, most_named(self.n_features, NATS * self.n_samples))

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

    def interpolates(self, found: Found) -> bool:
        """Repeated samples hide from the rules above, which count samples, that X can interpolate y."""
        return found.run.end.noise < INTERPOLATED * self.sigma2_y

    def additions_mean_something(self, gamma: float) -> bool:
        """Whether exchange may add features: not where the prior alone expects one of very many useless ones.

        The best of these is always worth adding there, and after it the next, until y is interpolated.
        """
        return not self.wide or self.n_features * math.exp(gamma) < 1.0


def most_named(n_features: int, nats: float) -> int:
    """The most of n_features, at least one and at most half, that can be named by so many nats."""
    size, named = 1, math.log(n_features)
    while 2 * size < n_features:
        named += math.log((n_features - size) / (size + 1))
        if named > nats:
            break
        size += 1
    return size
