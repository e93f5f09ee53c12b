"""``model.json``: a fitted model as readable text, written and read back exactly.

A file holds the numbers that predictions need and where they came from, nothing that could be executed. Floats are
written with as many digits as give the same float back. ``format`` counts the changes of the layout: a reader refuses a
file of a later format. ``checksum`` is the SHA-256 of the rest.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.utils.validation import check_array

import garrote
from garrote import sealed
from garrote.arrays import Array, Index
from garrote.checks import KEPT_DTYPES
from garrote.design import Design, as_design
from garrote.estimators import _Garrote
from garrote.files import write_text
from garrote.summary import ValidationError, cross_validated_error, ridge_of

#: The layout that this version writes, and the latest that it reads.
FORMAT = 1

#: Features of the largest model that is read: a damaged file shall not ask for all the memory.
MOST_FEATURES = 100_000_000

#: The same where no names are given, which a file can claim for nothing.
MOST_UNNAMED = 10_000_000

_PROVENANCE = ("version", "command", "seed", "target", "covariates", "validation")

#: What an entry says about a genotype.
VARIANT = ("chromosome", "position", "counted", "other")

_ENTRY = ("coefficient", "inclusion", "slab", "mean")


class SavedModel(_Garrote):
    """A model read from ``model.json``: ``predict``, ``summary`` and the fitted attributes of the estimator.

    Columns of a data frame are found by name: their order does not matter, others are ignored, and only those with a
    coefficient must be there. An array must have as many columns as the model was fitted to, in the same order.
    """

    provenance_: dict[str, Any]  #: version, command, seed, target, covariates, and the validation error
    variants_: dict[int, dict[str, Any]]  #: of features that are genotypes: place and alleles

    _n_beside = 0  # covariates are among the features

    def used_names(self) -> list[str]:
        """The features with a coefficient."""
        return list(self.feature_names_in_[np.flatnonzero(self.coef_)])

    def covariates(self) -> list[str]:
        """The features that are always in the model."""
        return list(self.provenance_["covariates"] or [])

    def variants(self) -> list[list[Any]]:
        """Id, chromosome, position, counted and other allele of each genotype with a coefficient."""
        if not self.variants_:
            raise ValueError("the model was not fitted to genotypes, so it cannot predict from a .bed; give a table.")
        ids = [self.feature_names_in_[i] for i in self.variants_]
        return [ids, *([entry[key] for entry in self.variants_.values()] for key in VARIANT)]

    def _check_inputs(self, X: Any) -> Design:
        names = None if isinstance(X, Design) else _column_names(X)
        design = X if isinstance(X, Design) else as_design(_numbers(X))
        if names is not None and hasattr(self, "feature_names_in_"):
            return self.aligned(design, names)
        if design.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {design.shape[1]} columns, but the model was fitted to {self.n_features_in_} features; "
                "give the same columns, or a data frame with their names."
            )
        return design

    def aligned(self, design: Design, names: list[str]) -> Design:
        """A design whose columns are in the order of the model's features, looked up by name."""
        if names == list(self.feature_names_in_):
            return design
        where = {name: k for k, name in enumerate(names)}
        used = np.flatnonzero(self.coef_)
        missing = [name for name in self.feature_names_in_[used] if name not in where]
        if missing:
            more = f" and {len(missing) - 5} others" if len(missing) > 5 else ""
            raise ValueError(
                f"the data have no column {', '.join(map(repr, missing[:5]))}{more}, which the model uses; "
                "give every feature that has a coefficient, under the name that it had when the model was fitted."
            )
        positions = np.zeros(self.n_features_in_, dtype=np.intp)
        positions[used] = [where[name] for name in self.feature_names_in_[used]]
        return _Aligned(design, positions)


class _Aligned(Design):
    """Columns of another design, in another order: all that a prediction asks for."""

    def __init__(self, design: Design, positions: Index) -> None:
        self.design, self.positions = design, positions
        self.shape = (design.shape[0], len(positions))

    def columns(self, features: Index) -> Array:
        return self.design.columns(self.positions[features])

    def transpose_dot(self, r: Array) -> Array:
        return self.design.transpose_dot(r)[self.positions]

    def moments(self, weights: Array) -> tuple[Array, Array]:
        mean, variance = self.design.moments(weights)
        return mean[self.positions], variance[self.positions]

    def take(self, rows: Index | slice) -> Design:
        return _Aligned(self.design.take(rows), self.positions)


def _column_names(X: Any) -> list[str] | None:
    """The names of a data frame's columns; None where X is no frame, or they are numbers."""
    names = list(getattr(X, "columns", ()))
    return names if names and all(isinstance(name, str) for name in names) else None


def _numbers(X: Any) -> Any:
    return check_array(X, accept_sparse=["csc", "csr"], dtype=KEPT_DTYPES, input_name="X")


# ---- writing -----------------------------------------------------------------------------------------------


def save(
    model: Any,
    path: str | os.PathLike[str],
    *,
    target: str | None = None,
    command: str | None = None,
    seed: int | None = None,
    covariates: Sequence[str] = (),
    variants: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted garrote to ``path``, whole or not at all.

    Parameters
    ----------
    model : a fitted garrote, or one that :func:`load` gave
    path : of the file
    target, command, seed : what was predicted, and how the fit was made
    covariates : the names of the features that are always in the model
    variants : of genotypes: chromosome, position, counted and other allele of the first features
    """
    write_text(path, dumps(model, target=target, command=command, seed=seed, covariates=covariates, variants=variants))


def dumps(model: Any, *, variants: Mapping[str, Any] | None = None, **origin: Any) -> str:
    """The text of ``model.json``, a line for each entry; arguments as of :func:`save`."""
    content = _content(model, origin, _annotations(model, variants))
    content["checksum"] = sealed.checksum(content)
    lines = []
    for key, value in content.items():
        if key == "coefficients":
            entries = ",\n".join("  " + _text(entry) for entry in value)
            lines.append(f' "coefficients": [\n{entries}\n ]' if value else ' "coefficients": []')
        else:
            lines.append(f" {_text(key)}: {_text(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _annotations(model: Any, variants: Mapping[str, Any] | None) -> dict[int, dict[str, Any]]:
    """What is known about each genotype that the model uses, in the order of the features."""
    if isinstance(model, SavedModel):
        return model.variants_
    if not variants:
        return {}
    used = np.flatnonzero(model.coef_).tolist()
    return {i: {key: _plain(variants[key][i]) for key in VARIANT} for i in used if i < len(variants["chromosome"])}


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _content(model: Any, origin: dict[str, Any], annotations: dict[int, dict[str, Any]]) -> dict[str, Any]:
    if isinstance(model, SavedModel):
        provenance = model.provenance_
    else:
        validation = cross_validated_error(model)
        provenance = {
            "version": garrote.__version__,
            "command": origin.get("command"),
            "seed": origin.get("seed"),
            "target": origin.get("target"),
            "covariates": list(origin.get("covariates") or []) or None,
            "validation": None if validation is None else validation._asdict(),
        }
    names = getattr(model, "feature_names_in_", None)
    named = None if names is None else [str(name) for name in names]
    prior = float(expit(model.gamma_))
    listed = np.flatnonzero((model.coef_ != 0.0) | (model.inclusion_ != prior))
    columns = [model.coef_, model.inclusion_, model.slab_coef_, model.x_mean_]
    coefficients = [
        ({"feature": named[i]} if named else {})
        | {"index": int(i)}
        | {key: float(values[i]) for key, values in zip(_ENTRY, columns, strict=True)}
        | annotations.get(int(i), {})
        for i in listed
    ]
    return {
        "format": FORMAT,
        "model": "garrote",
        **provenance,
        "n_samples": float(model.n_samples_),
        "n_features": int(model.n_features_in_),
        "y_variance": float(model.y_variance_),
        "gamma": float(model.gamma_),
        "ridge": float(ridge_of(model)),
        "beta": float(model.beta_),
        "free_energy": float(model.free_energy_),
        "intercept": float(model.intercept_),
        "coefficients": coefficients,
        "features": named,
    }


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


# ---- reading -----------------------------------------------------------------------------------------------


def load(path: str | os.PathLike[str]) -> SavedModel:
    """Read a model; a directory means the ``model.json`` in it."""
    file = Path(path)
    if file.is_dir():
        file /= "model.json"
    return loads(file.read_bytes(), name=str(file))


def loads(text: str | bytes, *, name: str = "model") -> SavedModel:
    """The model of a text that :func:`dumps` wrote."""
    try:
        content = sealed.parse(text, finite=True)
    except ValueError:
        raise ValueError(
            f"{name} is not a garrote model: it is not JSON; give the model.json of a `garrote fit`."
        ) from None
    if content.get("model") != "garrote":
        raise ValueError(f'{name} is not a garrote model: it has no "model": "garrote"; give the one of a fit.')
    version: Any = content.get("format")
    if _is_whole(version) and version > FORMAT:
        raise ValueError(
            f"{name} has format {version}, which is newer than the format {FORMAT} that garrote "
            f"{garrote.__version__} reads; upgrade garrote, or fit again."
        )
    if not sealed.is_whole(content):
        raise ValueError(f"{name} is damaged or was edited: its checksum does not fit; fit again.")
    try:
        return _model(content)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        what = f"{error} is missing" if isinstance(error, KeyError) else error
        raise ValueError(f"{name} is not a usable garrote model: {what}; fit again.") from None


def _model(content: dict[str, Any]) -> SavedModel:
    model = SavedModel()
    model.provenance_ = {key: content[key] for key in _PROVENANCE}
    _check_provenance(model.provenance_)
    for key in ("gamma", "free_energy", "intercept"):
        setattr(model, f"{key}_", _number(key, content[key]))
    model.beta_ = _number("beta", content["beta"], least=math.ulp(0.0))
    model.ridge_ = _number("ridge", content["ridge"], least=0.0)
    model.n_samples_ = _number("n_samples", content["n_samples"], least=0.0)
    model.y_variance_ = _number("y_variance", content["y_variance"], least=0.0)
    n_features = content["n_features"]
    _check("n_features", n_features, _is_whole(n_features) and 0 < n_features <= MOST_FEATURES)
    model.n_features_in_ = n_features
    features = content["features"]
    if features is None:
        _check("n_features", n_features, n_features <= MOST_UNNAMED)
    else:
        _check("features", "not a list of n_features names", _are_texts(features) and len(features) == n_features)
        model.feature_names_in_ = np.array(features, dtype=object)
    _take_coefficients(model, content["coefficients"])
    return model


def _check_provenance(known: dict[str, Any]) -> None:
    for key in ("version", "command", "target"):
        _check(key, known[key], known[key] is None or _is_text(known[key]))
    _check("seed", known["seed"], known["seed"] is None or _is_whole(known["seed"]))
    _check("covariates", known["covariates"], known["covariates"] is None or _are_texts(known["covariates"]))
    validation = known["validation"]
    if validation is not None:
        _check(
            "validation", validation, isinstance(validation, dict) and set(validation) == set(ValidationError._fields)
        )
        _number("error", validation["error"], least=0.0)
        _check("n_splits", validation["n_splits"], _is_whole(validation["n_splits"]))
        if validation["standard_error"] is not None:
            _number("standard_error", validation["standard_error"], least=0.0)


def _take_coefficients(model: SavedModel, entries: Any) -> None:
    _check("coefficients", entries, isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries))
    n_features = model.n_features_in_
    index = [entry["index"] for entry in entries]
    _check("index", index[:10], all(_is_whole(i) and i < n_features for i in index) and len(set(index)) == len(index))
    model.coef_, model.slab_coef_, model.x_mean_ = np.zeros(n_features), np.zeros(n_features), np.zeros(n_features)
    model.inclusion_ = np.full(n_features, float(expit(model.gamma_)))
    targets = (model.coef_, model.inclusion_, model.slab_coef_, model.x_mean_)
    for key, values in zip(_ENTRY, targets, strict=True):
        values[index] = [_number(key, entry[key]) for entry in entries]
    model.variants_ = {entry["index"]: {key: entry[key] for key in VARIANT} for entry in entries if VARIANT[0] in entry}
    for variant in model.variants_.values():
        _check("position", variant["position"], type(variant["position"]) is int)
        _check("variant", variant, all(_is_text(variant[key]) for key in VARIANT if key != "position"))
    _check("variants", "without features", not model.variants_ or hasattr(model, "feature_names_in_"))
    inclusions = model.inclusion_[index]
    _check("inclusion", inclusions[:10], bool(((inclusions >= 0.0) & (inclusions <= 1.0)).all()))


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_text(value: Any) -> bool:
    """Whether it can be written: half of a surrogate pair cannot."""
    return isinstance(value, str) and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(map(_is_text, values))


def _number(name: str, value: Any, *, least: float = -math.inf) -> float:
    proper = isinstance(value, int | float) and not isinstance(value, bool)
    _check(name, value, proper and math.isfinite(value) and value >= least)
    return float(value)


def _check(name: str, value: Any, proper: bool) -> None:
    if not proper:
        raise ValueError(f"{name} is {repr(value)[:80]}")
