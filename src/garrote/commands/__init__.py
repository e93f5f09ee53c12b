"""The subcommands. Each module here defines a click command called ``command``."""

from __future__ import annotations

from importlib import import_module

import click

#: Name of each subcommand → its one-line help, so that ``garrote --help`` imports no numerics.
COMMANDS = {
    "demo": "Fit two embedded examples and compare with LassoCV and RidgeCV.",
    "paper": "Regenerate tables and figures of the paper.",
}


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
        try:
            return super().invoke(ctx)
        except OSError as error:
            if error.filename is None:
                raise
            raise click.ClickException(f"{error.filename}: {error.strerror}") from error


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="garrote", prog_name="garrote")
def cli() -> None:
    """Sparse linear regression by the Variational Garrote."""
