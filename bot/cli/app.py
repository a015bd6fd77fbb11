"""The command line: every command registers itself here."""

from __future__ import annotations

from typing import Annotated

import typer

from bot.cli import diagnose as cli_diagnose
from bot.cli import evaluate as cli_eval
from bot.cli import failures as cli_failures
from bot.cli import github as cli_action
from bot.cli import github as cli_config
from bot.cli import github as cli_github
from bot.cli import github as cli_history
from bot.cli import knowledge as cli_knowledge
from bot.cli import service as cli_mcp
from bot.cli import service as cli_service
from bot.cli import triage as cli_triage

app = typer.Typer(
    name="bot",
    help="distriage triages failure reports from distributed deep-learning training.",
    epilog="Example: bot triage report.md",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"distriage {version('distriage')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Carry the options that belong to no command."""


for register in (
    cli_triage.register,
    cli_failures.register,
    cli_knowledge.register,
    cli_diagnose.register,
    cli_mcp.register_mcp,
    cli_service.register_service,
    cli_github.register_simulate,
    cli_action.register_handle,
    cli_history.register_history,
    cli_config.register_config,
    cli_eval.register,
):
    register(app)
