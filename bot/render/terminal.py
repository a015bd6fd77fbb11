"""A triage in the terminal: the decision first, one screen; everything with `--long`."""

from __future__ import annotations

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.render.answer import support, written
from bot.render.earlier import SAME_FAILURE, ending, reasons
from bot.render.wording import (
    ANSWER,
    DIAGNOSTICS,
    NARROW_DOWN,
    NO_FINDING,
    SIMILAR,
    TRIED,
    classified,
    how_sure,
    labels_line,
    named,
    opening,
    source_mark,
    supported,
    with_cases,
)
from knowledge.taxonomy import Taxonomy
from knowledge.triage import Finding, QuotedLine, Triage

_ROLE = {"root": ("root", "bold red"), "consequence": ("follows", "yellow"), "context": ("context", "cyan")}
BRIEF_LINES = 3
BRIEF_FIXES = 2


def print_triage(
    triage: Triage,
    taxonomy: Taxonomy,
    console: Console,
    script_file: str | None = None,
    *,
    long: bool = False,
) -> None:
    """Print a triage; text of the report is never read as markup."""
    console.rule(Text(triage.id, style="dim"), align="left", style="dim")
    for finding in [*_answer(triage), *_findings(triage)]:
        console.print(finding)
    console.print(Text(classified(triage, taxonomy), style="" if triage.findings else "bold"))
    sections = (
        (SAME_FAILURE, _earlier(triage)),
        (DIAGNOSTICS, _measured(triage)),
        ("Evidence", _evidence(triage, long=long)),
        (TRIED, _fixes(triage, long=long)),
        (NARROW_DOWN, _missing(triage)),
        ("Second reader", _second(triage, long=long)),
        ("Classification", _axes(triage, taxonomy) if long else None),
        (SIMILAR, _cases(triage) if long else None),
        ("Next", _next(triage, script_file, long=long)),
    )
    for title, part in sections:
        if part is not None:
            console.print(Text(f"\n{title}", style="bold underline"))
            console.print(Padding(part, (0, 0, 0, 2)))


def _answer(triage: Triage) -> list[RenderableType]:
    answer = written(triage)
    if answer is None:
        return []
    body: list[RenderableType] = []
    for sentence in answer.sentences:
        rests = support(sentence)
        told = sentence.text.replace("`", "")
        body.append(
            Text.assemble((f"{sentence.role:<9}", "cyan"), told, (f"  {rests}" if rests else "", "dim"))
        )
    for snippet in (*answer.commands, *answer.code):
        body.append(
            Text.assemble((f"{'run' if snippet.language == 'sh' else 'code':<9}", "cyan"), snippet.purpose)
        )
        body.append(Padding(Text(snippet.text, style="bold"), (0, 0, 0, 9)))
    title = Text(f"{ANSWER} {answer.model}", style="bold green")
    return [title, Padding(Group(*body), (0, 0, 0, 2)), Text("")]


def _findings(triage: Triage) -> list[RenderableType]:
    if not triage.findings:
        return [Text(NO_FINDING, style="dim")] if triage.type.answer == ["fault"] else []
    first, *others = triage.findings
    return [_finding(first, whole=True), *(_finding(other, whole=False) for other in others), Text("")]


def _finding(finding: Finding, *, whole: bool) -> RenderableType:
    title = Text.assemble(
        (f"{opening(finding)}: {finding.title}", "bold green" if finding.sure else "bold yellow"),
        (f"  {how_sure(finding.p)}", "dim"),
    )
    body: list[RenderableType] = [_quote(line) for line in finding.lines] if whole else []
    body.append(Text(_plain(finding.answer)))
    if whole:
        body += [Text.assemble(("check  ", "cyan"), _plain(text)) for text in finding.check[:1]]
        body += [Text.assemble(("fix    ", "cyan"), _plain(text)) for text in finding.remedy[:2]]
        body.append(Text(f"more: bot failures show {finding.id}", style="dim"))
    return Group(title, Padding(Group(*body), (0, 0, 0, 2)))


def _plain(text: str) -> str:
    return text.replace("**", "")


def _quote(line: QuotedLine) -> Text:
    where = "title" if line.in_title else f"line {line.line}"
    rank = "" if line.rank is None else f" rank {line.rank}"
    return Text.assemble((f"{where}{rank}  ", "dim"), line.text)


def _axes(triage: Triage, taxonomy: Taxonomy) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    names = ("type", "stage", "symptom", "cause", "fix") if triage.type.top == "fault" else ("type",)
    for name in names:
        axis = getattr(triage, name)
        ranking = ", ".join(f"{named(taxonomy, name, r.id)} {r.p:.0%}" for r in axis.ranking[:3])
        table.add_row(Text(name), Text("claimed" if axis.answer else "open", style="dim"), Text(ranking))
    if triage.type.top == "fault":
        d = triage.distributed
        said = "open" if d.answer is None else "claimed"
        table.add_row(Text("distributed"), Text(said, style="dim"), Text(f"{d.p:.0%}"))
    if triage.advice.topic is not None:
        ranking = ", ".join(named(taxonomy, "topic", r.id) for r in triage.advice.topic.ranking[:3])
        table.add_row(Text("topic"), Text(""), Text(ranking))
    return table


def _evidence(triage: Triage, *, long: bool) -> RenderableType | None:
    evidence, parts = triage.evidence, list[RenderableType]()
    told = {(q.line, q.in_title) for f in triage.findings[:1] for q in f.lines}
    quotes = [q for q in evidence.lines if long or (q.line, q.in_title) not in told]
    lines = Table.grid(padding=(0, 1))
    for quote in quotes if long else quotes[:BRIEF_LINES]:
        word, style = _ROLE[quote.role]
        lines.add_row(Text(word, style=style), _quote(quote))
    if quotes:
        parts.append(lines)
    if long:
        parts += [Text(f"≈ {s.meaning}", style="italic") for s in evidence.signatures[:3]]
    facts = [f"{name} {version}" for name, version in evidence.versions.items()]
    facts += [f"launcher {evidence.launcher}"] if evidence.launcher else []
    facts += [f"{evidence.world_size} processes"] if evidence.world_size else []
    facts += [f"ranks in the log: {', '.join(map(str, evidence.ranks[:8]))}"] if evidence.ranks else []
    if facts:
        parts.append(Text(" · ".join(facts), style="dim"))
    parts += [Text(f"! {c.text} ({c.source})", style="yellow") for c in evidence.conflicts]
    if evidence.redactions:
        redacted = ", ".join(f"{n} {k}" for k, n in evidence.redactions.items())
        parts.append(Text(f"redacted: {redacted}", style="dim"))
    parts += [Text(f"note: {note}", style="yellow") for note in evidence.notes]
    return Group(*parts) if parts else None


def _second(triage: Triage, *, long: bool) -> RenderableType | None:
    """What a second reader did; in brief only that it could not be asked."""
    second = triage.second_reading
    if second is None or not (long or second.fallback_reason):
        return None
    said = f"{second.model} was used" if second.used else f"local answer only: {second.fallback_reason}"
    why = f". {second.why}" if second.why else ""
    return Text(f"{said}; {second.tokens_in + second.tokens_out} tokens{why}")


def _measured(triage: Triage) -> RenderableType | None:
    return Group(*(Text(f"- {sentence}") for sentence in triage.measured)) if triage.measured else None


def _fixes(triage: Triage, *, long: bool) -> RenderableType | None:
    """Fix patterns of the study: where no known failure says more, or everything is wanted."""
    if not triage.advice.fixes or (not long and triage.findings):
        return None
    fixes = triage.advice.fixes
    if not long:
        fixes = with_cases(triage.advice)[:BRIEF_FIXES]
    parts = [
        Text.assemble(f"- {fix.text}", (f"  {fix.p:.0%}; {supported(fix.support)}", "dim")) for fix in fixes
    ]
    return Group(*parts) if parts else None


def _cases(triage: Triage) -> RenderableType | None:
    if not triage.neighbours:
        return None
    parts = list[RenderableType]()
    for case in triage.neighbours:
        mark = f"  [{labels_line(case.labels)}; {source_mark(case.label_source)}]"
        parts += [Text.assemble(case.title, (mark, "dim")), Text(f"   {case.url}", style="blue")]
        if case.resolution:
            parts.append(Padding(Text(f"resolved: {case.resolution}"), (0, 0, 0, 3)))
    return Group(*parts)


def _earlier(triage: Triage) -> RenderableType | None:
    """Earlier reports of the same failure in the repository's own history."""
    parts = list[RenderableType]()
    for one in triage.same_failure:
        told = f"{reasons(one)}. {ending(one)}".replace("`", "")
        parts += [
            Text.assemble((one.id, "bold"), f"  {one.title}"),
            Padding(Text(told), (0, 0, 0, 3)),
            *([Text(f"   {one.url}", style="blue")] if one.url else []),
        ]
    return Group(*parts) if parts else None


def _missing(triage: Triage) -> RenderableType | None:
    return Group(*(Text(f"- {item.ask}") for item in triage.missing[:2])) if triage.missing else None


def _next(triage: Triage, script_file: str | None, *, long: bool) -> RenderableType | None:
    rows = []
    if script_file:
        rows.append(
            f"Run {script_file} where the job fails, the way the job is run: sh {script_file} > result.txt; "
            "then add --result result.txt"
        )
    elif triage.script:
        rows.append("--out-script diagnose.sh  writes a read-only script that tells the causes apart")
    if not long:
        rows.append("--long  shows classification, similar issues and all fixes")
    return Group(*(Text(row, style="dim") for row in rows)) if rows else None
