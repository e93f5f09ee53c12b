"""How a method's answer is judged, the same in every experiment."""

from __future__ import annotations

from time import process_time
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from garrote.arrays import Array
from garrote.comparators.registry import METHODS, Method, selected
from garrote.datasets import Data, Example, l1_error
from garrote.paper.item import Record

#: Methods that see training and validation data together, and so have no error on either alone.
MERGING = ("pmf", "vg-default")


class Truth:
    """The weights that generated the data, as if they were a fit."""

    def __init__(self, coef: Array) -> None:
        self.coef_ = coef

    def predict(self, X: Array) -> Array:
        return X @ self.coef_


def generator(*seeds: int) -> np.random.Generator:
    """Independent random numbers for every tuple of seeds."""
    return np.random.default_rng(seeds)


def split(X: Array, y: Array, coef: Array, n_train: int, n_validation: int) -> Example:
    """The first samples for training, the next for validation, the rest for the test."""
    known = n_train + n_validation
    return Example(
        train=Data(X[:n_train], y[:n_train]),
        validation=Data(X[n_train:known], y[n_train:known]),
        test=Data(X[known:], y[known:]),
        coef=coef,
    )


def fit(method: str, example: Example, methods: dict[str, Method] = METHODS) -> tuple[Any, float]:
    """A method's model of an example, and the processor time it took."""
    start = process_time()
    model = Truth(example.coef) if method == "true" else methods[method](example.train, example.validation)
    return model, process_time() - start


def assess(model: Any, example: Example) -> Record:
    """The paper's measures of a model: errors, number of non-zeros, ‖δv‖₁ and the area under the ROC curve.

    The ROC curve thresholds the weights themselves, as the paper says; all true weights are 0 or 1.
    """
    return {
        "train": mse(model, example.train),
        "val": mse(model, example.validation),
        "test": mse(model, example.test),
        "nonzero": int(selected(model).sum()),
        "l1_error": l1_error(model.coef_, example.coef),
        "auc": float(roc_auc_score(example.coef != 0, model.coef_)),
    }


def mse(model: Any, data: Data) -> float:
    """Mean squared error."""
    return float(np.mean((data.y - model.predict(data.X)) ** 2))
