"""`bot eval fetch-study1`: the study's sheets and issue texts, on a machine with internet."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.examples import examples


def register(group: typer.Typer) -> None:
    """Add the command to the group `eval`."""
    epilog = examples("bot eval fetch-study1 --out study1/")
    group.command(name="fetch-study1", epilog=epilog)(fetch_study1_command)


def fetch_study1_command(
    out: Annotated[Path, typer.Option(help="Folder for the sheets and texts.")],
    token: Annotated[
        str | None,
        typer.Option(
            envvar="GITHUB_TOKEN", help="GitHub token. Without one, GitHub allows 60 requests an hour."
        ),
    ] = None,
    commit: Annotated[
        str | None, typer.Option(help="Use this commit of the package instead of the pinned one.")
    ] = None,
    repository: Annotated[
        str | None, typer.Option(help="Another GitHub repository with a copy of the package.")
    ] = None,
    api: Annotated[
        str, typer.Option(help="Root of the REST API; for GitHub Enterprise https://HOST/api/v3.")
    ] = "https://api.github.com",
    sheets_only: Annotated[bool, typer.Option("--sheets-only", help="Skip the issue texts.")] = False,
) -> None:
    """Fetch study 1's replication package at a pinned commit, and the issues it labels; resumes if interrupted."""
    from rich.console import Console
    from rich.progress import Progress

    from eval.fetch_study1 import RECORDS, PoliteGitHub, fetch_issues, fetch_sheets, pinned

    package = pinned()
    package = dataclasses.replace(
        package, commit=commit or package.commit, repository=repository or package.repository
    )
    console = Console(stderr=True)
    with (
        Progress(console=console) as progress,
        PoliteGitHub(token, api, said=progress.console.print) as github,
    ):
        fetch_sheets(package, github, out)
        if sheets_only:
            return
        task = progress.add_task("issues", total=None)
        done = fetch_issues(out, github, lambda n, of: progress.update(task, completed=n, total=of))
    print(
        f"{done.records} records in {out / RECORDS}; {done.gone} issues are gone, {done.elsewhere} posts are on "
        f"Stack Overflow and left out.\nScore them with: bot eval --data {out / RECORDS} --cross-validate"
    )
