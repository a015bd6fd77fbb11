"""`bot config check`: what is wrong with a repository's `.github/distriage.yml`, before it is committed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.examples import examples
from knowledge.errors import InputError

EXAMPLE = examples("bot config check .github/distriage.yml")
config_app = typer.Typer(no_args_is_help=True, help="A repository's own configuration file.", epilog=EXAMPLE)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(config_app, name="config")


@config_app.callback()
def _group() -> None:
    """Keep `check` a subcommand of its own."""


@config_app.command(epilog=EXAMPLE)
def check(
    file: Annotated[Path, typer.Argument(help="A .github/distriage.yml.")],
) -> None:
    """List every problem in a configuration file, one per line; exit with code 1 if there is one."""
    from bot.github.repo_config import ConfigError, config_notes, parse_config
    from knowledge.taxonomy import load_taxonomy

    try:
        text = file.read_text("utf-8", "replace")
    except OSError as error:
        raise InputError(f"{file} cannot be read ({error.strerror})", "Check the path.") from error
    taxonomy = load_taxonomy()
    try:
        config = parse_config(text, lambda axis: frozenset(taxonomy.ids(axis)))
    except ConfigError as error:
        for problem in error.problems:
            typer.echo(f"{file}: {problem}")
        raise typer.Exit(1) from error
    for note in config_notes(text):
        typer.echo(f"{file}: note: {note}")
    typer.echo(f"{file} can be used, mode {config.mode}")
