"""What `bot diagnose` prints: a table for people, or JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from knowledge.diagnostics import ProbeResult, Update


STOPPED = ("timed_out", "crashed", "not_run")


@dataclass(frozen=True, slots=True)
class Answered:
    """What one machine printed, or why it printed nothing."""

    machine: str
    text: str
    error: str = ""


def names_of(answers: Sequence[Answered]) -> dict[str, str]:
    """How a block is named in results (a hash of the machine, or a rank) to the machine's name as it was given."""
    from knowledge.diagnostics import parse_result

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
            console.print(f"[red]{one.machine} did not answer:[/] ", end="")
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
    from knowledge.diagnostics import by_id

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
    from knowledge.diagnostics import by_id

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
