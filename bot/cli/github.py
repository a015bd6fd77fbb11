"""`bot simulate`: what the GitHub App would write for a payload."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bot.cli.examples import examples
from bot.cli.waiting import waiting
from knowledge.errors import InputError

if TYPE_CHECKING:
    from bot.github.simulate import Simulation
    from bot.ports import Core


def register(app: typer.Typer) -> None:
    """Add the GitHub App's command to the application."""
    epilog = examples("bot simulate payload.json", "bot simulate payload.json --config .github/distriage.yml")
    app.command(epilog=epilog)(simulate)


def simulate(
    payload: Annotated[Path, typer.Argument(help="A webhook payload (issues or issue_comment) as JSON.")],
    config: Annotated[
        Path | None, typer.Option(help="A .github/distriage.yml to apply. Default: shadow mode.")
    ] = None,
) -> None:
    """Show what would be written for a webhook payload, without writing it."""
    from bot.github.simulate import simulate as run

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
        raise InputError(f"{path} is not JSON", "Use the body of a webhook delivery.") from error
    if not isinstance(data, dict):
        raise InputError(f"{path} is not a JSON object", "Use the body of a webhook delivery.")
    if "issue" not in data or "repository" not in data:
        what = "a saved issue" if "title" in data else "no webhook payload"
        raise InputError(
            f'{path} is {what}: a payload has "action", "repository" and "issue"',
            "Save one from Advanced, Recent deliveries on the App's page. `bot triage` reads an issue itself.",
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
        raise InputError(f"{path} cannot be read ({error.strerror})", "Check the path.") from error
