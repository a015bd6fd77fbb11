"""`bot eval`: how often distriage is right, beside simple systems and people; rerun by anyone."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bot.cli.examples import examples
from knowledge.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eval.findings import FindingScore
    from eval.predictions import Predictions
    from eval.protocol import System
    from eval.session import Plan, Session
    from llm.access import LlmAccess

Splits = Literal["cv", "framework", "time"]
ALL = "distriage,majority,tfidf,minilm,knn"


def register(app: typer.Typer) -> None:
    """Add the command and its subcommand to the application."""
    from bot.cli import fetch_study1, trackers

    epilog = examples(
        "bot eval --report out/",
        "bot eval --data labelled.jsonl",
        "bot eval --gate baseline.json",
        "bot eval --compare old.json new.json",
    )
    group = typer.Typer(invoke_without_command=True, help=eval_command.__doc__, epilog=epilog)
    group.callback()(eval_command)
    fetch_study1.register(group)
    trackers.register(group)
    app.add_typer(group, name="eval")


def eval_command(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Labelled records (.jsonl, .jsonl.gz) to score as held-out data; repeatable."),
    ] = None,
    cross_validate: Annotated[
        bool,
        typer.Option(
            "--cross-validate", help="Add the --data records to the training data and score them out of fold."
        ),
    ] = False,
    skip_known: Annotated[
        bool,
        typer.Option(
            "--skip-known", help="Skip --data records that are in the training data, and print how many."
        ),
    ] = False,
    systems: Annotated[
        str, typer.Option(help="Comma-separated: distriage,majority,tfidf,minilm,knn,llm,distriage+llm.")
    ] = "distriage",
    splits: Annotated[
        Splits, typer.Option(help="Folds, one framework left out, or each repository's latest cases.")
    ] = "cv",
    folds: Annotated[int, typer.Option(min=2, max=50, help="Number of cross-validation folds.")] = 5,
    report: Annotated[
        Path | None, typer.Option(help="Folder for the HTML report and all predictions.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Compare two prediction files: paired bootstrap and McNemar."),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(help="A saved baseline; exit with code 1 if this run is significantly worse."),
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Save this run as a baseline for --gate.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print the README's table (all simple systems).")
    ] = False,
    fit_fusion: Annotated[
        bool,
        typer.Option("--fit-fusion", help="Fit the LLM's weights, decide whether to use it, and save both."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the reply cache, so cost and latency cover every call.")
    ] = False,
    llm_cassette: Annotated[
        Path | None,
        typer.Option(help="Recorded LLM answers (.jsonl, .jsonl.gz) to replay; no server is asked."),
    ] = None,
    record: Annotated[
        bool,
        typer.Option("--record", help="Ask the configured LLM what the cassette lacks, and add its answers."),
    ] = False,
    injected: Annotated[
        Path | None,
        typer.Option(help="Logs of injected faults, a file or a folder of .jsonl (tests/inject makes them)."),
    ] = None,
    study1: Annotated[
        Path | None, typer.Option(help="Folder with study 1's reliability sheets, for the human ceiling.")
    ] = None,
) -> None:
    """Measure accuracy: cross-validate the shipped benchmark, or score your own labelled records."""
    if context.invoked_subcommand:
        return
    from bot.cli import evaluate_output as eval_output
    from eval.named_systems import checked, checked_llm

    if injected:
        from bot.cli.injected import run_injected

        run_injected(injected, report)
        return
    if compare:
        eval_output.compare_files(*compare)
        return
    if (cross_validate or skip_known) and not data:
        raise UserError("--cross-validate and --skip-known require --data.", "Add --data FILE.jsonl.")
    if data and not cross_validate and splits != "cv":
        raise UserError("Held-out records cannot be split.", "Add --cross-validate, or omit --splits.")
    stored = eval_output.prepare(report, gate)
    names = checked((ALL if table and systems == "distriage" else systems).split(","))
    held_out = bool(data) and not cross_validate
    checked_llm(
        names, fit_fusion=fit_fusion, fresh=fresh, held_out=held_out, cassette=llm_cassette, record=record
    )
    make = _plan(data or [], held_out, skip_known, splits, folds)
    runs, systems_run, found = _run(
        names, make, _access(llm_cassette, record=record), fit_fusion=fit_fusion, fresh=fresh
    )
    eval_output.show(runs, study1, report)
    eval_output.show_findings(found, report)
    if fit_fusion:
        eval_output.keep_fusion(runs, systems_run)
    lead = next(iter(runs.values()))
    if save_baseline:
        eval_output.save_baseline(lead, save_baseline)
    if stored and not eval_output.passes(stored, lead):
        raise typer.Exit(1)


def _plan(
    data: list[Path], held_out: bool, skip_known: bool, splits: Splits, folds: int
) -> Callable[[Session], Plan]:
    if held_out:
        return lambda session: session.held_out(data, skip_known=skip_known)
    return lambda session: session.cross_validated(data, splits, folds)


def _access(cassette: Path | None, *, record: bool) -> LlmAccess | None:
    """How the LLM is asked: as configured, from a cassette, or as configured and into the cassette."""
    from bot.runtime.llm_setup import llm_access
    from bot.settings import load_settings
    from eval.llm_cassette import recording, replaying

    if cassette is not None and not record:
        return replaying(cassette)
    configured = llm_access(load_settings())
    return configured if cassette is None or configured is None else recording(cassette, configured)


def _run(
    names: list[str],
    make: Callable[[Session], Plan],
    access: LlmAccess | None,
    *,
    fit_fusion: bool,
    fresh: bool,
) -> tuple[dict[str, Predictions], list[System], FindingScore | None]:
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from eval.findings import score_findings
    from eval.named_systems import finished, open_systems
    from eval.session import Session
    from knowledge.engine import load_knowledge
    from knowledge.training.failure_labels import failure_labels

    settings = load_settings()
    with ticking() as tick:
        session = Session(settings.model_dir, settings.cache, tick)
        plan = make(session)
        with open_systems(names, session, plan, access, fit_fusion=fit_fusion, fresh=fresh) as systems:
            runs = finished(session.run(plan, systems), systems)
        labels = failure_labels()
        reports = [case.prepared.record.report for case in plan.benchmark.scored]
        reports = [report for report in reports if report.id in labels]
        found = None
        if reports:
            knowledge = load_knowledge(settings.model_dir, settings.cache, encoder=session.encoder)
            found = score_findings(reports, knowledge, lambda n: tick("matching known failures", n))
    if plan.skipped:
        print(f"Skipped {plan.skipped} records that are in the training data.", file=sys.stderr)
    return runs, systems, found
