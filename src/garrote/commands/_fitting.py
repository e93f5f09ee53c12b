"""What ``garrote fit`` does between reading and writing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import KFold

from garrote.arrays import Array
from garrote.commands._data import Data, check_folds
from garrote.commands._options import note
from garrote.commands._progress import FoldWatch, bar
from garrote.estimators import VariationalGarrote, VariationalGarroteCV
from garrote.files import write_text
from garrote.summary import by_importance, cross_validated_error, feature_names, ridge_of
from garrote.watch import Checkpoint, watched_by


class Run:
    """A fit that can be interrupted: finished folds are kept in a folder until everything is written."""

    def __init__(self, folder: Path, *, quiet: bool) -> None:
        self.checkpoint = Checkpoint(folder)
        self.quiet = quiet
        self.watch: FoldWatch | None = None

    def fit(
        self, data: Data, n_held_out: int, *, gamma: float | None, folds: int, seed: int, n_jobs: int
    ) -> VariationalGarrote | VariationalGarroteCV:
        """At the given γ; or with γ chosen on the last samples, if any are held out; or by folds."""
        if gamma is not None:
            model: Any = VariationalGarrote(gamma)
        elif n_held_out:
            rows = np.arange(len(data.y))
            model = VariationalGarroteCV(cv=[(rows[:-n_held_out], rows[-n_held_out:])], refit=False, n_jobs=n_jobs)
        else:
            check_folds(folds, len(data.y))
            model = VariationalGarroteCV(cv=KFold(folds, shuffle=True, random_state=seed), n_jobs=n_jobs)
        with bar("fitting", quiet=self.quiet) as shown:
            # without a refit the paths themselves are needed, and they are not kept
            self.watch = FoldWatch(shown, None if n_held_out else self.checkpoint)
            with watched_by(self.watch):
                model.fit(data.X, data.y, **data.unpenalized)
        if self.watch.n_recalled:
            note(f"{self.watch.n_recalled} of {self.watch.n_parts} folds were finished before", self.quiet)
        if data.names:  # storages other than data frames have no names for scikit-learn
            model.feature_names_in_ = np.array(data.names, dtype=object)
        return model

    def say_how_to_resume(self) -> str:
        """What is finished, and how to go on."""
        if self.watch is None or not self.watch.finished or self.watch.checkpoint is None:
            return "Nothing is finished yet; run the same command to start again."
        return (
            f"{len(self.watch.finished)} of {self.watch.n_parts} folds are finished and kept in "
            f"{self.checkpoint.folder}; run the same command to go on from there."
        )


def errors_of(model: Any) -> Array | None:
    """Validation errors at the chosen λ, n_gammas × n_folds, for the γ of the model's path."""
    if not hasattr(model, "mse_path_"):
        return None
    row = int(np.flatnonzero(model.ridges_ == model.ridge_)[0])
    errors: Array = model.mse_path_[row, : len(model.path_)]
    return errors


def facts(model: Any) -> dict[str, Any]:
    """A fit as JSON has it."""
    names = feature_names(model)
    chosen = by_importance(model.inclusion_, model.coef_)
    validation = cross_validated_error(model)
    return {
        "n_samples": model.n_samples_,
        "n_features": model.n_features_in_,
        "n_selected": len(chosen),
        "gamma": model.gamma_,
        "ridge": ridge_of(model),
        "noise_variance": 1.0 / model.beta_,
        "intercept": model.intercept_,
        "free_energy": model.free_energy_,
        "validation": None if validation is None else validation._asdict(),
        "selected": [
            {"feature": names[i], "inclusion": float(model.inclusion_[i]), "coefficient": float(model.coef_[i])}
            for i in chosen
        ],
    }


def write_report(path: Path, model: Any, data: Data, *, command: str, seed: int | None, quiet: bool) -> None:
    """The report, where its libraries are installed."""
    try:
        from garrote.report import render
    except ModuleNotFoundError as error:
        note(f"no {path.name}: {error}", quiet)
        return
    with bar("writing the report", quiet=quiet):
        title = f"{path.parent.name}: sparse regression"
        html = render(model, data.X, data.y, names=feature_names(model), title=title, command=command, seed=seed)
    write_text(path, html)
