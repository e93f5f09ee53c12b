"""``garrote paper``."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from garrote.paper import ITEMS


@click.command(epilog="Example: garrote paper table2 fig-noise --quick")
@click.argument("names", nargs=-1, type=click.Choice(list(ITEMS)), metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every table and figure.")
@click.option("--list", "listing", is_flag=True, help="List the names and stop.")
@click.option("--quick", is_flag=True, help="Fewer instances: minutes instead of an hour.")
@click.option("--seed", type=click.IntRange(min=0), default=2012, show_default=True, help="Decides everything random.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/paper"), show_default=True, help="Output directory."
)
@click.option("--n-jobs", type=int, default=-1, show_default=True, help="Processes at once; -1 is all cores.")
def command(
    names: tuple[str, ...], everything: bool, listing: bool, quick: bool, seed: int, out: Path, n_jobs: int
) -> None:
    """Regenerate tables and figures of the paper, with our numbers beside the paper's.

    Finished instances are kept: the same command goes on where it was interrupted.
    """
    if listing:
        width = max(map(len, ITEMS))
        for name, (_, line) in ITEMS.items():
            click.echo(f"{name:<{width}}  {line}")
        return
    if n_jobs == 0:
        raise click.BadParameter(
            "0 processes can do nothing; give a number, or -1 for all cores.", param_hint="--n-jobs"
        )
    if not names and not everything:
        raise click.UsageError("Which table or figure? Give names, or --all; --list shows them.")
    _run(list(ITEMS) if everything else list(dict.fromkeys(names)), quick, seed, out, n_jobs)


def _run(names: list[str], quick: bool, seed: int, out: Path, n_jobs: int) -> None:
    # imported late: the help needs no numerics
    try:
        from garrote.paper.produce import Interrupted, produce
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is missing; install what the paper needs with: pip install 'garrote[paper]'"
        ) from error
    try:
        produce(names, quick=quick, seed=seed, out=out, n_jobs=n_jobs)
    except Interrupted as stop:
        click.echo(
            f"\nInterrupted in {stop.item}: {stop.kept} of its {stop.total} instances are kept in {out}. "
            "Run the same command again to go on from there.",
            err=True,
        )
        sys.exit(130)
