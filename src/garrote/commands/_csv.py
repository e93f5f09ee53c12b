"""CSV files that spreadsheets read as data.

A text that begins with = + - @ (or a tab or line end) would be run as a formula, so it gets an apostrophe in front,
which spreadsheets show as the plain text. So does what follows a semicolon, tab or line end in it, because some
spreadsheets take these for delimiters. Numbers are written with all their digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from garrote.arrays import Array
from garrote.files import replacing
from garrote.path import Path as GammaPath
from garrote.summary import SELECTED, feature_names

_FORMULA = re.compile(r"(^|[;\t\r\n])(?=[=+\-@\t\r\n])")
_TO_QUOTE = frozenset(',;"\t\r\n')


def write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table, whole or not at all."""
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        file.writelines(_lines(header, rows))


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """The same table as a text."""
    return "".join(_lines(header, rows))


def _lines(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> Iterator[str]:
    for row in chain([header], rows):
        yield ",".join(map(_cell, row)) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):  # numpy's floats too; NaN is an empty cell
        return "" if np.isnan(value) else repr(float(value))
    if not isinstance(value, str):
        return str(value)
    text = _FORMULA.sub(r"\1'", value)
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE.intersection(text) else text


def write_coefficients(path: Path, model: Any, variants: dict[str, Any]) -> None:
    """Every feature with a coefficient, the most probable first; the others have inclusion σ(γ).

    ``variants`` are further columns of the first features, such as the place and alleles of genotypes.
    """
    names = feature_names(model)
    listed = np.flatnonzero(model.coef_)
    order = listed[np.lexsort((-np.abs(model.coef_[listed]), -model.inclusion_[listed]))]
    rows = (
        (names[i], model.inclusion_[i], model.coef_[i], model.slab_coef_[i], *_at(variants, i)) for i in order.tolist()
    )
    write_csv(path, ("feature", "inclusion", "coefficient", "coefficient_if_included", *variants), rows)


def _at(variants: dict[str, Any], feature: int) -> list[Any]:
    """The further columns at a feature; empty for covariates, which come last."""
    return [values[feature] if feature < len(values) else "" for values in variants.values()]


def write_path(path: Path, solutions: GammaPath, names: Sequence[str], errors: Array | None = None) -> None:
    """A row for each γ; the coefficient and inclusion of every feature that is selected at any of them.

    ``errors`` are validation errors, n_gammas × n_folds.
    """
    features = np.unique(np.concatenate([solution.selected for solution in solutions]))
    coefs = solutions.coefs.tocsr()[features].toarray()
    inclusions = solutions.inclusions.tocsr()[features].toarray()
    header = ["gamma", "selected", "noise_variance", "free_energy", "free_energy_up", "free_energy_down", "found_by"]
    header += ["validation_error", "validation_standard_error"] if errors is not None else []
    header += [f"coefficient:{names[i]}" for i in features] + [f"inclusion:{names[i]}" for i in features]

    def row(k: int) -> list[Any]:
        solution = solutions[k]
        cells: list[Any] = [solution.gamma, int((solution.inclusion > SELECTED).sum()), 1.0 / solution.beta]
        cells += [solution.free_energy, solutions.free_energy_up[k], solutions.free_energy_down[k], solution.branch]
        if errors is not None:
            n_folds = errors.shape[1]
            spread = errors[k].std(ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.nan
            cells += [errors[k].mean(), spread]
        return [*cells, *coefs[:, k], *inclusions[:, k]]

    write_csv(path, header, (row(k) for k in range(len(solutions))))
