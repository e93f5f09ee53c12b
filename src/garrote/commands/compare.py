"""``garrote compare``."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import click

from garrote.commands import ON_INTERRUPT, _options

_COLUMNS = ("method", "error", "standard_error", "selected", "stability", "seconds")


@click.command(
    epilog=_options.examples(
        "garrote compare data.csv --target y", "garrote compare data.csv --target y --folds 10 --json"
    )
)
@_options.samples
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Folds of the comparison.")
@_options.out("-compare", "compare.csv")
@_options.seed
@_options.quiet
@_options.as_json
@click.pass_context
def command(ctx: click.Context, folds: int, out: Path, seed: int, quiet: bool, as_json: bool, **source: Any) -> None:
    """Compare the Variational Garrote with Lasso, ridge, elastic net, PMF and OMP on DATA.

    All methods see the same folds, and choose their parameters within each fold's training part. The table has the
    squared error on held-out rows with its standard error over the folds, the number of selected features, the
    stability of the selection (Nogueira's measure: 1 if every fold selects the same, 0 if by chance) and the seconds
    of a fit. Fits that are finished when the command is interrupted are kept: the same command goes on from there.
    """
    from garrote.commands import _csv, _data, _progress  # imported late: the help needs no numerics
    from garrote.compare import METHODS, compare
    from garrote.watch import Checkpoint

    data = _data.read_samples(**source)
    _data.check_folds(folds, len(data.y))
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a wrong path costs no waiting
    total = folds * len(METHODS)
    checkpoint = Checkpoint(out / ".checkpoint")
    with _progress.bar("comparing", total=total, quiet=quiet) as shown:
        ctx.meta[ON_INTERRUPT] = lambda: (
            f"{shown.done:.0f} of {total} fits are finished and kept in {checkpoint.folder}; "
            "run the same command to go on from there."
        )
        results = compare(
            data.X,
            data.y,
            folds=folds,
            seed=seed,
            checkpoint=checkpoint,
            on_fold=lambda method, done: shown.reach(done, method),
        )
    rows = [(r.method, r.error, r.standard_error, r.n_selected, r.stability, r.seconds) for r in results]
    _csv.write_csv(out / "compare.csv", _COLUMNS, rows)
    checkpoint.clear()
    if as_json:
        _options.print_json([dict(zip(_COLUMNS, map(_or_null, row), strict=True)) for row in rows])
    elif not quiet:
        _print_table(rows, f"{len(data.y)} rows, {data.X.shape[1]} features, {folds} folds (seed {seed})")
    _options.note(f"written to {out / 'compare.csv'}", quiet)


def _or_null(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _print_table(rows: list[tuple[Any, ...]], title: str) -> None:
    from rich.console import Console
    from rich.table import Table

    from garrote.summary import rounded

    table = Table(title=title, title_justify="left")
    for k, name in enumerate(("method", "squared error", "selected", "stability", "seconds")):
        table.add_column(name, justify="right" if k else "left")
    best = min(row[1] for row in rows)
    for method, error, spread, count, stability, seconds in rows:
        stable = "–" if math.isnan(stability) else f"{stability:.2f}"
        cells = (method, f"{rounded(error, 4)} ± {rounded(spread, 2)}", f"{count:.1f}", stable, f"{seconds:.2f}")
        table.add_row(*cells, style="bold" if error == best else None)
    Console().print(table)
