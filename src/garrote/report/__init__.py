"""The report of a fit: one HTML file with all that it needs inside.

:func:`render` gathers the findings in Python and fills ``page.html``; ``page.js`` draws the panels with Plotly and
moves them with the slider.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from garrote.problem import Samples, as_problem
from garrote.report.columns import inspect
from garrote.report.findings import Report, path_data, selection
from garrote.report.folds import Result, rivals, validate
from garrote.report.page import fill

__all__ = ["render"]


def render(model: Any, X: Any, y: Any, *, names: list[str], title: str, command: str, seed: int | None) -> str:
    """The report of a fitted model as a whole HTML page that needs no network.

    Parameters
    ----------
    model : a fitted :class:`~garrote.VariationalGarroteCV` or :class:`~garrote.VariationalGarrote`
    X, y : the data it was fitted to: a table, an array, a sparse matrix or a Design; or ``Moments`` and None
    names : of the features, in the order of the columns of X
    title : of the report
    command : that made the fit, to be repeated
    seed : of whatever was random, or None if nothing was
    """
    problem = as_problem(X, y, fit_intercept=model.fit_intercept)
    if len(names) != problem.n_features:
        raise ValueError(f"names has {len(names)} entries, but X has {problem.n_features} features; give one for each.")
    chosen = int(np.argmin(np.abs(model.path_.gammas - model.gamma_)))
    rows = selection(model, problem)
    errors, results = None, []
    if isinstance(problem, Samples):
        errors, splits = validate(model, problem, X, y)
        own = Result("Variational Garrote", errors[chosen], int((model.inclusion_ > 0.5).sum()))
        results = [own, *(rivals(problem, splits) if splits is not None else [])]
    return fill(
        Report(
            title=title,
            command=command,
            seed=seed,
            names=[str(name) for name in names],
            model=model,
            problem=problem,
            rows=rows,
            columns=inspect(problem, rows),
            results=results,
            path=path_data(model.path_, chosen, rows, problem, names, errors),
        )
    )
