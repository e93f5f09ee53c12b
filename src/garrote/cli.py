"""The command line."""

from __future__ import annotations

import argparse
from pathlib import Path


def main() -> None:
    """Entry point of the ``garrote`` command."""
    parser = argparse.ArgumentParser(prog="garrote", description="Sparse linear regression by the Variational Garrote.")
    commands = parser.add_subparsers(dest="command", required=True)
    demo = commands.add_parser(
        "demo", help="fit two embedded examples and compare with LassoCV and RidgeCV", epilog="example: garrote demo"
    )
    demo.add_argument(
        "--out", type=Path, default=Path("results/demo"), help="directory of the report (default: %(default)s)"
    )
    args = parser.parse_args()
    from garrote.demo import run  # imported late: the help needs no numerics

    try:
        run(args.out)
    except OSError as error:
        parser.exit(1, f"garrote demo: cannot write to {args.out}: {error.strerror}\n")
