"""``garrote predict``."""

from __future__ import annotations

from pathlib import Path

import click

from garrote.commands import _options


@click.command(
    epilog=_options.examples(
        "garrote predict results/data new.csv",
        "garrote predict results/data/model.json new.csv --std --out predictions.csv",
        "garrote predict results/cohort new.bed --covar pcs.txt",
    )
)
@click.argument("model", type=click.Path(path_type=Path))
@_options.data
@_options.covar
@click.option("--std", is_flag=True, help="Also the standard deviation of each prediction.")
@click.option("--out", type=click.Path(path_type=Path), help="Write a CSV file instead of printing.")
@_options.quiet
@_options.as_json
def command(
    model: Path, data: Path, covar: Path | None, std: bool, out: Path | None, quiet: bool, as_json: bool
) -> None:
    """Predict each row of DATA with MODEL, the model.json of a fit or the folder it is in.

    Columns are found by name; columns that the model does not use may be absent, and others are ignored.
    """
    from garrote.commands._csv import csv_text, write_csv  # imported late: the help needs no numerics
    from garrote.commands._data import read_inputs
    from garrote.model_file import load

    saved = load(model)
    found = saved.predict(read_inputs(data, covar, saved), return_std=std)
    columns = list(found) if std else [found]
    header = ["prediction", "std"][: len(columns)]
    if out is not None:
        write_csv(out, header, zip(*columns, strict=True))
        _options.note(f"{len(columns[0])} predictions written to {out}", quiet)
    if as_json:
        _options.print_json({name: values.tolist() for name, values in zip(header, columns, strict=True)})
    elif out is None and not quiet:
        click.echo(csv_text(header, zip(*columns, strict=True)), nl=False)
