"""``garrote bench``."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import click

from garrote.commands import _options


@click.command(
    context_settings={"ignore_unknown_options": True},
    epilog=_options.examples(
        "garrote bench --quick", "garrote bench --problems 1000x100 --methods VG --out results/bench"
    ),
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def command(arguments: tuple[str, ...]) -> None:
    """Time the solver and its peers, as `make bench` does.

    Works in a checkout of the repository. ARGUMENTS are those of benchmarks/bench.py: --quick for small sizes only,
    --problems, --methods, --timeout, --seed, --out. Peers that are not installed are listed as such; `make bench`
    installs them.
    """
    folder = _benchmarks()
    sys.path.insert(0, str(folder))
    sys.argv = ["garrote bench", *arguments]
    try:
        bench = import_module("bench")
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"the benchmark needs {error.name}; `make bench` sets up all that it needs."
        ) from error
    bench.main()


def _benchmarks() -> Path:
    """The folder of the benchmark, of the checkout that is installed or worked in."""
    for root in (Path.cwd(), Path(__file__).parents[3]):
        if (root / "benchmarks" / "bench.py").is_file() and (root / "src" / "garrote").is_dir():
            return root / "benchmarks"
    raise click.ClickException(
        "the benchmark is not part of the installed package; run this in a checkout of the garrote repository."
    )
