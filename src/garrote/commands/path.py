"""``garrote path``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from garrote.commands import _options


@click.command(
    epilog=_options.examples("garrote path data.csv --target y", "garrote path data.csv --target y --out results/y")
)
@_options.source
@_options.out("-path", "path.csv and path.png")
@_options.quiet
@_options.as_json
def command(out: Path, quiet: bool, as_json: bool, **source: Any) -> None:
    """Trace the solutions of DATA over gamma; write path.csv and path.png.

    Each row of path.csv is one gamma, with coefficient and inclusion of every feature that is selected anywhere.
    """
    from garrote.commands import _csv, _data, _progress  # imported late: the help needs no numerics
    from garrote.path import garrote_path

    data = _data.read_samples(**source)
    out.mkdir(parents=True, exist_ok=True)  # before the work, so that a wrong path costs no waiting
    with _progress.bar("tracing the path", quiet=quiet):
        path = garrote_path(data.X, data.y, **data.unpenalized)
    names = data.names or [f"x{i}" for i in range(path[0].n_features)]
    _csv.write_path(out / "path.csv", path, names)
    _picture(out / "path.png", path, names, quiet)
    if as_json:
        _options.print_json(
            {
                "gammas": path.gammas.tolist(),
                "free_energies": path.free_energies.tolist(),
                "selected": [[names[i] for i in solution.selected] for solution in path],
                "stopped": path.stopped,
                "out": str(out),
            }
        )
    elif not quiet:
        click.echo(path.summary())
    _options.note(f"written to {out}", quiet)


def _picture(file: Path, path: Any, names: list[str], quiet: bool) -> None:
    """Coefficients, inclusions and free energy over γ, one below the other."""
    from garrote.files import replacing

    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        _options.note(f"no {file.name}: it needs matplotlib; install it with: pip install 'garrote[plot]'", quiet)
        return
    from garrote import plot

    figure = Figure(figsize=(8, 11), layout="constrained")
    axes = figure.subplots(3, sharex=True)
    plot.coefficient_path(path, names=names, ax=axes[0])
    plot.inclusion_path(path, names=names, ax=axes[1])
    plot.free_energy(path, ax=axes[2])
    for axis in axes[:2]:
        axis.set_xlabel("")
    with replacing(file) as temporary:
        figure.savefig(temporary, dpi=150)
