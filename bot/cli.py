"""The command line: every command registers itself here."""

from __future__ import annotations

import typer

from bot import (
    cli_config,
    cli_diagnose,
    cli_eval,
    cli_failures,
    cli_github,
    cli_knowledge,
    cli_service,
    cli_triage,
)

app = typer.Typer(
    name="bot",
    help="distriage: triage of failure reports about distributed deep-learning training.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
for module in (
    cli_triage,
    cli_failures,
    cli_knowledge,
    cli_diagnose,
    cli_service,
    cli_github,
    cli_config,
    cli_eval,
):
    module.register(app)
