"""`bot failures`: the catalogue of known failures, read, searched, checked, extended."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.common import examples
from knowledge.errors import InputError

failures_app = typer.Typer(
    help="Browse and extend the catalog of known failures.",
    no_args_is_help=True,
    epilog=examples('bot failures search "unhandled system error"', "bot failures show cuda-driver-too-old"),
)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.add_typer(failures_app, name="failures")


def _ids(typed: str) -> list[str]:
    from knowledge.findings.failure import load_catalogue

    return [id for id in load_catalogue() if id.startswith(typed)]


@failures_app.command("list", epilog=examples("bot failures list", "bot failures list nccl"))
def list_command(
    area: Annotated[str | None, typer.Argument(help="List only this area, e.g. nccl.")] = None,
) -> None:
    """List all entries by area, with ID and title."""
    from rich.console import Console
    from rich.table import Table

    from knowledge.findings.compile import AREAS
    from knowledge.findings.failure import load_catalogue

    area = area.casefold() if area else None
    if area is not None and area not in AREAS:
        raise InputError(f"There is no area {area!r}.", f"Choose from: {', '.join(AREAS)}.")
    console = Console(highlight=False)
    for name, title in AREAS.items():
        entries = [e for e in load_catalogue().values() if e.area == name]
        if entries and area in (None, name):
            table = Table(title=f"{title} ({name})", title_justify="left", box=None, show_header=False)
            for entry in entries:
                table.add_row(entry.id, entry.title)
            console.print(table)


@failures_app.command(epilog=examples("bot failures show cuda-driver-too-old"))
def show(
    id: Annotated[
        str,
        typer.Argument(help="ID of an entry, e.g. cuda-driver-too-old.", autocompletion=_ids),
    ],
) -> None:
    """Show one entry: the symptoms, the causes, how to check for it, how to fix it, and its sources."""
    from rich.console import Console
    from rich.markdown import Markdown

    from bot.api.catalogue import entry, markdown

    Console(highlight=False).print(Markdown(markdown(entry(id))))


@failures_app.command(epilog=examples('bot failures search "unhandled system error"'))
def search(
    text: Annotated[str, typer.Argument(help="An error line or a few words.")],
    count: Annotated[int, typer.Option(min=1, max=50, help="Maximum number of entries to print.")] = 8,
) -> None:
    """Find the entries whose text or example reports best match TEXT."""
    from bot.api.catalogue import search as find

    found = find(text, count)
    if not found:
        print("Nothing found.")
    for entry in found:
        print(f"{entry.id}: {entry.title}")


@failures_app.command(epilog=examples("bot failures check"))
def check() -> None:
    """Check every entry and its examples; exit with code 1 if any is invalid. Requires a source checkout."""
    from knowledge.findings.compile import problems, read_catalogue

    entries, examples = read_catalogue()
    wrong = problems(entries, examples)
    for problem in wrong:
        print(problem)
    if wrong:
        typer.echo(f"Problems found: {len(wrong)}. Fix the entries listed above.", err=True)
        raise typer.Exit(1)
    print(f"{len(entries)} entries, {sum(map(len, examples.values()))} examples: no problems.")


@failures_app.command(epilog=examples("bot failures new nccl nccl-my-failure"))
def new(
    area: Annotated[str, typer.Argument(help="Area of the new entry, e.g. nccl.")],
    id: Annotated[str, typer.Argument(help="ID of the new entry, in lowercase with dashes.")],
) -> None:
    """Write a template for a new entry and its examples. Requires a source checkout."""
    from knowledge.findings.compile import AREAS
    from knowledge.findings.source import ENTRY, EXAMPLES, FOLDER

    if area not in AREAS:
        raise InputError(f"There is no area {area!r}.", f"Choose from: {', '.join(AREAS)}.")
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", id):
        raise InputError(f"{id} isn't a valid ID.", "Use lowercase letters, digits, and single dashes.")
    path: Path = FOLDER / area / f"{id}.md"
    if list(FOLDER.glob(f"*/{id}.md")):
        raise InputError(f"{id} already exists.", "Choose another ID.")
    path.parent.mkdir(exist_ok=True)
    path.write_text(ENTRY.replace("ID", id), "utf-8")
    path.with_suffix(".examples.toml").write_text(EXAMPLES, "utf-8")
    print(f"Wrote {path} and its examples. Fill them in, then run: bot failures check")
