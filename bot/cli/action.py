"""`bot github handle`: one event of a GitHub workflow, without a server."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.examples import examples
from knowledge.errors import InputError

if TYPE_CHECKING:
    from bot.github.issue_store import IssueStore
    from bot.github.ports import Outcome

github_app = typer.Typer(
    help="GitHub without a server.",
    no_args_is_help=True,
    epilog=examples("bot github handle --event-file event.json"),
)


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.add_typer(github_app, name="github")


@github_app.callback()
def _group() -> None:
    """GitHub without a server: what the Action runs."""


@github_app.command(epilog=examples("bot github handle --event-file event.json"))
def handle(
    event_file: Annotated[
        Path,
        typer.Option(envvar="GITHUB_EVENT_PATH", help="The event's payload as JSON.", show_default=False),
    ],
    event: Annotated[
        str, typer.Option(envvar="GITHUB_EVENT_NAME", help="Its name: issues or issue_comment.")
    ] = "issues",
    api_url: Annotated[
        str, typer.Option(envvar="GITHUB_API_URL", help="Root of the REST API.")
    ] = "https://api.github.com",
    summary_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITHUB_STEP_SUMMARY", help="Append the summary to this file. Default: print it."
        ),
    ] = None,
    login: Annotated[
        str, typer.Option(help="The account that the token's comments are by.")
    ] = "github-actions[bot]",
) -> None:
    """Triage the issue of one event and write what .github/distriage.yml allows; the token is in GITHUB_TOKEN."""
    from bot.cli.github import read_payload
    from bot.github.action import TokenGitHub, handle_event, summary
    from bot.runtime.clock import SystemClock
    from bot.runtime.core import NamedCore, engine_of_environment
    from knowledge.taxonomy import load_taxonomy

    token = os.environ.get("GITHUB_TOKEN", "")
    if not token:
        raise InputError(
            "GITHUB_TOKEN is not set.", "In a workflow: env: {GITHUB_TOKEN: ${{ github.token }}}"
        )
    payload = read_payload(event_file)
    core = NamedCore(engine_of_environment(), load_taxonomy())
    outcome, store = handle_event(event, payload, TokenGitHub(token, api_url, login), core, SystemClock())
    text = summary(outcome, store.triage, store.config_read)
    if summary_file is None:
        typer.echo(text)
    else:
        with summary_file.open("a", encoding="utf-8") as file:
            file.write(text)
    for line in _annotations(outcome, store):
        typer.echo(line)
    # People look at failed runs, and a token that may not write would never be noticed otherwise.
    raise typer.Exit(1 if outcome.reason == "forbidden" else 0)


def _annotations(outcome: Outcome, store: IssueStore) -> list[str]:
    """Lines that GitHub shows on the run's page."""
    from bot.github.action import REMEDY

    lines = [f"distriage: {outcome.kind} ({outcome.reason})"]
    if store.config_read is not None and store.config_read.error is not None:
        text = store.config_read.error.replace("%", "%25").replace("\r", "").replace("\n", "%0A")
        lines.append(f"::warning file=.github/distriage.yml::not used, shadow mode: {text}")
    lines += [f"::warning::{detail}" for detail in outcome.detail]
    if outcome.reason == "forbidden":
        lines.append(f"::error::The token may not write. {REMEDY}")
    return lines
