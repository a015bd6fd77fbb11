"""`bot taxonomy` and `bot corpus`: what is known, shown and checked."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from bot.cli.common import examples, waiting

corpus_app = typer.Typer(
    help="Inspect, check, and index the corpus of labeled cases.",
    no_args_is_help=True,
    epilog=examples("bot corpus stats"),
)


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    epilog = examples("bot taxonomy", "bot taxonomy D.2.1", "bot taxonomy fix:hardware")
    app.command(epilog=epilog)(taxonomy)
    app.add_typer(corpus_app, name="corpus")


def _ids(typed: str) -> list[str]:
    from knowledge.taxonomy import load_taxonomy
    from knowledge.triage import AXES

    every = dict.fromkeys(entry.id for axis in AXES for entry in load_taxonomy().on_axis(axis))
    return [id for id in every if id.startswith(typed)]


def taxonomy(
    id: Annotated[
        str | None,
        typer.Argument(
            help="A taxonomy ID in upper or lower case, e.g. D.2.1, network, or fix:hardware.",
            autocompletion=_ids,
        ),
    ] = None,
) -> None:
    """Explain a taxonomy ID: its meaning, counts, fix patterns, and an example case. Without an ID, list them all."""
    from rich.console import Console

    from bot.render.taxonomy import print_entry, print_overview
    from knowledge.cases import load_cases
    from knowledge.taxonomy import load_taxonomy

    console = Console(highlight=False)
    if id is None:
        print_overview(load_taxonomy(), console)
    else:
        for entry in load_taxonomy().entries(id):
            print_entry(entry, load_taxonomy(), load_cases(), console)


@corpus_app.command(epilog=examples("bot corpus stats"))
def stats() -> None:
    """Count cases by outcome, framework, type, stage, symptom, and label source."""
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table

    from knowledge.cases import load_cases
    from knowledge.cases import stats as count

    counted = asdict(count(load_cases()))
    console = Console(highlight=False)
    for name, value in counted.items():
        if isinstance(value, dict):
            table = Table(title=name, title_justify="left", box=None, show_header=False)
            for key, number in value.items():
                table.add_row(str(key), str(number))
            console.print(table)
        else:
            console.print(f"{name}: {value}")


@corpus_app.command(epilog=examples("bot corpus check", "bot corpus check mine.jsonl"))
def check(
    files: Annotated[
        list[Path] | None, typer.Argument(help="Your own .jsonl files to check as well as the corpus.")
    ] = None,
) -> None:
    """Check every case against the schema and the taxonomy; exit with code 1 if any case is invalid."""
    from knowledge.cases import check_cases, load_cases
    from knowledge.signatures import load_signatures
    from knowledge.versions import load_facts

    problems = check_cases(*(files or ()))
    for problem in problems:
        print(problem)
    if problems:
        typer.echo(f"Problems found: {len(problems)}. Fix the lines listed above.", err=True)
        raise typer.Exit(1)
    print(
        f"{len(load_cases())} cases, {len(load_signatures())} signatures, {len(load_facts())} version facts: "
        "no problems."
    )


@corpus_app.command(epilog=examples("bot corpus build"))
def build() -> None:
    """Rebuild the index, converting the model first if needed."""
    from bot.settings import load_settings
    from knowledge.engine import load_knowledge

    settings = load_settings()
    with waiting("converting and indexing"):
        knowledge = load_knowledge(settings.model_dir, settings.cache, rebuild=True)
    print(f"Indexed {len(knowledge.store.cases)} cases with {knowledge.encoder.backend} in {settings.cache}.")


@corpus_app.command(
    name="import-labels", epilog=examples("bot corpus import-labels final_categories.xlsx --out labels.jsonl")
)
def import_labels_command(
    sheet: Annotated[Path, typer.Argument(help="final_categories.xlsx from study 1's replication package.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the labels to this file, one JSON object per line.")
    ] = None,
) -> None:
    """Read study 1's sheet, normalize its spelling, and show its counts."""
    import json
    from dataclasses import asdict

    from rich.console import Console

    from bot.render.taxonomy import print_counts
    from knowledge.taxonomy.study1 import import_labels

    study = import_labels(sheet)
    print_counts(study, Console(highlight=False))
    if out:
        rows = [*map(asdict, study.faults), *map(asdict, study.howtos)]
        out.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
