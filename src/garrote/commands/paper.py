"""``garrote paper``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import click

from garrote.commands import ON_INTERRUPT
from garrote.paper import EXTRA, ITEMS

#: Modules of the optional dependencies that the items use, some of them in other processes and late.
NEEDS = ("matplotlib", "mlxtend", "msprime")


@click.command(epilog="Example: garrote paper table2 fig-noise --quick")
@click.argument("names", nargs=-1, type=click.Choice([*ITEMS, *EXTRA]), metavar="[NAME]...")
@click.option("--all", "everything", is_flag=True, help="Every table and figure of the paper.")
@click.option("--list", "listing", is_flag=True, help="List the names and stop.")
@click.option("--quick", is_flag=True, help="Fewer instances: minutes instead of an hour.")
@click.option("--seed", type=click.IntRange(min=0), default=2012, show_default=True, help="Decides everything random.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("results/paper"), show_default=True, help="Output directory."
)
@click.option("--n-jobs", type=int, default=-1, show_default=True, help="Processes at once; -1 is all cores.")
@click.pass_context
def command(
    ctx: click.Context,
    names: tuple[str, ...],
    everything: bool,
    listing: bool,
    quick: bool,
    seed: int,
    out: Path,
    n_jobs: int,
) -> None:
    """Regenerate tables and figures of the paper, with our numbers beside the paper's.

    Finished instances are kept: the same command goes on where it was interrupted.
    """
    if listing:
        names_and_lines = ITEMS | EXTRA
        width = max(map(len, names_and_lines))
        for name, (_, line) in names_and_lines.items():
            click.echo(f"{name:<{width}}  {line}")
        return
    if n_jobs == 0:
        raise click.BadParameter(
            "0 processes can do nothing; give a number, or -1 for all cores.", param_hint="--n-jobs"
        )
    if not names and not everything:
        raise click.UsageError("Which table or figure? Give names, or --all; --list shows them.")
    missing = [module for module in NEEDS if find_spec(module) is None]
    if missing:
        raise click.ClickException(
            f"{missing[0]} is missing; install what this needs with: pip install 'garrote[paper]'"
        )
    from garrote.paper.produce import produce  # imported late: the help needs no numerics

    ctx.meta[ON_INTERRUPT] = lambda: f"Finished instances are kept in {out}; run the same command to go on from there."
    produce(list(ITEMS) if everything else list(dict.fromkeys(names)), quick=quick, seed=seed, out=out, n_jobs=n_jobs)
