"""Options that several commands share, and how a command speaks: results to stdout, everything else to stderr."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]

data = click.argument("data", type=click.Path(path_type=Path))
target = click.option("--target", metavar="COL", help="The column to predict; of a .bed, the phenotype's.")
quiet = click.option("--quiet", is_flag=True, help="Show nothing but errors.")
as_json = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on stdout.")
n_jobs = click.option("--n-jobs", type=int, default=1, show_default=True, help="Folds in parallel; -1 uses every core.")
seed = click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Shuffles the folds.")
pheno = click.option("--pheno", type=click.Path(path_type=Path), help="Phenotype file for a .bed (FID IID columns).")
pheno_name = click.option("--pheno-name", metavar="COL", help="The phenotype's column in --pheno.")
covar = click.option("--covar", type=click.Path(path_type=Path), help="Covariate file for a .bed (FID IID columns).")
covariates = click.option(
    "--covariates",
    metavar="COL,COL",
    callback=lambda ctx, param, value: _names(value),
    help="Columns always in the model.",
)


def out(suffix: str, what: str) -> Decorator:
    """``--out``, by default a folder that is named after the data."""

    def default(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path:
        if value is not None:
            return value
        return Path("results") / (ctx.params["data"].name.partition(".")[0] + suffix)

    return click.option(
        "--out",
        type=click.Path(path_type=Path),
        callback=default,
        help=f"Folder for {what}.  [default: results/NAME{suffix}, NAME as in NAME.csv]",
    )


def several(*options: Decorator) -> Decorator:
    """Several options as one decorator, in this order."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            function = option(function)
        return function

    return decorate


#: The data and how to read them; and what is always in the model.
samples = several(data, target, pheno, pheno_name)
source = several(samples, covariates, covar)


def examples(*lines: str) -> str:
    """An epilog that click does not wrap."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    click.echo(json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False))


def note(message: str, quiet: bool) -> None:
    """A remark on stderr."""
    if not quiet:
        click.echo(message, err=True)


def _names(value: str | None) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()] if value else []
