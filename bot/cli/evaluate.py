"""`bot eval`: how often distriage is right, beside simple systems and people; rerun by anyone."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bot.cli.common import examples
from knowledge.errors import UserError, reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from bot.settings import Settings
    from eval.findings import FailureAxis
    from eval.history import Ranked
    from eval.protocol import Predictions, System
    from eval.session import Plan, Session
    from llm.calls import LlmAccess


# `bot eval duplicates` and `bot eval labels`: what a tracker's export says of how well its history is used.


def register_trackers(group: typer.Typer) -> None:
    """Add the commands to the group `eval`."""
    epilog = examples("bot eval duplicates tracker.jsonl.gz --out ranked.jsonl")
    group.command(name="duplicates", epilog=epilog)(duplicates_command)
    epilog = examples("bot eval labels tracker.jsonl.gz --out labels.jsonl")
    group.command(name="labels", epilog=epilog)(labels_command)


def duplicates_command(
    file: Annotated[
        Path, typer.Argument(help="An issue tracker's export (.jsonl or .jsonl.gz) with duplicates marked.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help='Write {"id", "near": [IDs, best first], "p", "shown"} for each query to this file.'
        ),
    ] = None,
    report: Annotated[
        Path | None, typer.Option(help="Add the results to the HTML report in this folder.")
    ] = None,
    llm: Annotated[
        bool, typer.Option("--llm", help="Also have the configured LLM read both texts of doubtful pairs.")
    ] = False,
) -> None:
    """Measure how often the known duplicate is among the closest earlier reports, compared with plain TF-IDF.

    Each record is {"id", "opened", "title", "body", "duplicates": [IDs]}. Only earlier reports are candidates.
    """
    from bot.cli.evaluate_output import origin, ticking
    from bot.settings import load_settings
    from embeddings.encoder import OnnxEncoder
    from eval.history import duplicates_part, rank, rank_plainly, shown_line, table
    from eval.origin import keep_part
    from eval.session import CachingEncoder
    from knowledge.history.tracker import read_tracker
    from knowledge.history.verifier import load_weights
    from knowledge.signatures import SignatureTable

    tracker = read_tracker(file)
    if not tracker.queries():
        raise UserError(
            f"{file.name} doesn't mark any report as a duplicate of an earlier one.",
            'Set "duplicates" in at least one record to the IDs of other records in the file.',
        )
    weights = load_weights()
    settings = load_settings()
    access = _comparing(settings) if llm else None
    cache = settings.cache
    target = _target(out)
    with ticking() as tick:
        plain = rank_plainly(tracker, tick)
        encoder = CachingEncoder(OnnxEncoder(settings.model_dir, cache / "model"), cache / "history")
        try:
            ranked = rank(tracker, encoder, weights, tick)
        finally:
            encoder.save()
        if access:
            from eval.llm_history import read_both

            read = read_both(ranked, tracker.posts, access, SignatureTable(), tick)
    if target:
        lines = (json.dumps(_line(one), ensure_ascii=False) for one in ranked if one.right)
        target.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    systems = {"plain TF-IDF": plain, "distriage": ranked}
    sys.stdout.write(table(tracker, systems))
    sys.stdout.write(f"\n{shown_line(ranked)}")
    if access:
        sys.stdout.write(f"\nWith the LLM: {read.took(access)} {shown_line(read.ranked)}")
    if report:
        keep_part(duplicates_part(tracker, systems, origin(file.name)), "duplicates", report)


def _comparing(settings: Settings) -> LlmAccess:
    from bot.runtime.llm_setup import llm_access

    access = llm_access(settings, writer=True)
    if access is None:
        raise UserError(
            "No LLM is configured.",
            "Set DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL, or drop --llm.",
        )
    return access


def _line(one: Ranked) -> dict[str, object]:
    """A query of `--out`; `p` is P(same failure) of each of `near`."""
    p = [round(near.p, 4) for near in one.found]
    return {"id": one.id, "near": one.near, "p": p, "shown": one.shown}


def labels_command(
    file: Annotated[
        Path,
        typer.Argument(
            help="An issue tracker's export (.jsonl or .jsonl.gz) with the labels people applied."
        ),
    ],
    learn_from: Annotated[
        Path | None, typer.Option(help="Learn from this export instead, and test on every issue in FILE.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help='Write {"id", "labels": [likeliest first]} for each tested issue to this file.'),
    ] = None,
) -> None:
    """Measure how often labels learned from older issues match the ones people applied to newer issues.

    Each record is {"id", "opened", "title", "body", "labels": ["bug"]}. With IDs like "owner/repo#7", each
    repository is scored separately. Unlabeled issues are skipped.
    """
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from embeddings.encoder import OnnxEncoder
    from eval.labels import by_label, examples_of, figures, forward, is_dated, read_labelled, table
    from eval.session import CachingEncoder

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
        raise UserError(f"Can't write {out}: {reason(error)}.", "Choose another file.") from error


# `bot eval fetch-study1`: the study's sheets and issue texts, on a machine with internet.


def register_fetch_study1(group: typer.Typer) -> None:
    """Add the command to the group `eval`."""
    epilog = examples("bot eval fetch-study1 --out study1/")
    group.command(name="fetch-study1", epilog=epilog)(fetch_study1_command)


def fetch_study1_command(
    out: Annotated[Path, typer.Option(help="Write the sheets and issue texts to this folder.")],
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
        str | None, typer.Option(help="Fetch the package from this GitHub repository instead.")
    ] = None,
    api: Annotated[
        str, typer.Option(help="Base URL of the REST API; for GitHub Enterprise, https://HOST/api/v3.")
    ] = "https://api.github.com",
    sheets_only: Annotated[bool, typer.Option("--sheets-only", help="Skip the issue texts.")] = False,
) -> None:
    """Fetch study 1's replication package at a pinned commit, and the issues it labels. Resumes an interrupted run."""
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
        f"{done.records} records in {out / RECORDS}; {done.gone} issues no longer exist, {done.elsewhere} posts are on "
        f"Stack Overflow and were skipped.\nScore them with: bot eval --data {out / RECORDS} --cross-validate"
    )


# `bot eval --injected`: logs of injected faults, read by distriage as it ships.


def run_injected(path: Path, report: Path | None) -> None:
    """Print the figures; into the folder `report` go a part of its page and what was read wrongly.

    Of the latter only the half that is developed on.

    Raises DataError when `path` holds no injected faults.
    """
    from bot.cli.evaluate_output import origin, ticking
    from bot.settings import load_settings
    from eval.injected import failures, injected_part, read_injected, score_injected, table
    from eval.origin import keep_part
    from knowledge.engine import load_knowledge, triage

    records = read_injected(path)
    settings = load_settings()
    knowledge = load_knowledge(settings.model_dir, settings.cache)
    with ticking() as tick:
        rows = score_injected(
            records,
            lambda one: triage(one, knowledge),
            progress=lambda n: tick("reading injected faults", n),
        )
    sys.stdout.write(table(rows))
    if report:
        keep_part(injected_part(rows, origin(f"{path.name}; {len(records)} logs")), "injected", report)
        (report / "injected.jsonl").write_text(failures(rows), "utf-8")


Splits = Literal["cv", "framework", "time"]
ALL = "distriage,majority,tfidf,minilm,knn"


def register(app: typer.Typer) -> None:
    """Add the command and its subcommand to the application."""

    epilog = examples(
        "bot eval --report out/",
        "bot eval --data labeled.jsonl",
        "bot eval --gate baseline.json",
        "bot eval --compare old.json new.json --report out/",
    )
    group = typer.Typer(invoke_without_command=True, help=eval_command.__doc__, epilog=epilog)
    group.callback()(eval_command)
    register_fetch_study1(group)
    register_trackers(group)
    app.add_typer(group, name="eval")


def eval_command(
    context: typer.Context,
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Labeled records (.jsonl or .jsonl.gz) to score as held-out data. Can be repeated."
        ),
    ] = None,
    cross_validate: Annotated[
        bool,
        typer.Option(
            "--cross-validate",
            help="Add the --data records to the training data and score each one out of fold.",
        ),
    ] = False,
    skip_known: Annotated[
        bool,
        typer.Option(
            "--skip-known",
            help="Skip --data records that are already in the training data, and print how many.",
        ),
    ] = False,
    systems: Annotated[
        str,
        typer.Option(
            help="Systems to score, comma-separated: distriage, majority, tfidf, minilm, knn, llm, distriage+llm."
        ),
    ] = "distriage",
    splits: Annotated[
        Splits,
        typer.Option(
            help="How to split the data: into folds, by leaving out one framework, or by holding out "
            "each repository's latest cases."
        ),
    ] = "cv",
    folds: Annotated[int, typer.Option(min=2, max=50, help="Number of cross-validation folds.")] = 5,
    report: Annotated[
        Path | None,
        typer.Option(help="Write the HTML report and all predictions (or the comparison) to this folder."),
    ] = None,
    compare: Annotated[
        tuple[Path, Path] | None,
        typer.Option(help="Compare two prediction files with a paired bootstrap and McNemar's test."),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            help="Compare with this saved baseline; exit with code 1 if this run is significantly worse."
        ),
    ] = None,
    save_baseline: Annotated[
        Path | None, typer.Option(help="Save this run to this file as a baseline for --gate.")
    ] = None,
    table: Annotated[
        bool, typer.Option("--table", help="Print the table in the README (all simple systems).")
    ] = False,
    fit_fusion: Annotated[
        bool,
        typer.Option(
            "--fit-fusion",
            help="Fit the LLM's weights, decide whether to use the LLM, and save both.",
        ),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Ignore the reply cache, so cost and latency cover every call.")
    ] = False,
    writer: Annotated[
        bool,
        typer.Option(
            "--writer", help="Also measure the LLM's writer and verifier (up to three more calls per report)."
        ),
    ] = False,
    llm_cassette: Annotated[
        Path | None,
        typer.Option(
            help="Replay recorded LLM answers from this file (.jsonl or .jsonl.gz) instead of calling a server."
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record",
            help="Ask the configured LLM for answers missing from the cassette, and add them to it.",
        ),
    ] = False,
    injected: Annotated[
        Path | None,
        typer.Option(
            help="Score logs of injected faults: a .jsonl file, or a folder of them (see `make inject-logs`)."
        ),
    ] = None,
    study1: Annotated[
        Path | None,
        typer.Option(help="Folder with study 1's reliability sheets, used for the human ceiling."),
    ] = None,
) -> None:
    """Measure accuracy: cross-validate the bundled benchmark, or score your own labeled records."""
    if context.invoked_subcommand:
        return
    from bot.cli import evaluate_output as eval_output
    from eval.session import checked, checked_llm

    if injected:
        run_injected(injected, report)
        return
    if compare:
        eval_output.compare_files(*compare, report)
        return
    if (cross_validate or skip_known) and not data:
        raise UserError("--cross-validate and --skip-known need --data.", "Add --data FILE.jsonl.")
    if data and not cross_validate and splits != "cv":
        raise UserError(
            "--splits needs --cross-validate when --data is given.", "Add --cross-validate, or drop --splits."
        )
    stored = eval_output.prepare(report, gate)
    names = checked((ALL if table and systems == "distriage" else systems).split(","))
    held_out = bool(data) and not cross_validate
    checked_llm(
        names,
        fit_fusion=fit_fusion,
        fresh=fresh,
        held_out=held_out,
        cassette=llm_cassette,
        record=record,
        writer=writer,
    )
    make = _plan(data or [], held_out, skip_known, splits, folds)
    runs, systems_run, found = _run(
        names,
        make,
        _access(llm_cassette, record=record, writer=writer),
        fit_fusion=fit_fusion,
        fresh=fresh,
    )
    eval_output.show(runs, study1, report, found, [file.name for file in data or []])
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


def _access(cassette: Path | None, *, record: bool, writer: bool) -> LlmAccess | None:
    """How the LLM is asked: as configured, from a cassette, or as configured and into the cassette."""
    from bot.runtime.llm_setup import llm_access
    from bot.settings import load_settings
    from eval.llm_cassette import recording, replaying

    settings = load_settings()
    if cassette is not None and not record:
        return replaying(cassette, settings.llm_price_input, settings.llm_price_output)
    configured = llm_access(settings, writer=writer)
    return configured if cassette is None or configured is None else recording(cassette, configured)


def _run(
    names: list[str],
    make: Callable[[Session], Plan],
    access: LlmAccess | None,
    *,
    fit_fusion: bool,
    fresh: bool,
) -> tuple[dict[str, Predictions], list[System], FailureAxis | None]:
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from eval.findings import reports_of, score_failures
    from eval.session import Session, finished, open_systems
    from knowledge.engine import load_knowledge

    settings = load_settings()
    with ticking() as tick:
        session = Session(settings.model_dir, settings.cache, tick)
        plan = make(session)
        with open_systems(names, session, plan, access, fit_fusion=fit_fusion, fresh=fresh) as systems:
            runs = finished(session.run(plan, systems), systems)
        found = None
        if labelled := reports_of(plan.benchmark.scored):
            knowledge = load_knowledge(settings.model_dir, settings.cache, encoder=session.encoder)
            found = score_failures(labelled, knowledge, lambda n: tick("matching known failures", n))
    if plan.skipped:
        print(f"Skipped {plan.skipped} records that are already in the training data.", file=sys.stderr)
    return runs, systems, found
