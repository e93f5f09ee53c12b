"""Credible signals: one signal spread over a block of correlated features, made visible as one.

Between near-duplicate features inclusion is shared arbitrarily, so a selected variant stands for its whole
neighbourhood. A signal is a lead feature and all features whose |correlation| with it reaches a threshold; its total
inclusion Σ m is the expected number of them in the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from garrote.arrays import Array, Index
from garrote.checks import check_inputs, check_number
from garrote.design import Design, as_design
from garrote.moments import Moments
from garrote.solve import Solution

#: Leads whose correlations with all other features are found in one pass.
AT_ONCE = 8

#: A feature with a smaller inclusion leads no signal.
LEAST_LEAD = 0.03


@dataclass(frozen=True)
class Signal:
    """A lead feature and its correlated neighbours."""

    lead: int
    members: Index  #: the features of the block, the lead among them, in ascending order
    correlation: Array  #: of each member with the lead
    inclusion: float  #: Σ m of the members
    lead_inclusion: float
    place: dict[str, Any] = field(default_factory=dict)  #: name, and for variants chromosome, start, end, counted

    @property
    def row(self) -> dict[str, Any]:
        """The signal as one row of a table."""
        return {
            "lead": self.lead,
            **self.place,
            "inclusion": self.inclusion,
            "lead_inclusion": self.lead_inclusion,
            "n_members": len(self.members),
        }


class Signals(tuple[Signal, ...]):
    """Signals, the largest inclusion of a lead first."""

    __slots__ = ()

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each signal."""
        import pandas as pd

        return pd.DataFrame([signal.row for signal in self])


def credible_signals(
    model: Any, X: Any, *, threshold: float = 0.8, least: float = 0.5, window: float = 1_000_000
) -> Signals:
    """The signals of a fitted model or a Solution.

    The feature with the largest inclusion leads the first signal and takes its neighbours with it; the next signal is
    found among the rest.

    Parameters
    ----------
    model : a fitted estimator with ``inclusion_``, or a :class:`~garrote.solve.Solution`
    X : the inputs that it was fitted to: an array, data frame, Design, or :class:`~garrote.moments.Moments`
    threshold : the least |correlation| with the lead
    least : the least total inclusion that is reported
    window : members lie within so many base pairs of the lead, on its chromosome, where X knows positions
    """
    threshold = check_number("threshold", threshold, above=0.0)
    if threshold > 1.0:
        raise ValueError(f"threshold is {threshold!r}; a correlation is at most 1.")
    m = np.array(model.m if isinstance(model, Solution) else model.inclusion_)
    neighbours = _Neighbours(X, check_number("window", window, least=0.0))
    if neighbours.n_features != len(m):
        raise ValueError(f"X has {neighbours.n_features} features, but the model has {len(m)}.")
    m[neighbours.unpenalized] = 0.0  # covariates are no finding
    free = np.ones(len(m), dtype=bool)
    found: list[Signal] = []
    while True:
        leads = np.flatnonzero(free & (m >= LEAST_LEAD))
        if not len(leads):
            return Signals(sorted(found, key=lambda signal: -signal.lead_inclusion))
        leads = leads[np.argsort(-m[leads], kind="stable")][:AT_ONCE]
        for lead, correlation in zip(leads.tolist(), neighbours.correlations(leads), strict=True):
            if not free[lead]:  # an earlier lead has taken it
                continue
            members = np.flatnonzero(free & (np.abs(correlation) >= threshold) & neighbours.near(lead))
            members = np.union1d(members, lead)
            free[members] = False
            total = float(m[members].sum())
            if total >= least:
                place = neighbours.place(lead, members)
                found.append(Signal(lead, members, correlation[members], total, float(m[lead]), place))


class _Neighbours:
    """Correlations between features, and where they are."""

    def __init__(self, X: Any, window: float) -> None:
        self.names: Sequence[Any] | None = getattr(X, "feature_names", getattr(X, "columns", None))
        self.variants = getattr(X, "variants", None)
        self.window = window
        self.unpenalized: Index = getattr(X, "unpenalized", np.empty(0, dtype=np.intp))
        self.moments = X if isinstance(X, Moments) else None
        if isinstance(X, Moments):
            self.n_features, self.norm = X.n_features, np.sqrt(X.chi)
        else:
            self.design = as_design(X if isinstance(X, Design) else check_inputs(X))
            n_samples, self.n_features = self.design.shape
            self.mean, variance = self.design.moments(np.full(n_samples, 1.0 / n_samples))
            self.norm = np.sqrt(variance)

    def correlations(self, leads: Index) -> Array:
        """A row for each lead: its correlations with all features, 0 with constant ones."""
        if self.moments is not None:
            covariance = self.moments.gram[leads]
        else:
            columns = self.design.columns(leads) - self.mean[leads]
            covariance = self.design.transpose_dot(columns / self.design.shape[0]).T
        norms = np.multiply.outer(self.norm[leads], self.norm)
        return np.divide(covariance, norms, out=np.zeros_like(norms), where=norms > 0)

    def near(self, lead: int) -> Any:
        """Which features are on the lead's chromosome and within the window; all, where nothing is known."""
        if self.variants is None:
            return True
        near = np.zeros(self.n_features, dtype=bool)
        distance = np.abs(self.variants.position.astype(np.int64) - int(self.variants.position[lead]))
        here = self.variants.chromosome == self.variants.chromosome[lead]
        near[: len(self.variants)] = here & (distance <= self.window)
        return near

    def place(self, lead: int, members: Index) -> dict[str, Any]:
        """The lead's name and, for variants, where the block is."""
        place: dict[str, Any] = {} if self.names is None else {"name": self.names[lead]}
        if self.variants is not None:
            where = self.variants.position[members]
            place |= {
                "chromosome": str(self.variants.chromosome[lead]),
                "position": int(self.variants.position[lead]),
                "counted": str(self.variants.counted[lead]),
                "start": int(where.min()),
                "end": int(where.max()),
            }
        return place
