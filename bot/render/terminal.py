"""A triage in the terminal: the decision first, one screen; everything with `--long`."""

from __future__ import annotations

from itertools import accumulate

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bot.render.answer import SAME_FAILURE, ending, reasons, similar, support, written
from bot.render.decision import NOW, THEN, Place, Source, brief, decision, first_sentence
from bot.render.wording import (
    ANSWER,
    DIAGNOSTICS,
    FINDINGS_TOLD,
    NARROW_DOWN,
    NO_FINDING,
    ONLY_NEAREST,
    SIMILAR,
    TRIED,
    TRIED_ALREADY,
    by_support,
    classified,
    is_guess,
    named,
    opening,
    percent,
    shown_line,
    supported,
    telling,
    usual_fixes,
    without_bold,
)
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AnswerSentence, Finding, QuotedLine, Triage

_ROLE = {
    "root": ("root", "bold red"),
    "consequence": ("follows", "yellow"),
    "context": ("context", "cyan"),
    "diagnosis": ("author", "green"),
}
BRIEF_LINES = 3
BRIEF_FIXES = 2
BRIEF_QUOTES = 2
QUOTE_CHARS = 170
"""Of a quoted line: two lines at 100 columns."""
ANSWER_CHARS = 1_200
SNIPPET_LINES = 6
"""Of a written answer, on one screen."""
SCREEN = 45
"""Lines of the default output at 100 columns, its closing hints included."""


def print_triage(
    triage: Triage,
    taxonomy: Taxonomy,
    console: Console,
    source: Source | None = None,
    *,
    long: bool = False,
) -> None:
    """Print a triage; text of the report is never read as markup."""
    source = source or Source()
    console.rule(Text(triage.id, style="dim"), align="left", style="dim")
    head: list[RenderableType] = [*_answer(triage, source, long=long), *_findings(triage, source, long=long)]
    if not triage.findings:
        head.append(Text(classified(triage, taxonomy), style="bold"))
    if not triage.findings and written(triage) is None:
        head += _do(triage, source)
    for part in head:
        console.print(part)
    last = _section("Next", _next(triage, source, long=long))
    # From the one that is missed least: what does not fit on the screen is left to --long.
    droppable = (NARROW_DOWN, TRIED, "Second reader", "Evidence", DIAGNOSTICS)
    parts = [
        (SAME_FAILURE, _earlier(triage)),
        (DIAGNOSTICS, _measured(triage)),
        ("Evidence", _evidence(triage, source.place, long=long)),
        (TRIED, _fixes(triage, source, long=long)),
        (NARROW_DOWN, _missing(triage)),
        ("Second reader", _second(triage, long=long)),
        ("Classification", _axes(triage, taxonomy) if long else None),
        (SIMILAR, _cases(triage) if long else None),
    ]
    sections = {title: found for title, part in parts if (found := _section(title, part))}
    if not long:
        room = SCREEN - 1 - sum(_height(console, part) for part in [*head, *([last] if last else [])])
        for title in droppable:
            if sum(_height(console, part) for part in sections.values()) > room:
                sections.pop(title, None)
    for part in [*sections.values(), *([last] if last else [])]:
        console.print(part)


BRIEF = 12
"""Lines of the shortest form."""


def print_brief(triage: Triage, taxonomy: Taxonomy, console: Console, source: Source | None = None) -> None:
    """Print the finding, why, and what to do, in 12 lines at most."""
    source = source or Source()
    rows = brief(triage, taxonomy, source)
    label = max(len(name) for name, _ in rows) + 2
    wrapped = [(name, list(Text(text).wrap(console, max(20, console.width - label)))) for name, text in rows]
    console.print(Text(triage.id, style="dim"), no_wrap=True, overflow="ellipsis", crop=True)
    for name, lines in _fitting(wrapped, BRIEF - 2):
        for number, line in enumerate(lines):
            said = Text(f"{'' if number else name:<{label}}", style="bold green" if name == NOW else "cyan")
            console.print(Text.assemble(said, line), no_wrap=True, overflow="ellipsis")
    last = f"bot failures show {triage.findings[0].id}" if triage.findings else source.command
    console.print(Text(f"{'more':<{label}}{last}", style="dim"), no_wrap=True, overflow="ellipsis", crop=True)


def _fitting(rows: list[tuple[str, list[Text]]], room: int) -> list[tuple[str, list[Text]]]:
    """The rows within so many lines: what to do now comes first, a second step whole or not at all."""
    kept: dict[str, list[Text]] = {}
    for name, most in (("found", 2), (NOW, 6), ("why", 3), (THEN, room)):
        lines = dict(rows).get(name, [])
        allowed = min(most, room)
        if len(lines) > allowed and name == THEN:
            continue
        if len(lines) > allowed and allowed:
            lines = [*lines[: allowed - 1], Text(lines[allowed - 1].plain.rstrip()[:-2] + " …")]
        kept[name] = lines[:allowed]
        room -= len(kept[name])
    return [(name, kept[name]) for name, _ in rows if kept.get(name)]


def _section(title: str, part: RenderableType | None) -> RenderableType | None:
    if part is None:
        return None
    return Group(Text(f"\n{title}", style="bold underline"), Padding(part, (0, 0, 0, 2)))


def _height(console: Console, part: RenderableType) -> int:
    return len(console.render_lines(part, pad=False))


def _do(triage: Triage, source: Source) -> list[RenderableType]:
    """The decision, one line each."""
    steps = decision(triage, source)
    width = max((len(label) for label, _ in steps), default=0) + 2
    table = Table.grid(padding=0)
    for label, text in steps:
        style = "bold green" if label == NOW else "cyan"
        table.add_row(Text(f"{label:<{width}}", style=style), Text(text))
    return [table] if table.row_count else []


def _answer(triage: Triage, source: Source, *, long: bool) -> list[RenderableType]:
    answer = written(triage)
    if answer is None:
        return []
    body: list[RenderableType] = []
    # In one screen the decision comes first, and is not said again.
    said = set() if long else {text for _, text in decision(triage, source)}
    sentences = [one for one in answer.sentences if one.text not in said]
    snippets = [*answer.commands, *answer.code]
    whole = len(sentences) + len(snippets)
    if not long:
        sentences = _within(sentences, ANSWER_CHARS)
        snippets = [one for one in snippets if one.text.count("\n") < SNIPPET_LINES][:2]
    for sentence in sentences:
        rests = support(sentence)
        told = sentence.text.replace("`", "")
        body.append(
            Text.assemble((f"{sentence.role:<9}", "cyan"), told, (f"  {rests}" if rests else "", "dim"))
        )
    for snippet in snippets:
        body.append(
            Text.assemble((f"{'run' if snippet.language == 'sh' else 'code':<9}", "cyan"), snippet.purpose)
        )
        body.append(Padding(Text(snippet.text, style="bold"), (0, 0, 0, 9)))
    if len(sentences) + len(snippets) < whole:
        body.append(Text("… the rest with --long", style="dim"))
    title = Text(f"{ANSWER} {answer.model}", style="bold green")
    do = [] if long else _do(triage, source)
    return [title, *do, Padding(Group(*body), (0, 0, 0, 2)), Text("")]


def _within(sentences: list[AnswerSentence], room: int) -> list[AnswerSentence]:
    """The first sentences that have so many characters together."""
    lengths = accumulate(len(one.text) for one in sentences)
    return [one for one, length in zip(sentences, lengths, strict=True) if length <= room]


def _findings(triage: Triage, source: Source, *, long: bool) -> list[RenderableType]:
    if not triage.findings:
        return [Text(NO_FINDING, style="dim")] if triage.type.answer == ["fault"] else []
    if written(triage) and not long:
        # The answer says what they mean.
        return [*map(_title, triage.findings), Text("")]
    first, *others = triage.findings[: None if long else FINDINGS_TOLD]
    do = [] if written(triage) else _do(triage, source)
    found: list[RenderableType] = [Text(ONLY_NEAREST, style="yellow")] if is_guess(first) else []
    found += [_title(first), *(Padding(part, (0, 0, 0, 2)) for part in do)]
    quotes = [_quote(line, source.place, long=long) for line in first.lines[: None if long else BRIEF_QUOTES]]
    body: list[RenderableType] = [*quotes, Text(without_bold(first.answer))]
    body += [Text(TRIED_ALREADY, style="yellow")] if first.tried else []
    body += _whole(first) if long else []
    body.append(Text(f"more: bot failures show {first.id}", style="dim"))
    found.append(Padding(Group(*body), (0, 0, 0, 2)))
    for other in others:
        told = other.answer if long else first_sentence(other.answer)
        more = Text(f"more: bot failures show {other.id}", style="dim")
        found += [_title(other), Padding(Group(Text(without_bold(told)), more), (0, 0, 0, 2))]
    return [*found, Text("")]


def _whole(finding: Finding) -> list[RenderableType]:
    """Every cause, check and fix."""
    table = Table.grid(padding=(0, 2))
    rows = (
        ("why", finding.why),
        ("check", finding.check),
        ("fix", finding.remedy),
        ("not this when", [finding.not_this_when] if finding.not_this_when else []),
        ("sources", finding.sources),
    )
    for name, texts in rows:
        for number, text in enumerate(texts):
            table.add_row(Text(name if not number else "", style="cyan"), Text(without_bold(text)))
    return [table]


def _title(finding: Finding) -> Text:
    return Text(f"{opening(finding)}: {finding.title}", "bold green" if finding.sure else "bold yellow")


def _quote(line: QuotedLine, place: Place, *, long: bool) -> Text:
    where = "title" if line.in_title else place(line.line)
    rank = "" if line.rank is None else f" rank {line.rank}"
    text = line.text if long else shown_line(line, QUOTE_CHARS)
    return Text.assemble((f"{where}{rank}  ", "dim"), text)


def _axes(triage: Triage, taxonomy: Taxonomy) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    names = ("type", "stage", "symptom", "cause", "fix") if triage.type.top == "fault" else ("type",)
    for finding in triage.findings:
        table.add_row(
            Text("failure"),
            Text("said" if finding.sure else "open", style="dim"),
            Text(f"{finding.id} {percent(finding.p)}"),
        )
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


def _evidence(triage: Triage, place: Place, *, long: bool) -> RenderableType | None:
    evidence, parts = triage.evidence, list[RenderableType]()
    shown = [q for f in triage.findings[:1] for q in f.lines[: None if long else BRIEF_QUOTES]]
    told = {(q.line, q.in_title) for q in shown}
    quotes = [q for q in evidence.lines if long or (q.line, q.in_title) not in told]
    lines = Table.grid(padding=(0, 1))
    for quote in quotes if long else telling(quotes, BRIEF_LINES):
        word, style = _ROLE[quote.role]
        lines.add_row(Text(word, style=style), _quote(quote, place, long=long))
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


def _fixes(triage: Triage, source: Source, *, long: bool) -> RenderableType | None:
    """Fix patterns of the study: where no known failure says more, or everything is wanted."""
    if not triage.advice.fixes or (not long and triage.findings):
        return None
    if not long:
        said = {text for _, text in decision(triage, source)}
        fixes = [fix for fix in usual_fixes(triage, BRIEF_FIXES) if fix.text not in said]
        return Group(*(Text(f"- {fix.text}") for fix in fixes)) if fixes else None
    parts = [
        Text.assemble(f"- {fix.text}", (f"  {supported(fix.support)}; {fix.p:.0%}", "dim"))
        for fix in by_support(triage.advice.fixes)
    ]
    return Group(*parts) if parts else None


def _cases(triage: Triage) -> RenderableType | None:
    parts = list[RenderableType]()
    for case in similar(triage, triage.findings):
        parts += [Text(case.title), Text(f"   {case.url}", style="blue")]
        parts.append(Padding(Text(f"ended: {case.resolution}"), (0, 0, 0, 3)))
    return Group(*parts) if parts else None


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


def _next(triage: Triage, source: Source, *, long: bool) -> RenderableType | None:
    rows = []
    if source.script:
        rows.append(
            f"Run {source.script} where the job fails, the way the job is run: sh {source.script} > result.txt; "
            f"then: {source.command} --result result.txt"
        )
    elif triage.script and not any("--out-script" in text for _, text in decision(triage, source)):
        rows.append(f"{source.command} --out-script diagnose.sh  writes a script that tells the causes apart")
    if not long:
        rows.append("--long  shows classification, similar issues and all fixes; --brief  only what to do")
    return Group(*(Text(row, style="dim") for row in rows)) if rows else None
