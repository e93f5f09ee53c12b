"""``garrote demo``."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(epilog="Example: garrote demo --out results/demo")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/demo"), show_default=True, help="Report directory."
)
def command(out: Path) -> None:
    """Fit two embedded examples and compare with LassoCV and RidgeCV."""
    from garrote.demo import run  # imported late: the help needs no numerics

    run(out)
