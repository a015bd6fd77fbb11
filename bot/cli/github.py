"""What `bot` does for one GitHub repository: simulate, github handle, config check, backfill and replay."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.common import examples, waiting
from knowledge.errors import InputError, UserError, reason
from knowledge.text.words import listed

if TYPE_CHECKING:
    from bot.github.action import IssueStore
    from bot.github.offline import Simulation
    from bot.github.ports import Outcome
    from bot.history.records import Progress
    from bot.ports import Core


def register_simulate(app: typer.Typer) -> None:
    """Add the GitHub App's command to the application."""
    epilog = examples("bot simulate payload.json", "bot simulate payload.json --config .github/distriage.yml")
    app.command(epilog=epilog)(simulate)


def simulate(
    payload: Annotated[
        Path, typer.Argument(help="A webhook payload (issues or issue_comment event) in JSON.")
    ],
    config: Annotated[
        Path | None,
        typer.Option(help="Configuration file (.github/distriage.yml) to apply. Default: shadow mode."),
    ] = None,
) -> None:
    """Show what the bot would post for a webhook payload, without posting anything."""
    from bot.github.offline import simulate as run

    text = _read(config) if config else None
    data = read_payload(payload)
    with waiting("triaging"):
        found = run(data, _core(), text)
    typer.echo(describe(found))


def read_payload(path: Path) -> dict[str, Any]:
    """The payload in a file; `InputError` when it is no JSON object."""
    try:
        data = json.loads(_read(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} isn't valid JSON.", "Use the payload of a webhook delivery.") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} isn't a JSON object.", "Use the payload of a webhook delivery.")
    if "issue" not in data or "repository" not in data:
        what = "is an issue, not a webhook payload" if "title" in data else "isn't a webhook payload"
        missing = listed((f'"{key}"' for key in ("action", "repository", "issue") if key not in data), "or")
        raise InputError(
            f"{path} {what}: it has no {missing}.",
            "Copy one from Advanced > Recent Deliveries in the App's settings. To triage an issue, use `bot triage`.",
        )
    return data


def describe(found: Simulation) -> str:
    """A simulation in words, then the comment as it would stand."""
    would = "would write" if found.writes else "would write nothing"
    lines = [f"mode {found.mode}: {would} ({found.reason})"]
    if found.labels:
        lines.append("labels, if the repository has them: " + ", ".join(found.labels))
    if found.comment:
        lines += ["comment:", "", found.comment]
    return "\n".join(lines)


def _core() -> Core:
    from bot.runtime.core import NamedCore, engine_of_environment
    from knowledge.taxonomy import load_taxonomy

    return NamedCore(engine_of_environment(), load_taxonomy())


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise InputError(f"Can't read {path}: {reason(error)}.", "Check the path.") from error


# `bot github handle`: one event of a GitHub workflow, without a server.

github_app = typer.Typer(
    help="Triage GitHub issues without a server.",
    no_args_is_help=True,
    epilog=examples("bot github handle --event-file event.json"),
)


def register_handle(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.add_typer(github_app, name="github")


@github_app.callback()
def _handle_group() -> None:
    """GitHub without a server: what the Action runs."""


@github_app.command(epilog=examples("bot github handle --event-file event.json"))
def handle(
    event_file: Annotated[
        Path,
        typer.Option(
            envvar="GITHUB_EVENT_PATH", help="File with the event's payload in JSON.", show_default=False
        ),
    ],
    event: Annotated[
        str, typer.Option(envvar="GITHUB_EVENT_NAME", help="Event name: issues or issue_comment.")
    ] = "issues",
    api_url: Annotated[
        str, typer.Option(envvar="GITHUB_API_URL", help="Base URL of the REST API.")
    ] = "https://api.github.com",
    summary_file: Annotated[
        Path | None,
        typer.Option(
            envvar="GITHUB_STEP_SUMMARY", help="Append the summary to this file. Default: print it."
        ),
    ] = None,
    login: Annotated[str, typer.Option(help="Account that the token posts as.")] = "github-actions[bot]",
) -> None:
    """Triage the issue in one event and write what .github/distriage.yml allows. Reads the token from GITHUB_TOKEN."""
    from bot.github.action import TokenGitHub, handle_event, summary
    from bot.runtime.core import NamedCore, SystemClock, engine_of_environment
    from knowledge.taxonomy import load_taxonomy

    token = os.environ.get("GITHUB_TOKEN", "")
    if not token:
        raise InputError(
            "GITHUB_TOKEN is not set.", "In a workflow, add: env: {GITHUB_TOKEN: ${{ github.token }}}"
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
        lines.append(f"::error::The token isn't allowed to write. {REMEDY}")
    return lines


# `bot config check`: what is wrong with a repository's `.github/distriage.yml`, before it is committed.

EXAMPLE = examples("bot config check .github/distriage.yml")
config_app = typer.Typer(
    no_args_is_help=True, help="Check a repository's configuration file.", epilog=EXAMPLE
)


def register_config(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(config_app, name="config")


@config_app.callback()
def _config_group() -> None:
    """Keep `check` a subcommand of its own."""


@config_app.command(epilog=EXAMPLE)
def check(
    file: Annotated[Path, typer.Argument(help="Path to a .github/distriage.yml file.")],
) -> None:
    """List every problem in a configuration file, one per line; exit with code 1 if any are found."""
    from bot.github.repo_config import ConfigError, config_notes, parse_config
    from knowledge.taxonomy import load_taxonomy

    try:
        text = file.read_text("utf-8", "replace")
    except OSError as error:
        raise InputError(f"Can't read {file}: {reason(error)}.", "Check the path.") from error
    taxonomy = load_taxonomy()
    try:
        config = parse_config(text, lambda axis: frozenset(taxonomy.ids(axis)))
    except ConfigError as error:
        for problem in error.problems:
            typer.echo(f"{file}: {problem}")
        raise typer.Exit(1) from error
    for note in config_notes(text):
        typer.echo(f"{file}: note: {note}")
    typer.echo(f"{file} is valid (mode: {config.mode})")


# `bot backfill` and `bot replay`: a repository's own history, filled and tried out.


def register_history(app: typer.Typer) -> None:
    """Add the commands to the application."""
    read = examples("bot backfill octo/train", "bot backfill octo/train --from issues.jsonl.gz --max 500")
    shown = examples("bot replay octo/train", "bot replay octo/train --since 2026-05-01")
    app.command(epilog=read)(backfill)
    app.command(epilog=shown)(replay)


def backfill(
    repository: Annotated[str, typer.Argument(help="The repository, as OWNER/REPO.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Read this export (.jsonl or .jsonl.gz) instead of GitHub.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="Read only issues opened on or after this date (GitHub only)."
        ),
    ] = None,
    max: Annotated[
        int,
        typer.Option(
            min=0, help="Maximum number of issues to read (from GitHub, newest first); 0 means no limit."
        ),
    ] = 0,
    again: Annotated[bool, typer.Option("--again", help="Delete the stored history and start over.")] = False,
) -> None:
    """Import a repository's issues into its history so that repeat failures are recognized.

    Nothing is written to GitHub. An interrupted run resumes where it stopped; later runs fetch only what has changed.
    """
    from bot.cli.operate import fill_from_file, fill_from_github
    from bot.settings import load_service_settings

    if repository.count("/") != 1 or not all(repository.split("/")):
        raise UserError(f"{repository!r} isn't a repository name.", "Write it as OWNER/REPO.")
    if source is not None and since is not None:
        raise UserError("--since works only when reading from GitHub.", "Drop --since or --from.")
    settings = load_service_settings()
    with _bar(repository) as tick:
        if source is not None:
            kept = fill_from_file(settings, repository, source, max, tick, again=again)
        else:
            kept = fill_from_github(settings, repository, since, max, tick, again=again)
    typer.echo(f"{repository}: {kept} issues in its history")


def replay(
    repository: Annotated[str, typer.Argument(help="A repository with a stored history, as OWNER/REPO.")],
    since: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="As if the bot had been switched on that day; the default is the history's first day.",
        ),
    ] = None,
    comments: Annotated[
        int, typer.Option(min=0, max=100, help="How many comments to show, the newest first.")
    ] = 10,
    fit: Annotated[
        bool,
        typer.Option(
            "--fit", help="Fit the threshold to this repository's own duplicates and use it from now on."
        ),
    ] = False,
) -> None:
    """Show what the bot would have posted and labeled since a day, what people did, and what to switch on.

    It goes through the stored history in order and uses only what was there at each moment.
    """
    from bot.cli.operate import replay_history
    from bot.settings import load_settings

    day = since.date() if since else None
    typer.echo(replay_history(load_settings(), repository, day, comments, fit=fit), nl=False)


@contextmanager
def _bar(repository: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(repository, total=None)
        yield lambda progress: bar.update(task, completed=progress.read, total=progress.total or None)
