"""`bot triage`: reports in, triages out."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from bot.cli.common import examples, waiting
from knowledge.errors import InputError, UserError, reason

if TYPE_CHECKING:
    from bot.cli.operate import Look
    from bot.reports.files import Input
    from knowledge.engine import Knowledge
    from knowledge.report import Report
    from knowledge.triage import Triage
    from llm.values import LlmConfig


# Triages for the command line: by the engine, and by the LLM beside it where one is configured and asked.

Triager = Callable[["Report", str | None], "Triage"]
"""A report, and what its diagnostics script printed (None: nothing), to its triage."""


@contextmanager
def open_triager(knowledge: Knowledge, top: int) -> Iterator[Triager]:
    """What triages; one connection to the LLM serves all reports. Says so when a configured LLM is not asked."""
    from bot.runtime.llm_setup import llm_config, measurement, open_second_reader, why_silent
    from bot.settings import load_settings, unknown_settings
    from knowledge.engine import triage, triage_with_result

    settings = load_settings()
    for said in unknown_settings():
        print(f"warning: {said}", file=sys.stderr)
    config = llm_config(settings)
    silent = why_silent(config, measurement(settings, config)) if config else None
    if silent:
        print(silent, file=sys.stderr)
    with open_second_reader(settings) as reader:

        def one(report: Report, result: str | None = None) -> Triage:
            if reader is not None:
                return reader.triage(report, knowledge, top, result=result).triage
            if result is not None:
                return triage_with_result(report, result, knowledge, top=top)
            return triage(report, knowledge, top=top)

        yield one


def configured_llm() -> LlmConfig:
    """The LLM of the settings; UserError when there is none."""
    from bot.runtime.llm_setup import llm_config
    from bot.settings import load_settings

    config = llm_config(load_settings())
    if config is None:
        raise UserError("No LLM is configured.", "Set DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL.")
    return config


def print_requests(reports: Iterable[Report], knowledge: Knowledge, config: LlmConfig) -> None:
    """Print the requests of all reports as one JSON list; nothing is sent."""
    from llm.second_reader import dry_run

    asked = [request for report in reports for request in dry_run(report, knowledge, config)]
    print(json.dumps(asked, indent=2, ensure_ascii=False))


Format = Literal["terminal", "markdown", "json"]
Length = Literal["brief", "screen", "long"]
NO_SCRIPT = "# No probe would add anything to this report.\n"


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    epilog = examples(
        "bot triage report.md",
        "bot triage --brief train.log",
        "bot triage logs/",
        "bot triage --together rank0.log rank1.log",
        "bot triage --out-script diagnose.sh report.md",
        "bot triage --result result.txt report.md",
        "kubectl logs job/train | bot triage -",
        "bot triage --format json batch.jsonl",
    )
    app.command(name="triage", epilog=epilog)(triage_command)


@dataclass(frozen=True, slots=True)
class _Form:
    """How triages are written, and where to."""

    format: Format | None
    length: Length
    out: Path | None
    script: Path | None


def triage_command(
    reports: Annotated[
        list[str],
        typer.Argument(
            help="Files (.md, .txt, .log, a GitHub issue as .json, or a .jsonl batch), a folder of logs from a single "
            "job, or - for standard input."
        ),
    ],
    format: Annotated[
        Format | None, typer.Option(help="Output format. Batch output is always JSON, one result per line.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, max=16, help="Maximum number of fixes and cases to show.")] = 5,
    out_script: Annotated[
        Path | None, typer.Option(help="Write the diagnostics script to this file.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the output to this file instead of printing it.")
    ] = None,
    result: Annotated[
        Path | None,
        typer.Option(
            help="Read the diagnostics script's output from this file and update the cause probabilities."
        ),
    ] = None,
    brief: Annotated[
        bool,
        typer.Option("--brief", help="Print only the finding, the cause, and the fix (at most 12 lines)."),
    ] = False,
    long: Annotated[
        bool, typer.Option("--long", help="Print everything: classification, similar issues, and all fixes.")
    ] = False,
    together: Annotated[
        bool,
        typer.Option(
            "--together", help="Treat the files or folder as the logs of one job, one file per rank or node."
        ),
    ] = False,
    repository: Annotated[
        str | None,
        typer.Option(
            help="Search this repository's history (OWNER/REPO) for the same failure. Run `bot backfill` first."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print what would be sent to the configured LLM, without sending it."),
    ] = False,
) -> None:
    """Triage failure reports: what failed, why, how similar cases were fixed, and what to run next."""
    from bot.reports.files import is_batch

    if brief and long:
        raise UserError("--brief and --long can't be used together.", "Drop one of them.")
    if brief and format in ("markdown", "json"):
        raise UserError("--brief works only with --format terminal.", f"Drop --brief or --format {format}.")
    _check_written({"--out": out, "--out-script": out_script}, [*reports, *filter(None, [result])])
    batches = [] if together else [path for path in reports if is_batch(path)]
    if batches:
        only_json = {
            f"--format {format}": format in ("terminal", "markdown"),
            "--out-script": out_script,
            "--result": result,
            "--brief": brief,
        }
        _check_batch(len(reports), [option for option, given in only_json.items() if given])
    if out_script and len(reports) > 1 and not together:
        raise UserError("--out-script works with only one report.", "Triage the reports one at a time.")
    if dry_run:
        llm = configured_llm()
        asked = _records(batches[0]) if batches else (one.report for one in _inputs(reports, together))
        print_requests(asked, _knowledge(), llm)
        return
    if batches:
        _batch(batches[0], top, out, repository)
        return
    form = _Form(format, "brief" if brief else "long" if long else "screen", out, out_script)
    inputs = _inputs(reports, together)
    told = _read(result) if result else None
    if out is not None:
        _empty(out)
    knowledge = _knowledge()
    with open_triager(knowledge, top) as triage_of, _history(repository, knowledge) as look:
        for given in inputs:
            with waiting(f"reading {given.report.id}"):
                triage = look(given.report, triage_of(given.report, told))
            if out_script:
                from knowledge.readback import whole_script

                _write(out_script, whole_script(triage, told) or NO_SCRIPT)
            _show(triage, knowledge, form, given)


def _check_written(written: Mapping[str, Path | None], read: Sequence[str | Path]) -> None:
    """UserError for an output that is also an input, which would be emptied before it is read."""
    for option, file in written.items():
        if (
            file is not None
            and file.exists()
            and any(Path(one).exists() and file.samefile(one) for one in read)
        ):
            raise UserError(f"{option} {file} is also an input.", "Write to another file.")


def _check_batch(inputs: int, clashing: Sequence[str]) -> None:
    """UserError for what a batch can't be combined with: other inputs, options that ask for anything but JSON."""
    if inputs > 1:
        raise UserError("A .jsonl batch must be the only input.", "Run `bot triage` on it separately.")
    if clashing:
        raise UserError(
            f"{clashing[0]} can't be used with a .jsonl batch, because batch output is always JSON.",
            f"Drop {clashing[0]}.",
        )


def _inputs(paths: list[str], together: bool) -> list[Input]:
    """One for each path; all in one with `together`, and all logs of a folder."""
    from bot.reports.files import Input, read_input, read_together

    if together:
        return [read_together(paths)]
    return [
        read_together([path]) if Path(path).is_dir() else Input(read_input(path), (path,)) for path in paths
    ]


def _empty(out: Path) -> None:
    """Make the file that the output goes to before anything is worked out; say so when it held something."""
    old = out.exists() and out.stat().st_size > 0
    _write(out, "")
    if old:
        print(f"{out} will be overwritten.", file=sys.stderr)


def _knowledge() -> Knowledge:
    from bot.settings import load_settings
    from knowledge.engine import load_knowledge

    settings = load_settings()
    cache = settings.cache
    if not (cache / "index" / "corpus.txt").exists():
        print("First run: converting the model and indexing the corpus (under a minute) ...", file=sys.stderr)
    with waiting("loading"):
        return load_knowledge(settings.model_dir, cache)


def _read(path: Path) -> str:
    from bot.reports.files import printable

    try:
        return path.read_text("utf-8", "replace")
    except OSError as error:
        raise InputError(f"Can't read {printable(str(path))}: {reason(error)}.", "Check the path.") from error


def _show(triage: Triage, knowledge: Knowledge, form: _Form, given: Input) -> None:
    if form.format == "json":
        text = triage.model_dump_json() + "\n"
    elif form.format == "markdown":
        from bot.render.markdown import markdown_of

        text = markdown_of(triage, knowledge.taxonomy, script=form.length == "long")
    else:
        _print(triage, knowledge, form, given)
        return
    if form.out is None:
        sys.stdout.write(text)
    else:
        with form.out.open("a", encoding="utf-8") as file:
            file.write(text)


def _print(triage: Triage, knowledge: Knowledge, form: _Form, given: Input) -> None:
    from rich.console import Console

    from bot.render.decision import Source
    from bot.render.terminal import print_brief, print_triage

    command = "bot triage " + shlex.join(
        ["--together", *given.paths] if len(given.paths) > 1 else given.paths
    )
    source = Source(command, str(form.script) if form.script else None, given.place)
    with form.out.open("a", encoding="utf-8") if form.out else nullcontext(None) as file:
        console = Console(file=file, highlight=False, width=100 if file else None)
        if form.length == "brief":
            print_brief(triage, knowledge.taxonomy, console, source)
        else:
            print_triage(triage, knowledge.taxonomy, console, source, long=form.length == "long")


def _history(repository: str | None, knowledge: Knowledge) -> AbstractContextManager[Look]:
    """What looks into the repository's history; without one, what leaves a triage as it is."""
    if repository is None:
        return nullcontext(lambda report, triage: triage)
    from bot.cli.operate import open_history
    from bot.settings import load_settings

    return open_history(load_settings(), repository, knowledge)


def _batch(path: str, top: int, out: Path | None, repository: str | None) -> None:
    from rich.console import Console
    from rich.progress import track

    from bot.reports.files import BadRecord, count_lines, printable, read_batch

    records = read_batch(path)
    first = next(records, None)
    if first is None:
        raise InputError(f"{printable(path)} is empty.", 'Write one {"id", "title", "body"} object per line.')
    knowledge = _knowledge()
    if out is not None:
        _empty(out)
    bad = 0
    with (
        open_triager(knowledge, top) as triage_of,
        _history(repository, knowledge) as look,
        out.open("w", encoding="utf-8") if out else nullcontext(sys.stdout) as sink,
    ):
        console = Console(stderr=True)
        for record in track(chain([first], records), "triaging", total=count_lines(path), console=console):
            if isinstance(record, BadRecord):
                bad += 1
                sink.write(json.dumps({"id": record.id, "error": record.error}) + "\n")
            else:
                sink.write(look(record, triage_of(record, None)).model_dump_json() + "\n")
    if bad:
        raise UserError(
            f"{printable(path)} has {bad} invalid {'line' if bad == 1 else 'lines'}.",
            'The output has an {"id", "error"} object for each.',
        )


def _records(path: str) -> Iterator[Report]:
    from bot.reports.files import BadRecord, read_batch

    return (record for record in read_batch(path) if not isinstance(record, BadRecord))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UserError(f"Can't write {path}: {reason(error)}.", "Choose another file.") from error
