"""``garrote fit``."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from garrote.commands import ON_INTERRUPT, _options


@click.command(
    epilog=_options.examples(
        "garrote fit data.csv --target y",
        "garrote fit train.csv --target y --validation held_out.csv --out results/y",
        "garrote fit cohort.bed --pheno traits.txt --pheno-name height --covar pcs.txt",
    )
)
@_options.source
@click.option("--gamma", type=float, help="Fit at this log prior odds, instead of choosing it.")
@click.option("--folds", type=click.IntRange(min=2), help="Folds that choose gamma.  [default: 5]")
@click.option(
    "--validation",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Choose gamma by the error on this file; the model is fitted to DATA alone.",
)
@_options.out("", "the results")
@_options.n_jobs
@_options.seed
@_options.quiet
@_options.as_json
@click.pass_context
def command(
    ctx: click.Context,
    gamma: float | None,
    folds: int | None,
    validation: Path | None,
    out: Path,
    n_jobs: int,
    seed: int,
    quiet: bool,
    as_json: bool,
    **source: Any,
) -> None:
    """Fit DATA: every column but the target is a feature.

    Writes model.json (for `garrote predict`), coefficients.csv, path.csv and report.html. Folds that are finished
    when the command is interrupted are kept: the same command goes on from there.
    """
    given = [
        name
        for name, value in (("--gamma", gamma), ("--folds", folds), ("--validation", validation))
        if value is not None
    ]
    if len(given) > 1:
        raise click.UsageError(f"{given[0]} and {given[1]} exclude each other: both say how gamma is chosen.")

    from garrote import model_file  # imported late: the help needs no numerics
    from garrote.commands import _csv, _data, _fitting
    from garrote.summary import feature_names

    data = _data.read_samples(**source)
    if data.ignored:
        _options.note(f"left out: {', '.join(data.ignored)}", quiet)
    n_held_out = 0
    if validation is not None:
        held_out = _data.read_samples(**source | {"data": validation})
        data, n_held_out = _data.joined(data, held_out), len(held_out.y)
    out.mkdir(parents=True, exist_ok=True)  # before the fit, so that a wrong path costs no waiting
    run = _fitting.Run(out / ".checkpoint", quiet=quiet)
    ctx.meta[ON_INTERRUPT] = run.say_how_to_resume
    model = run.fit(data, n_held_out, gamma=gamma, folds=folds or 5, seed=seed, n_jobs=n_jobs)
    line = shlex.join(["garrote", *sys.argv[1:]])
    model_file.save(
        model,
        out / "model.json",
        target=data.target,
        command=line,
        seed=seed,
        covariates=data.covariates,
        variants=data.variants,
    )
    ctx.meta[ON_INTERRUPT] = lambda: f"The model is in {out / 'model.json'}; run the same command for the other files."
    _csv.write_coefficients(out / "coefficients.csv", model, data.variants)
    errors = _fitting.errors_of(model)
    _csv.write_path(out / "path.csv", model.path_, feature_names(model), errors)
    _fitting.write_report(out / "report.html", model, data, command=line, seed=seed, quiet=quiet)
    run.checkpoint.clear()
    if as_json:
        _options.print_json(_fitting.facts(model) | {"out": str(out)})
    elif not quiet:
        click.echo(model.summary())
    _options.note(f"written to {out}", quiet)
