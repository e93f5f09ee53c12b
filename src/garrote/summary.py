"""What a fit, a path or a solution says of itself: a table as text, or as HTML for notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils import estimator_html_repr
from sklearn.utils.validation import _check_feature_names_in

from garrote.arrays import Array, Index

if TYPE_CHECKING:
    from garrote.path import Path
    from garrote.solve import Solution

#: Rows of a summary at most; the rest is counted.
MOST_ROWS = 40

#: Inclusion above which a feature counts as selected.
SELECTED = 0.5

_STYLE = (
    "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0",
    "text-align:right;padding:.1em .8em",
    "text-align:left;padding:.1em .8em",
)


@dataclass(frozen=True)
class Summary:
    """Facts and a table; ``str`` gives plain text, a notebook shows HTML."""

    title: str
    facts: Sequence[tuple[str, str]]
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str = ""

    def __str__(self) -> str:
        widths = [max(len(cell) for cell in column) for column in zip(self.header, *self.rows, strict=True)]
        table = ["  ".join(_justified(row, widths)) for row in (self.header, *self.rows)]
        facts = _two_columns(self.facts)
        width = max(map(len, [self.title, *facts, *table]))
        lines = [self.title.center(width).rstrip(), "=" * width, *facts]
        if self.rows:
            lines += ["-" * width, table[0], "-" * width, *table[1:]]
        lines.append("=" * width)
        return "\n".join([*lines, self.note] if self.note else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        table, right, left = (f' style="{style}"' for style in _STYLE)
        facts = "".join(
            f"<tr><th{left}>{escape(name)}</th><td{right}>{escape(value)}</td></tr>" for name, value in self.facts
        )
        html = f"<table{table}><caption><b>{escape(self.title)}</b></caption><tbody>{facts}</tbody></table>"
        if self.rows:
            head = "".join(f"<th{right if k else left}>{escape(cell)}</th>" for k, cell in enumerate(self.header))
            body = "".join(
                "<tr>"
                + "".join(f"<td{right if k else left}>{escape(cell)}</td>" for k, cell in enumerate(row))
                + "</tr>"
                for row in self.rows
            )
            html += f"<table{table}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return html + (f"<p>{escape(self.note)}</p>" if self.note else "")


def _justified(row: Sequence[str], widths: Iterable[int]) -> list[str]:
    """The first cell to the left, numbers to the right."""
    return [
        cell.rjust(width) if k else cell.ljust(width) for k, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]


def _two_columns(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Facts side by side, the first half to the left."""
    half = -(-len(facts) // 2)
    columns = []
    for part in (facts[:half], facts[half:]):
        name_width = max((len(name) for name, _ in part), default=0)
        value_width = max((len(value) for _, value in part), default=0)
        columns.append([f"{name + ':':<{name_width + 1}}  {value:>{value_width}}" for name, value in part])
    columns[1] += [""] * (half - len(columns[1]))
    return [f"{left}     {right}".rstrip() for left, right in zip(*columns, strict=True)]


def rounded(value: float, digits: int) -> str:
    """A number with so many digits, without an exponent where it reads well without."""
    short = float(f"{value:.{digits}g}")
    return f"{short:.0f}" if 10**digits <= abs(short) < 1e7 else f"{short:.{digits}g}"


# ---- what fitted models share ------------------------------------------------------------------------------


def check_fitted(model: Any) -> None:
    """As scikit-learn's check, but for models that were read from a file too."""
    if not hasattr(model, "coef_"):
        raise NotFittedError(f"This {type(model).__name__} is not fitted yet; call fit first.")


class ValidationError(NamedTuple):
    """Mean squared error on held-out samples at the chosen γ and λ."""

    error: float
    standard_error: float | None  #: over the folds; None for a single split
    n_splits: int


def cross_validated_error(model: Any) -> ValidationError | None:
    """The error with which γ and λ were chosen; None where they were given."""
    if not hasattr(model, "mse_path_"):
        stored = getattr(model, "provenance_", {}).get("validation")
        return None if stored is None else ValidationError(**stored)
    ridge = int(np.flatnonzero(model.ridges_ == model.ridge_)[0])
    errors = model.mse_path_[ridge, int(np.flatnonzero(model.gammas_ == model.gamma_)[0])]
    n_splits = errors.size
    spread = float(errors.std(ddof=1) / np.sqrt(n_splits)) if n_splits > 1 else None
    return ValidationError(float(errors.mean()), spread, n_splits)


def ridge_of(model: Any) -> float:
    """λ, chosen or given."""
    return float(model.ridge_ if hasattr(model, "ridge_") else model.ridge)


def feature_names(model: Any, n_features: int | None = None) -> list[str]:
    """The names of the columns that a model was fitted to; x0, x1, … where they had none, as in scikit-learn."""
    names = getattr(model, "feature_names_in_", None)
    count = model.n_features_in_ if n_features is None else n_features
    return [f"x{i}" for i in range(count)] if names is None else [str(name) for name in names]


def by_importance(inclusion: Array, coef: Array) -> Index:
    """The selected features, the certain ones first, among equals the larger coefficient."""
    chosen = np.flatnonzero(inclusion > SELECTED)
    certainty = np.round(inclusion[chosen], 3)  # what a reader sees
    return chosen[np.lexsort((-np.abs(coef)[chosen], -certainty))]


# ---- the summaries -----------------------------------------------------------------------------------------


def summarise(model: Any) -> Summary:
    """A fitted garrote: how it was chosen, how well it fits, and the features with inclusion above one half."""
    check_fitted(model)
    names = feature_names(model)
    chosen = by_importance(model.inclusion_, model.coef_)
    facts = [
        ("Samples", f"{model.n_samples_:g}"),
        ("Features", str(model.n_features_in_)),
        ("Selected (inclusion > 0.5)", str(len(chosen))),
        ("Expected number of features", f"{model.inclusion_.sum():.4g}"),
        ("Intercept", f"{model.intercept_:.5g}"),
        ("gamma (log prior odds)", f"{model.gamma_:.4g}"),
        ("ridge (slab precision)", f"{ridge_of(model):.4g}"),
        ("Noise standard deviation", f"{model.beta_**-0.5:.5g}"),
        ("Variance explained", _explained(model)),
        ("Free energy", f"{model.free_energy_:.6g}"),
    ]
    validation = cross_validated_error(model)
    if validation is not None:
        spread = "" if validation.standard_error is None else f" ± {rounded(validation.standard_error, 2)}"
        splits = "validation" if validation.n_splits == 1 else f"{validation.n_splits} folds"
        facts.insert(5, (f"Squared error ({splits})", f"{rounded(validation.error, 5)}{spread}"))
    header = ("feature", "inclusion", "coefficient", "if included")
    rows = _feature_rows(chosen, names, model.inclusion_, model.coef_, model.slab_coef_)
    return Summary("Variational Garrote", facts, header, rows, _not_shown(chosen))


def _feature_rows(chosen: Index, names: Sequence[str], m: Array, v: Array, w: Array) -> list[tuple[str, ...]]:
    """A row for each of the first features."""
    return [(names[i], f"{m[i]:.3f}", f"{v[i]:.5g}", f"{w[i]:.5g}") for i in chosen[:MOST_ROWS]]


def _not_shown(chosen: Index) -> str:
    """How many features are selected beyond those that have a row."""
    more = len(chosen) - MOST_ROWS
    return f"and {more} more selected features" if more > 0 else ""


def _explained(model: Any) -> str:
    """1 − (noise variance)/(variance of y)."""
    return f"{1.0 - 1.0 / (model.beta_ * model.y_variance_):.4f}" if model.y_variance_ else "–"


def hysteresis(path: Path) -> Any:
    """Where on a path F differs, by more than rounding, between γ rising and falling."""
    return np.abs(path.free_energy_up - path.free_energy_down) > 1e-6


def summarise_path(path: Path) -> Summary:
    """A path: a line for each γ, or for about twenty of them."""
    shown = np.unique(np.linspace(0, len(path) - 1, 20).round().astype(int))
    rows = [
        (f"{s.gamma:.4g}", str(len(s.selected)), f"{s.beta**-0.5:.4g}", f"{s.free_energy:.6g}", s.branch)
        for s in (path[int(k)] for k in shown)
    ]
    facts = [
        ("γ from", f"{path.gammas[0]:.4g}"),
        ("γ to", f"{path.gammas[-1]:.4g}"),
        ("grid points", f"{len(path)}, shown {len(rows)}"),
        ("where up and down differ", f"{hysteresis(path).sum()} of {len(path)}"),
        ("passes over X", str(path.n_passes)),
        ("descent steps", str(path.n_iter)),
    ]
    header = ("γ", "selected", "noise sd", "free energy", "found by")
    return Summary(
        "Path of the Variational Garrote", facts, header, rows, f"Ended: {path.stopped}." if path.stopped else ""
    )


def summarise_solution(solution: Solution, names: Sequence[str] | None = None) -> Summary:
    """A solution at one γ: its selected features."""
    m, v, w = solution.m, solution.v, solution.w
    chosen = by_importance(m, v)
    facts = [
        ("γ", f"{solution.gamma:.5g}"),
        ("selected", f"{len(chosen)} of {solution.n_features}"),
        ("noise standard deviation", f"{solution.beta**-0.5:.5g}"),
        ("free energy", f"{solution.free_energy:.6g}"),
        ("descent steps", str(solution.n_iter)),
        ("residual", f"{solution.residual:.1e}"),
    ]
    if names is None:
        names = [f"x{i}" for i in range(solution.n_features)]
    header, title = ("feature", "m", "v = m·w", "w"), f"Solution of the Variational Garrote ({solution.branch})"
    return Summary(title, facts, header, _feature_rows(chosen, names, m, v, w), _not_shown(chosen))


def fitted_html(model: Any) -> str:
    """The summary of a fitted model above scikit-learn's diagram; the diagram alone before that."""
    if not hasattr(model, "coef_"):
        return str(estimator_html_repr(model))
    diagram = estimator_html_repr(model) if hasattr(model, "fit") else ""
    return f"<div>{summarise(model)._repr_html_()}{diagram}</div>"


class Described:
    """What a fitted garrote shows of itself; to be mixed in before scikit-learn's base class."""

    inclusion_: Array

    def summary(self) -> Summary:
        """The fit as a table: ``print(model.summary())``."""
        return summarise(self)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """The names of the selected features, those with inclusion above one half."""
        check_fitted(self)
        return _check_feature_names_in(self, input_features)[self.inclusion_ > SELECTED]

    def _repr_html_inner(self) -> str:
        return fitted_html(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        return bundle | {"text/html": fitted_html(self)} if "text/html" in bundle else bundle
