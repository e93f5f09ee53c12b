"""The report of a fit: one HTML file with all that it needs inside.

:func:`render` gathers the findings in Python and fills ``page.html``; ``page.js`` draws the panels with Plotly and
moves them with the slider.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from garrote.problem import as_problem
from garrote.report.columns import inspect
from garrote.report.findings import Report, path_data, selection
from garrote.report.folds import compare, validate

try:
    from garrote.report.page import fill
except ModuleNotFoundError as error:
    if (error.name or "").partition(".")[0] not in ("jinja2", "markupsafe", "plotly"):
        raise
    message = "the report needs plotly and jinja2; install them with: pip install 'garrote[report]'"
    raise ModuleNotFoundError(message, name=error.name) from error

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
    check_is_fitted(model)
    problem = as_problem(X, y, fit_intercept=model.fit_intercept)
    n_features = problem.n_features
    if n_features != model.n_features_in_:
        raise ValueError(f"X has {n_features} features, but the model was fitted to {model.n_features_in_}.")
    if len(names) != n_features:
        raise ValueError(f"names has {len(names)} entries, but X has {n_features} features; give one for each.")
    names = [str(name) for name in names]
    chosen = int(np.argmin(np.abs(model.path_.gammas - model.gamma_)))
    rows = selection(model, problem)
    validation = validate(model, problem, X, y)
    results = [] if validation is None else compare(model, validation, chosen)
    return fill(
        Report(
            title=title,
            command=command,
            seed=seed,
            names=names,
            model=model,
            problem=problem,
            rows=rows,
            columns=inspect(problem, rows),
            results=results,
            path=path_data(model.path_, chosen, rows, problem, names, validation and validation.errors),
        )
    )
