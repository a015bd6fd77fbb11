"""A triage in the terminal."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.render.sayings import headline, labels_line, source_mark, supported, verdict
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Triage

_ROLE = {
    "root": ("first cause", "bold red"),
    "consequence": ("follows", "yellow"),
    "context": ("account", "cyan"),
}


def print_triage(
    triage: Triage, taxonomy: Taxonomy, console: Console, script_file: str | None = None
) -> None:
    """Print a triage; text of the report is never read as markup."""
    console.print()
    console.rule(Text(triage.id, style="dim"), align="left", style="dim")
    console.print(Text(headline(triage, taxonomy), style="bold"))
    for title, part in (
        ("Judgement", _axes(triage, taxonomy)),
        ("Second reader", _second(triage)),
        ("Evidence", _evidence(triage)),
        ("Measured on the reporter's machines", _measured(triage)),
        ("What resolved such cases", _fixes(triage)),
        ("Similar cases", _cases(triage)),
        ("To say more, please add", _missing(triage)),
        ("Diagnostics", _script(triage, script_file)),
    ):
        if part is not None:
            console.print(Text(f"\n{title}", style="bold underline"))
            console.print(Padding(part, (0, 0, 0, 2)))


def _axes(triage: Triage, taxonomy: Taxonomy) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    names = ("type", "stage", "symptom", "cause") if triage.type.top == "fault" else ("type",)
    for name in names:
        claimed, others = verdict(getattr(triage, name), taxonomy, name)
        style = "dim" if claimed == "cannot tell" else "green"
        table.add_row(
            Text(name), Text(claimed, style=style), Text(f"else {others}" if others else "", style="dim")
        )
    if triage.type.top == "fault":
        d = triage.distributed
        said = (
            "cannot tell"
            if d.answer is None
            else "yes"
            if d.answer
            else "no, it would fail on one device, too"
        )
        table.add_row(
            Text("distributed"), Text(said), Text(f"{d.p:.0%} specific to distributed training", style="dim")
        )
    if triage.advice.topic is not None:
        claimed, others = verdict(triage.advice.topic, taxonomy, "topic")
        table.add_row(Text("topic"), Text(claimed), Text(f"else {others}" if others else "", style="dim"))
    return table


def _evidence(triage: Triage) -> RenderableType | None:
    evidence, parts = triage.evidence, list[RenderableType]()
    lines = Table.grid(padding=(0, 1))
    for quote in evidence.lines:
        word, style = _ROLE[quote.role]
        where = "title" if quote.in_title else f"line {quote.line}"
        rank = "" if quote.rank is None else f"rank {quote.rank}"
        lines.add_row(
            Text(where, style="dim"), Text(rank, style="dim"), Text(word, style=style), Text(quote.text[:200])
        )
    if evidence.lines:
        parts.append(lines)
    parts += [Text(f"≈ {s.meaning}", style="italic") for s in evidence.signatures[:3]]
    facts = [f"{name} {version}" for name, version in evidence.versions.items()]
    facts += [f"launcher {evidence.launcher}"] if evidence.launcher else []
    facts += [f"{evidence.world_size} processes"] if evidence.world_size else []
    facts += [f"ranks that speak: {', '.join(map(str, evidence.ranks[:8]))}"] if evidence.ranks else []
    if facts:
        parts.append(Text(" · ".join(facts), style="dim"))
    parts += [Text(f"! {c.text} ({c.source})", style="yellow") for c in evidence.conflicts]
    if evidence.redactions:
        parts.append(
            Text(f"redacted: {', '.join(f'{n} {k}' for k, n in evidence.redactions.items())}", style="dim")
        )
    parts += [Text(f"note: {note}", style="yellow") for note in evidence.notes]
    return Group(*parts) if parts else None


def _second(triage: Triage) -> RenderableType | None:
    second = triage.second_reading
    if second is None:
        return None
    said = (
        f"{second.model} was heard" if second.used else f"the local answer stands: {second.fallback_reason}"
    )
    return Text(
        f"{said}; {second.tokens_in + second.tokens_out} tokens" + (f". {second.why}" if second.why else "")
    )


def _measured(triage: Triage) -> RenderableType | None:
    return Group(*(Text(f"- {sentence}") for sentence in triage.measured)) if triage.measured else None


def _fixes(triage: Triage) -> RenderableType | None:
    if not triage.advice.fixes:
        return None
    parts = list[RenderableType]()
    for number, fix in enumerate(triage.advice.fixes, start=1):
        parts.append(
            Text.assemble(
                (f"{number}. {fix.name}", "bold"),
                (f"  {fix.p:.0%}; {supported(fix.support)}", "dim"),
            )
        )
        parts.append(Padding(Text(fix.text), (0, 0, 0, 3)))
    return Group(*parts)


def _cases(triage: Triage) -> RenderableType | None:
    if not triage.neighbours:
        return None
    parts = list[RenderableType]()
    for case in triage.neighbours:
        parts.append(
            Text.assemble(
                case.title, (f"  [{labels_line(case.labels)}; {source_mark(case.label_source)}]", "dim")
            )
        )
        parts.append(Text(f"   {case.url}", style="blue"))
        if case.resolution:
            parts.append(Padding(Text(f"resolved: {case.resolution}"), (0, 0, 0, 3)))
    return Group(*parts)


def _missing(triage: Triage) -> RenderableType | None:
    return Group(*(Text(f"- {item.ask}") for item in triage.missing)) if triage.missing else None


def _script(triage: Triage, script_file: str | None) -> RenderableType | None:
    if not triage.script:
        return None
    if script_file:
        run = f"sh {script_file} > result.txt"
        return Text(
            f"Written to {script_file}. Run it where the job fails, the way the job is run ({run}), then add "
            "--result result.txt"
        )
    return Text("A read-only script that tells the remaining causes apart: add --out-script diagnose.sh")
