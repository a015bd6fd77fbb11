"""`bot eval duplicates` and `bot eval labels`: what a tracker's export says of how well its history is used."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from bot.cli.examples import examples
from knowledge.errors import UserError


def register(group: typer.Typer) -> None:
    """Add the commands to the group `eval`."""
    epilog = examples("bot eval duplicates tracker.jsonl.gz --out ranked.jsonl")
    group.command(name="duplicates", epilog=epilog)(duplicates_command)
    epilog = examples("bot eval labels tracker.jsonl.gz --out labels.jsonl")
    group.command(name="labels", epilog=epilog)(labels_command)


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


def labels_command(
    file: Annotated[
        Path, typer.Argument(help="A tracker's export (.jsonl, .jsonl.gz) with the labels that people set.")
    ],
    learn_from: Annotated[
        Path | None, typer.Option(help="Learn from this export instead, and try all issues of FILE.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help='Write {"id", "labels": [likeliest first]} for each issue tried.')
    ] = None,
) -> None:
    """Score how often labels learned from older issues are those that people set on newer ones.

    A record: {"id", "opened", "title", "body", "labels": ["bug"]}. Ids such as "owner/repo#7" make several
    repositories. Issues without labels are left out: nobody has said what belongs on them.
    """
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from embeddings.encoder import OnnxEncoder
    from eval.caching import CachingEncoder
    from eval.labels import by_label, examples_of, figures, forward, is_dated, read_labelled, table

    issues = read_labelled(file)
    taught = read_labelled(learn_from) if learn_from else {}
    target = _target(out)
    settings = load_settings()
    found, tried = {}, []
    with ticking() as tick:
        model = OnnxEncoder(settings.model_dir, settings.cache / "model")
        encoder = CachingEncoder(model, settings.cache / "history")
        try:
            for name, own in issues.items():
                before = examples_of(taught.get(name, []), encoder, tick) if learn_from else None
                examples = examples_of(own, encoder, tick)
                judged = forward(examples, before)
                found[name] = figures(judged, is_dated(examples))
                tried += judged
        finally:
            encoder.save()
    if target:
        lines = (json.dumps({"id": one.example.id, "labels": one.set}, ensure_ascii=False) for one in tried)
        target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    sys.stdout.write(table(found))
    for name, one in found.items():
        sys.stdout.write("\n".join(["", f"## {name or 'all'}", "", *by_label(one), ""]))


def _target(out: Path | None) -> Path | None:
    """The file to write, once it is known that it can be written: a long run must not end in an error."""
    if out is None:
        return None
    try:
        with out.open("a", encoding="utf-8"):
            return out
    except OSError as error:
        raise UserError(f"{out} cannot be written: {error.strerror}.", "Name another file.") from error
