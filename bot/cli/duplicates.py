"""`bot eval duplicates`: how often the report that a tracker marked as the same is found again."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.examples import examples
from knowledge.errors import UserError


def register(group: typer.Typer) -> None:
    """Add the command to the group `eval`."""
    epilog = examples("bot eval duplicates tracker.jsonl.gz --out ranked.jsonl")
    group.command(name="duplicates", epilog=epilog)(duplicates_command)


def duplicates_command(
    file: Annotated[
        Path, typer.Argument(help="A tracker's export (.jsonl, .jsonl.gz) with marked duplicates.")
    ],
    out: Annotated[
        Path | None, typer.Option(help='Write {"id", "near": [ids, best first]} for each query here.')
    ] = None,
) -> None:
    """Score how often a marked duplicate is among the nearest earlier reports, compared with plain TF-IDF.

    A record: {"id", "opened", "title", "body", "duplicates": [ids]}. Only earlier reports are candidates.
    """
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from embeddings.encoder import OnnxEncoder
    from eval.caching import CachingEncoder
    from eval.duplicates import rank, rank_plainly, table
    from knowledge.history.tracker import read_tracker
    from knowledge.history.verifier import load_weights

    tracker = read_tracker(file)
    if not tracker.queries():
        raise UserError(
            f"{file.name} marks no report as a duplicate of an earlier one.",
            'Fill "duplicates" of at least one record with the id of another record of the file.',
        )
    weights = load_weights()
    settings = load_settings()
    cache = settings.cache
    target = _target(out)
    with ticking() as tick:
        plain = rank_plainly(tracker, tick)
        encoder = CachingEncoder(OnnxEncoder(settings.model_dir, cache / "model"), cache / "history")
        try:
            ranked = rank(tracker, encoder, weights, tick)
        finally:
            encoder.save()
    if target:
        lines = (json.dumps({"id": one.id, "near": one.near}, ensure_ascii=False) for one in ranked)
        target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    sys.stdout.write(table(tracker, {"plain TF-IDF": plain, "distriage": ranked}))


def _target(out: Path | None) -> Path | None:
    """The file to write, once it is known that it can be written: a long run must not end in an error."""
    if out is None:
        return None
    try:
        with out.open("a", encoding="utf-8"):
            return out
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}.", "Name another file.") from error
