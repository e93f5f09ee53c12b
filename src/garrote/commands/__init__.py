"""The subcommands. Each module here defines a click command called ``command``."""

from __future__ import annotations

import errno
import warnings
from importlib import import_module
from typing import Any

import click

#: Name of each subcommand → its one-line help, so that ``garrote --help`` imports no numerics.
COMMANDS = {
    "demo": "Fit two embedded examples and compare with LassoCV and RidgeCV.",
    "fit": "Fit a table; write the model, its coefficients, its path and a report.",
    "predict": "Predict with a fitted model.",
    "info": "Show what a fitted model is.",
    "path": "Trace the solutions over gamma; write them as CSV and as a picture.",
    "compare": "Compare with the Lasso, ridge, elastic net, PMF and OMP on the same folds.",
    "bench": "Time the solver and its peers (in a checkout of the repository).",
    "paper": "Regenerate tables and figures of the paper.",
}

#: Exit code of a process that was interrupted: 128 + SIGINT.
INTERRUPTED = 130

#: Where a command leaves what to say when it is interrupted, a callable without arguments.
ON_INTERRUPT = "garrote.on_interrupt"


class Commands(click.Group):
    """Finds a subcommand by its module; an error that the user can mend becomes one sentence."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"garrote.commands.{cmd_name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def invoke(self, ctx: click.Context) -> object:
        warnings.showwarning = _show_warning
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            say = ctx.meta.get(ON_INTERRUPT, lambda: "Nothing was written; run the same command to start again.")
            click.echo(f"\nInterrupted. {say()}", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None
        except OSError as error:
            if error.errno is None or error.errno == errno.EPIPE:  # a closed pipe is no error: click ends in silence
                raise
            where = "the output" if error.filename is None else error.filename
            raise click.ClickException(f"{where}: {error.strerror}") from error
        except (ValueError, ImportError) as error:
            raise click.ClickException(str(error).partition("\n")[0]) from error


def _show_warning(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
    click.echo(f"Warning: {message}", err=True)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="garrote", prog_name="garrote")
def cli() -> None:
    """Sparse linear regression by the Variational Garrote."""
