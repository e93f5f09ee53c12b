"""From the arguments of a command to inputs, outputs and names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from garrote import sources
from garrote.arrays import Array
from garrote.design import Design, as_design
from garrote.model_file import SavedModel


@dataclass(frozen=True)
class Data:
    """What a command was given to fit or to predict for."""

    X: Any
    y: Array
    names: list[str]


def read_samples(
    data: Path,
    target: str | None,
    covariates: list[str],
    pheno: Path | None,
    pheno_name: str | None,
    covar: Path | None,
) -> Data:
    """Inputs and outputs of a table, or of a .bed with its phenotype and covariate files."""
    if data.suffix == ".bed":
        return _read_plink(data, pheno, pheno_name, covar)
    for option, value in (("--pheno", pheno), ("--pheno-name", pheno_name), ("--covar", covar)):
        if value is not None:
            raise click.UsageError(f"{option} goes with a .bed file; for a table use --target and --covariates.")
    if target is None:
        raise click.UsageError("Missing option '--target': name the column to predict.")
    table = sources.read(data, target=target)
    if covariates:
        raise click.UsageError("--covariates is not available yet.")
    if table.y is None:
        raise ValueError(f"{data} has no outputs; name the column to predict with --target.")
    return Data(table.X, table.y, list(table.names))


def _read_plink(path: Path, pheno: Path | None, pheno_name: str | None, covar: Path | None) -> Data:
    raise click.UsageError("PLINK files are not available yet.")


def check_folds(folds: int, n_samples: int) -> None:
    """Every fold needs samples on both sides."""
    if folds > n_samples // 2:
        raise ValueError(
            f"--folds is {folds}, but there are only {n_samples} rows; choose at most {max(2, n_samples // 2)}."
        )


def stacked(first: Any, second: Any) -> Any:
    """The rows of two tables of the same kind, matched by column name where there are names."""
    if isinstance(first, Design) or isinstance(second, Design):
        raise ValueError("--validation works for tables and arrays, not for this kind of file; use --folds.")
    if hasattr(first, "columns"):
        import pandas as pd

        missing = [name for name in first.columns if name not in second.columns]
        if missing:
            raise ValueError(f"the validation file has no column {missing[0]!r}; give it the columns of the data.")
        return pd.concat([first, second[list(first.columns)]], ignore_index=True)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"the validation file has {second.shape[1]} features and the data {first.shape[1]}; give both the same."
        )
    if sparse.issparse(first) or sparse.issparse(second):
        return sparse.vstack([first, second], format="csr")
    return np.vstack([first, second])


def read_inputs(path: Path, model: SavedModel) -> Any:
    """The inputs of a file to predict for, found by the names of the model's features."""
    table = sources.read(path)
    if hasattr(table.X, "columns"):  # a data frame: the model finds its columns
        return table.X
    design = as_design(table.X)
    return model.aligned(design, list(table.names)) if table.names else design
