"""The layout of the report: findings in, HTML out."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import math
import sys
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import sklearn
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

import garrote
from garrote.arrays import Array
from garrote.problem import Samples
from garrote.report.columns import STRONG
from garrote.report.findings import Report, effects, standard_error
from garrote.report.folds import Result, screened

#: Names that a sentence lists before it says “and so many more”.
MOST_NAMES = 12


def fill(report: Report) -> str:
    """The page."""
    scripts = [_source(get_plotlyjs()), _source(_asset("page.js"))]
    environment = Environment(
        loader=PackageLoader("garrote.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "listing": listing}
    return environment.get_template("page.html").render(
        report=report,
        names=report.names,
        constant=[report.names[i] for i in report.columns.constant],
        copies=[[report.names[i] for i in group] for group in report.columns.copies],
        model=report.model,
        headline=headline(report),
        table=_table(report),
        comparison=_comparison(report.results),
        screened=_screened(report),
        strong=STRONG,
        most_names=MOST_NAMES,
        versions=_versions(),
        data=_json(report.path),
        scripts=scripts,
        style=_source(_asset("page.css")),
        policy=_policy(scripts),
    )


def headline(report: Report) -> str:
    """The finding in a sentence."""
    if not report.results:
        return f"{_finding(report)}; noise level {number(report.model.beta_**-0.5)}."
    errors = report.results[0].errors
    expected = f"expected error {_with_spread(errors)} (mean squared, on unseen samples)"
    if report.problem.sigma2_y == 0.0:
        return f"The response is constant; {expected}."
    explained = 1.0 - float(errors.mean()) / report.problem.sigma2_y
    if explained <= 0.0:
        return f"{_finding(report)}; {expected}, no better than the mean of the response."
    return f"{_finding(report)}; {expected}, {100 * explained:.0f} % of the variance explained."


def _finding(report: Report) -> str:
    n_selected, n_features = report.n_selected, report.problem.n_features
    if n_selected == 0:
        return f"None of {n_features} features carries a signal that shows"
    if n_selected > max(1, n_features // 2):
        return f"The signal does not look sparse, {n_selected} of {n_features} features are used"
    return f"{n_selected} of {n_features} features {'carries' if n_selected == 1 else 'carry'} the signal"


def _with_spread(errors: Array) -> str:
    """Mean ± standard error, both to two digits of the latter."""
    mean, spread = float(errors.mean()), float(standard_error(errors))
    if not 0.0 < spread < np.inf:
        return number(mean)
    decimals = max(0, 1 - math.floor(math.log10(spread)))
    return f"{mean:.{decimals}f} ± {spread:.{decimals}f}" if decimals < 8 else f"{mean:.3e} ± {spread:.1e}"


def number(value: float) -> str:
    """A number with four significant digits, in plain notation where that is short."""
    if math.isfinite(value) and value == round(value) and abs(value) < 1e7:
        return f"{value:.0f}".replace("-", "−")
    if not math.isfinite(value):
        return str(value)
    magnitude = math.floor(math.log10(abs(value)))
    shown = f"{value:.{max(0, 3 - magnitude)}f}" if -4 <= magnitude < 7 else f"{value:.3e}"
    return shown.replace("-", "−")


def listing(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _table(report: Report) -> list[dict[str, Any]]:
    """A row for each selected feature."""
    model, rows = report.model, report.rows
    moved = effects(model.coef_[rows], rows, report.problem)
    return [
        {
            "name": report.names[i],
            "inclusion": float(model.inclusion_[i]),
            "coefficient": float(model.coef_[i]),
            "effect": float(effect),
            "neighbours": report.columns.neighbours[int(i)],
        }
        for i, effect in zip(rows, moved, strict=True)
    ]


def _comparison(results: list[Result]) -> list[dict[str, Any]]:
    """A row for each method; an error relative to one of zero has no meaning."""
    own = float(results[0].errors.mean()) if results else 0.0
    return [
        {
            "method": result.method,
            "error": float(result.errors.mean()),
            "shown": _with_spread(result.errors),
            "ratio": float(result.errors.mean()) / own if own > 0.0 else None,
            "n_selected": result.n_selected,
        }
        for result in results
    ]


def _screened(report: Report) -> int:
    """How many features the rivals saw, or 0 if all."""
    problem = report.problem
    if not isinstance(problem, Samples):
        return 0
    seen = len(screened(problem))
    return seen if seen < len(problem.varying) else 0


def _versions() -> str:
    python = ".".join(map(str, sys.version_info[:3]))
    return f"garrote {garrote.__version__}, Python {python}, NumPy {np.__version__}, scikit-learn {sklearn.__version__}"


@cache
def _asset(name: str) -> str:
    return files("garrote.report").joinpath("templates", name).read_text(encoding="utf-8")


def _source(text: str) -> Markup:
    """Trusted text of a script or style element; it must not end that element."""
    if "</script" in text.lower() or "</style" in text.lower():
        raise ValueError("a script or style of the report contains its own end tag; split that string in the source.")
    return Markup(text)


def _json(data: dict[str, Any]) -> Markup:
    """JSON that is inert inside a script element, with feature names inert in Plotly's pseudo-HTML as well."""
    shown = data | {"curves": [curve | {"name": html.escape(curve["name"], quote=False)} for curve in data["curves"]]}
    text = json.dumps(shown, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return Markup(text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e"))


def _policy(scripts: list[Markup]) -> str:
    """A Content-Security-Policy under which only the page's own scripts run, and nothing is loaded.

    Styles are free, because Plotly makes some of its own.
    """
    return "; ".join(
        [
            "default-src 'none'",
            "script-src " + " ".join(map(_digest, scripts)),
            "style-src 'unsafe-inline'",
            "img-src data:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
