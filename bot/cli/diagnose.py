"""`bot diagnose`: the probes of the diagnostics script on this machine and on others over ssh, as a table or JSON."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from bot.cli.common import examples
from knowledge.errors import InputError, UserError

if TYPE_CHECKING:
    from rich.console import Console

    from knowledge.diagnostics.result import ProbeResult
    from knowledge.diagnostics.update import Update


# What `bot diagnose` prints: a table for people, or JSON.

STOPPED = ("timed_out", "crashed", "not_run")


@dataclass(frozen=True, slots=True)
class Answered:
    """What one machine printed, or why it printed nothing."""

    machine: str
    text: str
    error: str = ""


def names_of(answers: Sequence[Answered]) -> dict[str, str]:
    """How a block is named in results (a hash of the machine, or a rank) to the machine's name as it was given."""
    from knowledge.diagnostics.result import parse_result

    return {result.who: one.machine for one in answers if one.text for result in parse_result(one.text)}


def as_document(results: Sequence[ProbeResult], moved: Update, answers: Sequence[Answered]) -> str:
    """Results, findings and causes as one JSON text."""
    document = {
        "results": [result.model_dump(by_alias=True) for result in results],
        "causes": dict(sorted(moved.posterior.items(), key=lambda item: -item[1])),
        "findings": [
            {"probe": one.probe, "outcome": one.outcome, "text": one.text, "who": list(one.who)}
            for one in moved.findings
        ],
        "differences": [one.text for one in moved.differences],
        "contradictions": list(moved.contradictions),
        "notes": list(moved.notes),
        "machines": names_of(answers),
        "silent": {one.machine: one.error for one in answers if one.error},
    }
    return json.dumps(document, indent=2)


def show(
    results: Sequence[ProbeResult], moved: Update, answers: Sequence[Answered], console: Console
) -> None:
    """Findings first, then every probe in a table, then the causes that they speak for."""
    from rich.table import Table

    from knowledge.diagnostics.update import in_words
    from knowledge.taxonomy import load_taxonomy

    names = names_of(answers)
    causes = {entry.id: entry.name for entry in load_taxonomy().on_axis("cause")}
    for one in answers:
        if one.error:
            console.print(f"[red]{one.machine} didn't answer:[/] ", end="")
            console.print(one.error, markup=False)
    if moved.findings:
        console.print("[bold]Found[/]")
        for finding in moved.findings:
            who = [names.get(one, one) for one in finding.who] if len(results) > 1 else []
            where = f" ({', '.join(who)})" if who else ""
            console.print(f"  [red]●[/] {finding.text}{where}")
    else:
        console.print("[green]The probes found nothing wrong.[/]")
    said = [in_words(text, causes) for text in moved.contradictions]
    for line in [*said, *(one.renamed(names).text for one in moved.differences)]:
        console.print("  [yellow]●[/] ", end="")
        console.print(line, markup=False)
    columns = [names.get(result.who, result.who) for result in results]
    table = Table("probe", *columns, title="Probes", title_justify="left")
    for row in rows(results):
        table.add_row(*row)
    console.print(table)
    for line in legend(results, moved):
        console.print(line, markup=False, highlight=False, style="dim")
    if moved.findings:
        console.print("[bold]Likely causes[/] (among distributed-training failures in general)")
        for cause, p in sorted(moved.posterior.items(), key=lambda item: -item[1])[:3]:
            console.print(f"  {p:4.0%}  {causes.get(cause, cause)} ({cause})")


def rows(results: Sequence[ProbeResult]) -> list[list[str]]:
    """A line for each probe that applied anywhere: its title and each machine's outcome."""
    from knowledge.diagnostics.probe import by_id

    lines = []
    for id, probe in by_id().items():
        outcomes = [answer.outcome if (answer := result.answer(id)) else "" for result in results]
        if all(outcome in ("", "not_applicable") for outcome in outcomes):
            continue
        marked = []
        for outcome in outcomes:
            known = probe.outcome(outcome)
            marked.append(f"[red]{outcome}[/]" if known and known.finding else outcome)
        lines.append([probe.title, *marked])
    return lines


def legend(results: Sequence[ProbeResult], moved: Update) -> list[str]:
    """How to read the table: its colours, what outcomes mean that are neither faults nor health, what did not apply."""
    from knowledge.diagnostics.probe import by_id

    lines = ["Red: something to look at. Other outcomes are observations, not faults."]
    meanings: list[str] = []
    for answer in (answer for result in results for answer in result.probes):
        probe = by_id().get(answer.id)
        known = probe.outcome(answer.outcome) if probe else None
        if known and known.inconclusive:
            meanings.append(f"{answer.outcome}: {known.says}")
    if any(answer.outcome in STOPPED for result in results for answer in result.probes):
        meanings.append(f"{', '.join(STOPPED)}: the probe timed out.")
    return [*lines, *(f"  {meaning}" for meaning in dict.fromkeys(meanings)), *moved.notes]


Progress = Callable[[str, int, int], None]
"""Called with (machine, probes done, probes in total)."""
PATIENCE_S = 90
SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=8", "-o", "ServerAliveInterval=10")
# Here as there the job's Python is found the way the script's own launcher does; the script comes over standard
# input.
FIND_PYTHON = (
    "for p in {pythons}; do \"$p\" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && "
    'exec "$p" -B - --events {arguments}; done; echo no Python 3.8 or newer found >&2; exit 3'
)
PYTHONS = ('"${PYTHON:-python3}"', "python3", "python")


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    epilog = examples(
        "bot diagnose",
        "bot diagnose --hosts node1,node2 --framework pytorch",
        "bot diagnose --python /opt/conda/bin/python --json",
    )
    app.command(name="diagnose", epilog=epilog)(diagnose_command)


def diagnose_command(
    hosts: Annotated[str, typer.Option(help="Other machines to probe over SSH, comma-separated.")] = "",
    framework: Annotated[
        str | None, typer.Option(help="Run only the probes that apply to this framework.")
    ] = None,
    checkpoint: Annotated[str, typer.Option(help="Inspect the key names in this checkpoint file.")] = "",
    loader: Annotated[
        str, typer.Option(help="MODULE:FUNCTION that returns a data loader; the probes count its batches.")
    ] = "",
    python: Annotated[
        str,
        typer.Option(
            help="Path to the job's Python interpreter, the same on every machine. Default: $PYTHON, then python3."
        ),
    ] = "",
    budget: Annotated[float, typer.Option(min=5, max=600, help="Time limit in seconds.")] = 60.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results and causes as JSON.")] = False,
) -> None:
    """Check this machine or cluster for problems: read-only, no root or report needed."""
    from rich.console import Console

    from knowledge.diagnostics.choose import fits
    from knowledge.diagnostics.compose import script_of
    from knowledge.diagnostics.probe import catalogue
    from knowledge.diagnostics.result import parse_result
    from knowledge.diagnostics.update import update

    others = machines(hosts)
    probes = [probe for probe in catalogue() if probe.scope != "between" and fits(probe, framework)]
    script = script_of(probes, hosts=others, budget_s=budget)
    arguments = [
        part
        for name, value in (("--checkpoint", checkpoint), ("--loader", loader))
        if value
        for part in (name, value)
    ]
    errors = Console(stderr=True)
    answers = ask_all(script, others, find_python(python, arguments), errors)
    texts = [answer.text for answer in answers if answer.text]
    if not texts:
        raise UserError("No machine answered.", "; ".join(f"{one.machine}: {one.error}" for one in answers))
    results = parse_result("\n".join(texts))
    moved = update({}, results)
    if as_json:
        sys.stdout.write(as_document(results, moved, answers) + "\n")
        return
    show(results, moved, answers, Console(highlight=False))


def machines(hosts: str) -> list[str]:
    """The names of --hosts. InputError for one that is not valid (ssh would take it for an option)."""
    names = [name.strip() for name in hosts.split(",") if name.strip()]
    for name in names:
        plain = name.replace("@", "").replace(".", "").replace("-", "").replace("_", "").replace(":", "")
        if name.startswith("-") or not plain.isalnum():
            raise InputError(
                f"{name!r} isn't a valid host name.", "Use host names or addresses, separated by commas."
            )
    return names


def find_python(python: str, arguments: Sequence[str]) -> str:
    """The sh command that runs the script from standard input with that Python, or with the first that is found."""
    pythons = [shlex.quote(python)] if python else PYTHONS
    return FIND_PYTHON.format(pythons=" ".join(pythons), arguments=shlex.join(arguments))


def ask_all(script: str, others: Sequence[str], command: str, console: Console) -> list[Answered]:
    """Run the script here and on the others at once by this sh command, with one progress line a machine."""
    from concurrent.futures import ThreadPoolExecutor

    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        lines = {name: bar.add_task(name, total=None) for name in ["this machine", *others]}

        def tell(machine: str, done: int, of: int) -> None:
            bar.update(lines[machine], completed=done, total=of)

        with ThreadPoolExecutor(max_workers=1 + len(others)) as pool:
            jobs = [pool.submit(ask, "this machine", ["sh", "-c", command], script, tell)]
            jobs += [
                pool.submit(ask, name, [*SSH, "--", name, f"sh -c {shlex.quote(command)}"], script, tell)
                for name in others
            ]
            return [job.result() for job in jobs]


def ask(machine: str, argv: Sequence[str], script: str, tell: Progress) -> Answered:
    """Feed the script to a command, pass its events on, and keep what it printed."""
    from concurrent.futures import ThreadPoolExecutor

    try:
        child = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    except OSError as error:
        return Answered(machine, "", f"{argv[0]}: {error.strerror}")
    assert child.stdin and child.stderr and child.stdout
    said: list[str] = []
    with ThreadPoolExecutor(max_workers=2) as pool:
        feeding = pool.submit(_feed, child, script)
        reading = pool.submit(child.stdout.read)
        for line in child.stderr:
            said = [*said[-3:], line.strip()]
            if (event := _event(line)) is not None:
                tell(machine, *event)
        try:
            code = child.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            child.kill()
            code = child.wait()
        feeding.result()
        text = reading.result()
    if "distriage-result" in text:
        return Answered(machine, text)
    last = next((line for line in reversed(said) if line and not line.startswith("{")), f"exit code {code}")
    return Answered(machine, "", last[:200])


def _feed(child: subprocess.Popen[str], script: str) -> None:
    assert child.stdin
    try:
        child.stdin.write(script)
        child.stdin.close()
    except BrokenPipeError:
        # ssh that could not connect closes its end first; its own message says why.
        return


def _event(line: str) -> tuple[int, int] | None:
    if not line.startswith('{"done"'):
        return None
    try:
        event = json.loads(line)
        return int(event["done"]), int(event["of"])
    except (ValueError, KeyError, TypeError):
        return None
