"""The ``garrote`` command: one module under ``garrote.commands`` per subcommand, imported when it is called."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the ``garrote`` command."""
    try:
        from garrote.commands import cli
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("click", "rich"):
            raise
        sys.exit("garrote: the command line needs click and rich; install them with: pip install 'garrote[cli]'")
    except KeyboardInterrupt:
        sys.exit(130)
    cli(prog_name="garrote")
