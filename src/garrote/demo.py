"""``garrote demo``: the library on two embedded examples, beside LassoCV and RidgeCV on the same split."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from garrote.arrays import Array
from garrote.comparators.registry import selected
from garrote.datasets import Data, example2
from garrote.estimators import VariationalGarroteCV
from garrote.files import write_text
from garrote.report import render

SEED = 2012  # the year of the paper


@dataclass(frozen=True)
class Case:
    """A regression problem with a test set."""

    title: str
    train: Data
    test: Data
    names: list[str]
    truth: Array | None = None


def simulated() -> Case:
    """The paper's Example 2, training and validation data merged."""
    example = example2(np.random.default_rng(SEED))
    names = [f"x{i + 1}" for i in range(example.coef.size)]
    title = f"Example 2 of the paper (seed {SEED}): 100 samples, 100 features, the true weights of 5 are 1"
    return Case(title, example.merged, example.test, names, example.coef)


def diabetes() -> Case:
    """scikit-learn's diabetes data with squares and interactions."""
    raw = load_diabetes()
    expand = make_pipeline(StandardScaler(), PolynomialFeatures(2, include_bias=False), StandardScaler())
    X = expand.fit_transform(raw.data)
    X = X[:, X.std(axis=0) > 0]
    names = list(expand[1].get_feature_names_out(raw.feature_names))
    X_train, X_test, y_train, y_test = train_test_split(X, raw.target, test_size=0.3, random_state=SEED)
    title = f"Diabetes progression, with squares and interactions: {len(X_train)} samples, {X.shape[1]} features"
    return Case(title, Data(X_train, y_train), Data(X_test, y_test), names)


@dataclass(frozen=True)
class Fits:
    """The methods fitted to a case, and how long each took."""

    models: dict[str, Any]
    seconds: dict[str, float]

    @property
    def garrote(self) -> VariationalGarroteCV:
        model: VariationalGarroteCV = self.models["VariationalGarroteCV"]
        return model


def fit(case: Case) -> Fits:
    """Fit all methods."""
    models: dict[str, Any] = {
        "VariationalGarroteCV": VariationalGarroteCV(),
        "LassoCV": LassoCV(),
        "RidgeCV": RidgeCV(np.logspace(-4, 5, 46)),
    }
    seconds = {}
    for name, model in models.items():
        print(f"fitting {name} …", file=sys.stderr)
        start = perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(*case.train)
        seconds[name] = perf_counter() - start
    return Fits(models, seconds)


def text_report(case: Case, fits: Fits) -> str:
    """What is selected, and how well it predicts."""
    return "\n".join([case.title, "", *_selection(case, fits.garrote), "", *_comparison(case, fits)])


def _selection(case: Case, model: VariationalGarroteCV) -> list[str]:
    order = np.argsort(-np.abs(model.coef_))
    chosen = [i for i in order if model.inclusion_[i] > 0.5]
    width = max([len("feature"), *(len(case.names[i]) for i in chosen)])
    lines = [
        f"gamma = {model.gamma_:.2f}, ridge = {model.ridge_:g}, noise level = {model.beta_**-0.5:.4g}, "
        f"{len(chosen)} of {len(case.names)} features selected",
        f"  {'feature':<{width}}  inclusion  coefficient",
    ]
    lines += [f"  {case.names[i]:<{width}}  {model.inclusion_[i]:9.3f}  {model.coef_[i]:11.3f}" for i in chosen]
    return lines


def _comparison(case: Case, fits: Fits) -> list[str]:
    header = f"  {'method':<20}  test error  selected  seconds"
    if case.truth is not None:
        header += "  error of weights"
    lines = [header]
    for name, model in fits.models.items():
        error = np.mean((case.test.y - model.predict(case.test.X)) ** 2)
        line = f"  {name:<20}  {error:10.4g}  {selected(model).sum():8d}  {fits.seconds[name]:7.2f}"
        if case.truth is not None:
            line += f"  {np.abs(model.coef_ - case.truth).sum():16.2f}"
        lines.append(line)
    return lines


def run(out: Path) -> None:
    """Print what both examples find, and write it to a text file and one interactive report each."""
    out.mkdir(parents=True, exist_ok=True)  # first, so that a wrong path costs no waiting
    cases = {"report": simulated(), "diabetes": diabetes()}
    fits = {name: fit(case) for name, case in cases.items()}
    text = "\n\n\n".join(text_report(case, fits[name]) for name, case in cases.items())
    print(text)
    write_text(out / "report.txt", text + "\n")
    written = [out / "report.txt"]
    for name, case in cases.items():
        title, command = case.title, f"garrote demo --out {out}"
        page = render(fits[name].garrote, *case.train, names=case.names, title=title, command=command, seed=SEED)
        write_text(out / f"{name}.html", page)
        written.append(out / f"{name}.html")
    print("\nwritten: " + ", ".join(map(str, written)), file=sys.stderr)
