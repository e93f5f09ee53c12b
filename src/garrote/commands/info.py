"""``garrote info``."""

from __future__ import annotations

from pathlib import Path

import click

from garrote.commands import _options


@click.command(epilog=_options.examples("garrote info results/data", "garrote info results/data/model.json --json"))
@click.argument("model", type=click.Path(path_type=Path))
@_options.as_json
def command(model: Path, as_json: bool) -> None:
    """Show what MODEL is: its features, and how it was made."""
    from garrote.commands._fitting import facts  # imported late: the help needs no numerics
    from garrote.model_file import load

    saved = load(model)
    origin = saved.provenance_
    if as_json:
        _options.print_json(facts(saved) | {key: origin[key] for key in ("version", "command", "seed", "target")})
        return
    click.echo(saved.summary())
    for name, key in (("target", "target"), ("made by garrote", "version"), ("command", "command"), ("seed", "seed")):
        if origin[key] is not None:
            click.echo(f"{name + ':':<16} {origin[key]}")
