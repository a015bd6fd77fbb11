"""`bot backfill` and `bot replay`: a repository's own history, filled and tried out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.examples import examples
from knowledge.errors import UserError

if TYPE_CHECKING:
    from bot.history.records import Progress


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    read = examples("bot backfill octo/train", "bot backfill octo/train --from issues.jsonl.gz --max 500")
    shown = examples("bot replay octo/train")
    app.command(epilog=read)(backfill)
    app.command(epilog=shown)(replay)


def backfill(
    repository: Annotated[str, typer.Argument(help="The repository, as OWNER/REPO.")],
    source: Annotated[
        Path | None, typer.Option("--from", help="Read this export (.jsonl, .jsonl.gz) instead of GitHub.")
    ] = None,
    since: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Only issues opened since this day (GitHub)."),
    ] = None,
    max: Annotated[
        int, typer.Option(min=0, help="At most so many issues, the newest first on GitHub. 0: all.")
    ] = 0,
    again: Annotated[
        bool, typer.Option("--again", help="Delete what is kept of the repository and start over.")
    ] = False,
) -> None:
    """Read a repository's issues into its history, so that the same failure is found again.

    Nothing is written to GitHub. A run that was interrupted goes on where it stopped; a later run reads what changed.
    """
    from bot.cli.history_run import fill_from_file, fill_from_github
    from bot.settings import load_settings

    if repository.count("/") != 1 or not all(repository.split("/")):
        raise UserError(f"{repository!r} is not a repository.", "Write it as OWNER/REPO.")
    if source is not None and since is not None:
        raise UserError("--since works with GitHub only.", "Leave it out, or shorten the export.")
    settings = load_settings()
    with _bar(repository) as tick:
        if source is not None:
            kept = fill_from_file(settings, repository, source, max, tick, again=again)
        else:
            kept = fill_from_github(settings, repository, since, max, tick, again=again)
    typer.echo(f"{repository}: {kept} issues in its history")


def replay(
    repository: Annotated[str, typer.Argument(help="A repository whose history is kept, as OWNER/REPO.")],
    fit: Annotated[
        bool, typer.Option("--fit", help="Use the threshold fitted to its own marks from now on.")
    ] = False,
) -> None:
    """Show what would have been shown of its history, forward in time, and what people marked later."""
    from bot.cli.history_run import replay_history
    from bot.settings import load_settings

    typer.echo(replay_history(load_settings(), repository, fit=fit), nl=False)


@contextmanager
def _bar(repository: str) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(repository, total=None)
        yield lambda progress: bar.update(task, completed=progress.read, total=progress.total or None)
