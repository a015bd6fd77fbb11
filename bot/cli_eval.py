"""`bot eval`: how often distriage is right, beside simple systems and people; rerun by anyone."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from knowledge.errors import UserError

if TYPE_CHECKING:
    from rich.progress import TaskID

    from eval.ceiling import Ceiling
    from eval.predictions import Predictions
    from eval.summary import Summary

Splits = Literal["cv", "framework", "time"]
ALL = "distriage,majority,tfidf,minilm,knn"


def register(app: typer.Typer) -> None:
    """Add the command and its subcommand to the application."""
    from bot import cli_fetch_study1

    group = typer.Typer(invoke_without_command=True, help=eval_command.__doc__)
    group.callback()(eval_command)
    cli_fetch_study1.register(group)
    app.add_typer(group, name="eval")


def eval_command(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Option(help="Labelled records (.jsonl, .jsonl.gz), held out; may be repeated."),
    ] = None,
    cross_validate: Annotated[
        bool,
        typer.Option(
            "--cross-validate", help="The given records join the training data; scored out of fold."
        ),
    ] = False,
    skip_known: Annotated[
        bool,
        typer.Option(
            "--skip-known", help="Leave out given records that were learned from, and say how many."
        ),
    ] = False,
    systems: Annotated[
        str, typer.Option(help="Some of distriage,majority,tfidf,minilm,knn,llm,distriage+llm.")
    ] = "distriage",
    splits: Annotated[
        Splits, typer.Option(help="Folds; leave one framework out; or each repository's latest cases.")
    ] = "cv",
    folds: Annotated[int, typer.Option(min=2, max=50, help="Folds of the cross-validation.")] = 10,
    report: Annotated[
        Path | None, typer.Option(help="Write the HTML report and all predictions here.")
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None, typer.Option(help="Two files of predictions: paired bootstrap and McNemar.")
    ] = None,
    gate: Annotated[
        Path | None, typer.Option(help="A stored baseline; exit code 1 when the run is significantly worse.")
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Store this run as a baseline for --gate.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print the README's table (all simple systems).")
    ] = False,
    study1: Annotated[
        Path | None, typer.Option(help="Folder with study 1's reliability sheets, for the human ceiling.")
    ] = None,
) -> None:
    """Score distriage: the shipped benchmark cross-validated, or your own labelled records held out."""
    if context.invoked_subcommand:
        return
    from eval.summary import summarise

    if compare:
        _compare(*compare)
        return
    if (cross_validate or skip_known) and not data:
        raise UserError(
            "--cross-validate and --skip-known are about --data.", "Give --data FILE.jsonl as well."
        )
    if data and not cross_validate and splits != "cv":
        raise UserError(
            "Records held out as a whole have no splits.", "Add --cross-validate, or leave --splits away."
        )
    names = (ALL if table and systems == "distriage" else systems).split(",")
    runs = _run(names, data or [], cross_validate, skip_known, splits, folds)
    summaries = [summarise(predictions) for predictions in runs.values()]
    ceiling = _ceiling(study1)
    _print(summaries, ceiling)
    lead = next(iter(runs.values()))
    if report:
        _write_report(report, runs, summaries, ceiling)
    if save_baseline:
        from eval.gate import baseline_of, write_baseline

        write_baseline(baseline_of(lead), save_baseline)
    if gate:
        _gate(gate, lead)


def _run(
    names: list[str], data: list[Path], cross_validate: bool, skip_known: bool, splits: Splits, folds: int
) -> dict[str, Predictions]:
    from bot.eval_systems import open_systems
    from bot.settings import load_settings
    from eval.session import Session

    settings = load_settings()
    with _ticking() as tick:
        session = Session(settings.model_dir, settings.data_dir / "cache", tick)
        if data and not cross_validate:
            plan = session.held_out(data, skip_known=skip_known)
        else:
            plan = session.cross_validated(data, splits, folds)
        with open_systems(names, session, plan, settings) as systems:
            runs = session.run(plan, systems)
    if plan.skipped:
        print(f"Left out, since they were learned from: {plan.skipped} records.", file=sys.stderr)
    return runs


@contextmanager
def _ticking() -> Iterator[Callable[[str, int], None]]:
    """A line of progress on standard error, one for each kind of step."""
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def tick(what: str, count: int) -> None:
            kind = what.partition(",")[0]
            if kind not in tasks:
                tasks[kind] = progress.add_task(kind, total=None)
            progress.advance(tasks[kind], count)

        yield tick


def _print(summaries: list[Summary], ceiling: Ceiling) -> None:
    from eval.table import markdown, note_of

    sys.stdout.write(markdown(summaries, ceiling, note=note_of(summaries[0], ceiling)))


def _ceiling(study1: Path | None) -> Ceiling:
    from eval.ceiling import ceiling_of, shipped_ceiling

    return ceiling_of(study1) if study1 else shipped_ceiling()


def _write_report(
    folder: Path, runs: dict[str, Predictions], summaries: list[Summary], ceiling: Ceiling
) -> None:
    from eval.report import report_html

    from eval.predictions import file_names, write_predictions

    names = file_names(runs)
    for name, predictions in runs.items():
        write_predictions(predictions, folder / names[name])
    page = folder / "report.html"
    page.write_text(report_html(list(runs.values()), summaries, ceiling), "utf-8")
    print(f"\nReport: {page}; predictions: {', '.join(names.values())}", file=sys.stderr)


def _compare(first: Path, second: Path) -> None:
    from eval.compare import compare
    from eval.predictions import read_predictions
    from eval.table import differences

    a, b = read_predictions(first), read_predictions(second)
    sys.stdout.write(differences(compare(a, b), f"{a.system} ({first})", f"{b.system} ({second})"))


def _gate(file: Path, run: Predictions) -> None:
    from eval.gate import judge_run, read_baseline, regressions
    from eval.table import differences

    changes = judge_run(read_baseline(file), run)
    worse = regressions(changes)
    print(f"\n{differences(changes, 'baseline', 'this run')}", file=sys.stderr)
    if worse:
        what = ", ".join(f"{one.axis} {one.metric} {one.delta:+.3f}" for one in worse)
        print(f"bot: the run is significantly worse than {file}: {what}.", file=sys.stderr)
        raise typer.Exit(1)
