"""The Variational Garrote beside other sparse and dense regressions, all on the same folds.

Every method is fitted to the training part of each fold and chooses its own parameters there, by cross-validation
within that part (PMF: by its bound). Methods that depend on the scale of the columns see standardised ones.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.linear_model import ElasticNetCV, LassoCV, OrthogonalMatchingPursuitCV, RidgeCV
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from garrote.arrays import Array
from garrote.checks import check_outputs
from garrote.comparators.pmf import PairedMeanField
from garrote.comparators.registry import L1_RATIOS, selected
from garrote.design import Design
from garrote.estimators import VariationalGarroteCV
from garrote.watch import Checkpoint, identity_of

#: Penalties of ridge regression on standardised columns.
RIDGE_PENALTIES = np.logspace(-4, 5, 46)

#: OMP tries at most so many features.
MOST_PURSUED = 100

#: Numbers that a comparison holds in memory at most: its methods need the whole matrix, in float64.
MOST_NUMBERS = 200_000_000

#: (number of samples, number of features, inner folds, seed) → an unfitted model.
Maker = Callable[[int, int, Any, int], Any]

METHODS: dict[str, Maker] = {
    "VG": lambda n, p, cv, seed: VariationalGarroteCV(cv=cv),
    "Lasso": lambda n, p, cv, seed: _scaled(LassoCV(cv=cv, max_iter=10_000)),
    "ridge": lambda n, p, cv, seed: _scaled(RidgeCV(RIDGE_PENALTIES)),
    "elastic net": lambda n, p, cv, seed: _scaled(ElasticNetCV(l1_ratio=L1_RATIOS, cv=cv, max_iter=10_000)),
    "PMF": lambda n, p, cv, seed: _scaled(PairedMeanField(random_state=seed)),
    "OMP": lambda n, p, cv, seed: _scaled(OrthogonalMatchingPursuitCV(cv=cv, max_iter=min(p, n // 2, MOST_PURSUED))),
}


@dataclass(frozen=True)
class FoldResult:
    """One method on one fold."""

    error: float  #: mean squared error on the held-out samples
    selected: list[int]
    seconds: float  #: of the fit, with the choice of its parameters


@dataclass(frozen=True)
class MethodResult:
    """One method over all folds."""

    method: str
    folds: list[FoldResult]
    n_features: int

    @property
    def error(self) -> float:
        """Mean squared error on held-out samples, averaged over the folds."""
        return float(np.mean(self._errors))

    @property
    def standard_error(self) -> float:
        """Of the mean error, from its spread over the folds."""
        return float(np.std(self._errors, ddof=1) / np.sqrt(len(self.folds)))

    @property
    def n_selected(self) -> float:
        """Features selected, averaged over the folds."""
        return float(np.mean([len(fold.selected) for fold in self.folds]))

    @property
    def stability(self) -> float:
        """How alike the selections of the folds are, by :func:`nogueira_stability`."""
        chosen = np.zeros((len(self.folds), self.n_features), dtype=bool)
        for row, fold in zip(chosen, self.folds, strict=True):
            row[fold.selected] = True
        return nogueira_stability(chosen)

    @property
    def seconds(self) -> float:
        """Time of a fit, averaged over the folds."""
        return float(np.mean([fold.seconds for fold in self.folds]))

    @property
    def _errors(self) -> list[float]:
        return [fold.error for fold in self.folds]


def nogueira_stability(chosen: Any) -> float:
    """Stability of selections, one per row: 1 where all are equal, about 0 where they are random.

    1 − mean_f s_f² / ((k̄/d)(1 − k̄/d)), s_f² the variance over the rows of whether feature f is in, k̄ the mean number
    of selected features, d the number of features (Nogueira, Sechidis & Brown, 2018). NaN where every row selects
    nothing, or everything: then there is no choice to be stable.
    """
    chosen = np.asarray(chosen, dtype=np.float64)
    share = chosen.mean()
    if share in (0.0, 1.0):
        return float("nan")
    return float(1.0 - chosen.var(axis=0, ddof=1).mean() / (share * (1.0 - share)))


def compare(
    X: Any,
    y: Any,
    *,
    folds: int = 5,
    seed: int = 0,
    methods: Sequence[str] = tuple(METHODS),
    checkpoint: Checkpoint | None = None,
    on_fold: Callable[[str, int], None] = lambda method, done: None,
) -> list[MethodResult]:
    """Each method on the same folds, which ``seed`` shuffles; finished folds are kept in ``checkpoint``.

    ``on_fold`` is told the method and the number of fits that are done, before each fit.
    """
    X = dense(X)
    y = check_outputs(y, len(X))
    splits = list(KFold(folds, shuffle=True, random_state=seed).split(X))
    identity = identity_of(X, y, folds, seed)[:24]
    results = []
    for k, name in enumerate(methods):
        found = []
        for j, (train, test) in enumerate(splits):
            on_fold(name, k * folds + j)
            key = f"{name.replace(' ', '-')}-{j + 1}-{identity}"
            fold = None if checkpoint is None else _recalled(checkpoint, key, X.shape[1])
            if fold is None:
                fold = _one_fold(METHODS[name], (X[train], y[train]), (X[test], y[test]), seed)
                if checkpoint is not None:
                    checkpoint.keep(key, vars(fold))
            found.append(fold)
        results.append(MethodResult(name, found, X.shape[1]))
    return results


def _recalled(checkpoint: Checkpoint, key: str, n_features: int) -> FoldResult | None:
    """A fold that was kept, if it makes sense."""
    kept = checkpoint.recall(key)
    if kept is None:
        return None
    try:
        chosen = np.array(kept["selected"], dtype=np.intp)
        fold = FoldResult(float(kept["error"]), chosen.tolist(), float(kept["seconds"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        chosen = np.full(1, n_features)
    if chosen.ndim == 1 and ((chosen >= 0) & (chosen < n_features)).all():
        return fold
    checkpoint.refuse(key)
    return None


def _one_fold(make: Maker, train: tuple[Array, Array], test: tuple[Array, Array], seed: int) -> FoldResult:
    X, y = train
    inner = KFold(min(5, len(y) // 2), shuffle=True, random_state=seed)
    model = make(len(y), X.shape[1], inner, seed)
    start = perf_counter()
    with warnings.catch_warnings():  # ends of grids that did not converge are not chosen
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = perf_counter() - start
    error = float(np.mean((test[1] - model.predict(test[0])) ** 2))
    last = model[-1] if hasattr(model, "steps") else model
    return FoldResult(error, np.flatnonzero(selected(last)).tolist(), seconds)


def _scaled(model: Any) -> Any:
    return make_pipeline(StandardScaler(), model)


def dense(X: Any) -> Array:
    """Any storage as one float64 array, if it is small enough."""
    n_samples, n_features = X.shape
    if n_samples * n_features > MOST_NUMBERS:
        raise ValueError(
            f"the data have {n_samples} × {n_features} numbers, but a comparison needs all of them in memory; "
            f"compare on at most {MOST_NUMBERS:.0e} numbers, such as a random subset of the features."
        )
    if isinstance(X, Design):
        return X.columns(np.arange(n_features))
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
