"""From the arguments of a command to inputs, outputs and names."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from scipy import sparse

from garrote import sources
from garrote.arrays import Array
from garrote.design import Design, as_design
from garrote.model_file import SavedModel

#: Files whose columns may have no names.
ARRAY_SUFFIXES = (".npy", ".npz", ".zarr")


@dataclass(frozen=True)
class Data:
    """What a command was given to fit."""

    X: Any
    y: Array
    names: list[str]  #: of the features; empty where the file has none
    target: str | None = None
    covariates: list[str] = field(default_factory=list)  #: features that are always in the model
    variants: dict[str, Any] = field(default_factory=dict)  #: of genotypes: chromosome, position and alleles
    ignored: tuple[str, ...] = ()

    @property
    def unpenalized(self) -> dict[str, Any]:
        """The argument by which an estimator learns of covariates; genotypes say for themselves."""
        return {"unpenalized": self.covariates} if self.covariates and not isinstance(self.X, Design) else {}


def read_samples(
    data: Path,
    target: str | None,
    pheno: Path | None,
    pheno_name: str | None,
    covariates: list[str] | None = None,
    covar: Path | None = None,
) -> Data:
    """Inputs and outputs of a table or array, or of a .bed with its phenotype and covariate files."""
    if data.suffix == ".bed":
        return _read_genotypes(data, pheno, pheno_name or target, covar, covariates)
    for option, value in (("--pheno", pheno), ("--pheno-name", pheno_name), ("--covar", covar)):
        if value is not None:
            raise click.UsageError(f"{option} goes with a .bed file; for a table use --target and --covariates.")
    if target is None:
        raise click.UsageError("Missing option '--target': name the column to predict.")
    table = sources.read(data, target=target, covariates=covariates or None)
    if table.y is None:
        raise ValueError(f"{data} has no outputs; name the column to predict with --target.")
    return Data(table.X, table.y, list(table.names), target, list(table.covariates or []), {}, tuple(table.ignored))


def _read_genotypes(
    bed: Path, pheno: Path | None, name: str | None, covar: Path | None, covariates: list[str] | None
) -> Data:
    from garrote.sources import plink

    if covariates and covar is None:
        raise click.UsageError("--covariates names columns of the file that --covar gives; add --covar FILE.")
    cohort = plink.open(bed, pheno=pheno, pheno_name=name, covar=covar, covar_names=covariates or None)
    if cohort.y is None:
        raise click.UsageError(f"{bed.with_suffix('.fam')} has no phenotype for every sample; add --pheno FILE.")
    left_out = {"monomorphic variants": cohort.n_monomorphic, "samples without values": cohort.n_without_values}
    return Data(
        X=cohort,
        y=cohort.y,
        names=list(cohort.feature_names),
        target=name or "phenotype",
        covariates=list(cohort.covariate_names),
        variants={key: values for key, values in cohort.variants.columns().items() if key != "id"},
        ignored=tuple(f"{count} {what}" for what, count in left_out.items() if count),
    )


def read_inputs(data: Path, covar: Path | None, model: SavedModel) -> Design | Any:
    """The inputs of a file to predict for, found by the names of the model's features."""
    if data.suffix == ".bed":
        from garrote.sources import plink

        if model.covariates() and covar is None:
            names = ", ".join(model.covariates())
            raise click.UsageError(f"the model has the covariates {names}; give their values with --covar FILE.")
        used = plink.Variants(*(np.array(column, dtype=object) for column in model.variants()))
        cohort = plink.open(data, variants=used, covar=covar, covar_names=model.covariates() or None)
        return model.aligned(cohort, list(cohort.feature_names))
    if covar is not None:
        raise click.UsageError("--covar goes with a .bed file; a table has its covariates among its columns.")
    if data.suffix in ARRAY_SUFFIXES or not hasattr(model, "feature_names_in_"):
        table = sources.read(data)
        design = as_design(table.X)
        return model.aligned(design, list(table.names)) if len(table.names) else design
    return sources.read(data, columns=model.used_names()).X


def check_folds(folds: int, n_samples: int) -> None:
    """Every fold needs samples on both sides."""
    if folds > n_samples // 2:
        raise ValueError(
            f"--folds is {folds}, but there are only {n_samples} rows; choose at most {max(2, n_samples // 2)}."
        )


def joined(data: Data, more: Data) -> Data:
    """The samples of both, those of ``more`` after the others."""
    return replace(data, X=_stacked(data.X, more.X), y=np.concatenate([data.y, more.y]))


def _stacked(first: Any, second: Any) -> Any:
    """The rows of two tables of the same kind, matched by column name where there are names."""
    if any(isinstance(part, Design) or hasattr(part, "dask") for part in (first, second)):
        raise ValueError("--validation works for tables and arrays in memory, not for this kind of file; use --folds.")
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
