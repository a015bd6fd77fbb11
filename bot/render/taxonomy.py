"""The taxonomy in the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from knowledge.cases import Case
from knowledge.taxonomy import Entry, FixEntry, StageEntry, SymptomEntry, Taxonomy
from knowledge.taxonomy.model import CauseEntry, Counted
from knowledge.taxonomy.study1 import ImportedStudy

_PROVENANCE = {
    "P": "stated in study 1's paper",
    "S": "computed from study 1's sheet",
    "Q": "quoted from a paper's page",
    "2nd": "second-hand, unverified",
    "ours": "decided in this project",
}


def print_overview(taxonomy: Taxonomy, console: Console) -> None:
    """Every id with its name and count, axis by axis."""
    for axis in ("type", "stage", "symptom", "cause", "fix", "topic"):
        table = Table(title=axis, title_justify="left", title_style="bold", box=None, show_header=False)
        for entry in taxonomy.on_axis(axis):
            count = str(entry.count) if isinstance(entry, Counted) and entry.count else ""
            table.add_row(
                Text(entry.id, style="cyan"), Text(entry.name), Text(count, style="dim", justify="right")
            )
        console.print(table)
    for slot in taxonomy.open_slots:
        console.print(Text(f"\n{slot.id}: {slot.source}", style="bold"))
        console.print(Padding(Text(slot.note), (0, 0, 0, 2)))
    console.print(Text("\nCounts are of study 1. More of one id: bot taxonomy ID", style="dim"))


def print_entry(entry: Entry, taxonomy: Taxonomy, cases: Sequence[Case], console: Console) -> None:
    """What an id means, its counts, its fix patterns, and a case of the corpus that has it."""
    console.print(
        Text.assemble((f"{entry.id}  ", "bold cyan"), (entry.name, "bold"), (f"  ({entry.axis})", "dim"))
    )
    console.print(Padding(Text(entry.definition), (0, 0, 0, 2)))
    console.print(Padding(Text(_PROVENANCE[entry.provenance], style="dim"), (0, 0, 0, 2)))
    if isinstance(entry, Counted) and entry.count:
        said = f"{entry.count} in study 1"
        if entry.distributed:
            said += f", {entry.distributed} of them specific to distributed training"
        console.print(Padding(Text(said), (0, 0, 0, 2)))
    if isinstance(entry, FixEntry):
        console.print(Padding(Text(f"indicates the cause: {entry.cause}"), (0, 0, 0, 2)))
    if isinstance(entry, CauseEntry):
        console.print(Padding(Text(f"inferred from the fixes: {', '.join(entry.fixes)}"), (0, 0, 0, 2)))
    if isinstance(entry, SymptomEntry | StageEntry):
        _print_fixes(entry.id, taxonomy, console)
    _print_example(entry, cases, console)


def _print_fixes(scope: str, taxonomy: Taxonomy, console: Console) -> None:
    counts, of = taxonomy.fix_counts(scope), taxonomy.faults_by_scope.get(scope, 0)
    if not counts:
        return
    names = {fix.id: fix.name for fix in taxonomy.fixes}
    table = Table(title=f"what resolved them (of {of})", title_justify="left", box=None, show_header=False)
    for fix, count in sorted(counts.items(), key=lambda item: -item[1]):
        table.add_row(str(count), fix, Text(names[fix], style="dim"))
    console.print(Padding(table, (0, 0, 0, 2)))


def _print_example(entry: Entry, cases: Sequence[Case], console: Console) -> None:
    for case in sorted(cases, key=lambda case: not case.label_source.startswith("human")):
        value = getattr(case.labels, entry.axis, None)
        if entry.id == value or (isinstance(value, list) and value[:1] == [entry.id]):
            console.print(Padding(Text(f"for example: {case.title}\n{case.url}", style="dim"), (0, 0, 0, 2)))
            return


def print_counts(study: ImportedStudy, console: Console) -> None:
    """What an imported sheet holds: faults by symptom, and how-tos."""
    by_symptom: dict[str, list[int]] = {}
    for fault in study.faults:
        row = by_symptom.setdefault(fault.symptom, [0, 0])
        row[0] += 1
        row[1] += fault.distributed
    table = Table("symptom", "faults", "distributed", box=None)
    for symptom in sorted(by_symptom, key=lambda id: [(len(part), part) for part in id.split(".")]):
        table.add_row(symptom, *map(str, by_symptom[symptom]))
    distributed = sum(fault.distributed for fault in study.faults)
    table.add_row("all", str(len(study.faults)), str(distributed), style="bold")
    console.print(table)
    console.print(
        f"{len(study.howtos)} how-to questions; {len(study.unlisted_fixes)} rare fix spellings read as other."
    )
