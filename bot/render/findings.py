"""A known failure in a GitHub comment: what it is, the line that tells, what to do; the rest folded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import re2

from bot.gate.markdown import IN_SUMMARY
from bot.gate.rules import source_link
from bot.render.wording import (
    TRIED_ALREADY,
    does_not_apply,
    is_guess,
    one_more,
    shown_line,
    to_run,
    with_sign,
    without_bold,
)
from knowledge.text.quote import code_block, code_span, prose
from knowledge.triage import AXES, Finding, QuotedLine, Triage

_NOT_IN_SUMMARY = re2.compile(f"[^{IN_SUMMARY}]")

# The folded sections of the GitHub comment.

BY_PROGRAM = (
    "This reply was generated automatically from the text of this issue and a catalog of known failures."
)
BY_COMPARISON = (
    "This reply was generated automatically by comparing the report with this repository's earlier issues."
)
FEEDBACK = (
    "Maintainers can correct the diagnosis (`/triage symptom=D.2.1 cause=network_environment`), rerun the bot "
    "(`/triage`), or turn it off for this repository (`/triage off`). The author can hide the reply with "
    "`/triage dismiss` and see how the bot reached its diagnosis with `/triage explain`."
)


def fold(summary: str, body: str) -> str:
    """A closed section. The blank lines end the HTML, so that what is inside is Markdown again."""
    return f"<details>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def explain_fold(triage: Triage) -> str:
    """What was asked for with `/triage explain`: the ranking of every axis and its answer set."""
    lines = []
    for name in AXES:
        axis = getattr(triage, name)
        ranking = ", ".join(f"{code_span(r.id)} {round(100 * r.p)}%" for r in axis.ranking[:5])
        entry = f"{name}: {ranking or '—'}"
        if axis.answer_set:
            entry += f"; answer set: {', '.join(code_span(id_) for id_ in axis.answer_set[:8])}"
        lines.append(f"- {entry}")
    lines += [f"- known failure {code_span(f.id)} {round(100 * f.p)}%" for f in triage.findings]
    lines += [f"- {code_span(s.id)}: {code_span(s.meaning)}" for s in triage.evidence.signatures[:8]]
    return fold("How the bot got there", "\n".join(lines))


def script_fold(link: str) -> str:
    """Where to get the diagnostics script, and how to give back what it prints."""
    return fold(
        "Diagnostics script",
        f"A read-only script made for this report: [diagnose.sh]({link}). Read it, run `sh diagnose.sh` the way the "
        "job is run, then comment `/triage result` with its output below.",
    )


def feedback_fold(
    by_model: str | None = None, findings: Sequence[Finding] = (), *, from_history: bool = False
) -> str:
    """What wrote this (`by_model`: the LLM's name), and how to correct, dismiss or switch it off.

    `from_history`: it says nothing but that the repository's earlier issues hold the same failure.
    """
    if by_model is None:
        by_program = BY_COMPARISON if from_history else BY_PROGRAM
        if reader := next((found.read_by for found in findings if found.read_by), ""):
            by_program += (
                f" A language model ({code_span(reader, 60)}) read both and found that the failure fits."
            )
        return fold("Automated reply. Wrong or unhelpful?", f"{by_program} {FEEDBACK}")
    who = (
        f"This reply was drafted by a language model ({code_span(by_model, 60)}). A program checked it against the "
        "report and the catalog of known failures, and a second call tried to refute it."
    )
    return fold("Automated reply by a language model. Wrong or unhelpful?", f"{who} {FEEDBACK}")


QUOTE_CHARS = 240


def finding_parts(findings: Sequence[Finding]) -> list[str]:
    """The visible part: the first finding with its line and one check, the others in a sentence each."""
    if not findings:
        return []
    first, *others = findings
    parts = [f"{_opening(first)}: **{prose(first.title, 120)}**"]
    if first.lines:
        parts.append(quoted(first.lines))
    parts.append(prose(first.answer, 520) + (f" {TRIED_ALREADY}" if first.tried else ""))
    if first.check:
        parts.append(prose(to_run(first.check[0]), 320))
    parts += [
        f"{'This fits, too' if other.sure else 'Or'}: **{prose(other.title, 120)}**. {prose(other.answer, 520)}"
        for other in others
    ]
    return parts


def _opening(finding: Finding) -> str:
    if finding.sure:
        return "This looks like a known failure"
    if is_guess(finding):
        return "No known failure clearly matches. The nearest is"
    return "This is probably a known failure"


def finding_folds(findings: Sequence[Finding]) -> list[str]:
    """All causes, checks and fixes of each finding with its sources, closed."""
    return [
        fold(
            f"Causes, fixes, sources: {_plain(f.title)}" if len(findings) > 1 else "Causes, fixes, sources",
            "\n\n".join(_whole(f)),
        )
        for f in findings
    ]


def finding_links(findings: Iterable[Finding]) -> list[str]:
    """The addresses that the folds link to."""
    return [link for f in findings for source in f.sources if (link := source_link(source))]


def quoted(lines: Iterable[QuotedLine]) -> str:
    """Lines of the report as a code block, each with its place and rank."""
    return code_block("\n".join(_quoted(line) for line in lines))


def _quoted(line: QuotedLine) -> str:
    place = "title" if line.in_title else f"line {line.line}"
    rank = f", rank {line.rank}" if line.rank is not None else ""
    said = ", the author's diagnosis" if line.role == "diagnosis" else ""
    return f"{place}{rank}{said}: {shown_line(line, QUOTE_CHARS)}"


def _whole(finding: Finding) -> list[str]:
    head = "Likely causes, most common first, each" if finding.why[1:] else "Likely cause,"
    # Of an entry cut down to the report, nothing may be left of either.
    parts = [f"{head} with its telltale sign:\n\n{_causes(finding.why)}"] if finding.why else []
    if finding.check[1:]:
        parts.append(f"More checks:\n\n{_bullets(map(one_more, finding.check[1:]))}")
    if finding.remedy:
        parts.append(f"Fixes:\n\n{_bullets(finding.remedy)}")
    if finding.fixed_in:
        parts.append(f"Fixed in: {prose(finding.fixed_in, 300)}")
    if finding.not_this_when:
        parts.append(prose(does_not_apply(finding.not_this_when), 440))
    links = [linked(source) for source in finding.sources[:5]]
    parts.append(f"Catalog entry: {code_span(finding.id)}. Sources: {', '.join(links)}")
    return parts


def linked(source: str) -> str:
    """A source as a link, or as code where it is no address."""
    link = source_link(source)
    name = code_span(source.removeprefix("https://").removeprefix("github.com/"), 90)
    return f"[{name}]({link})" if link else name


def _plain(title: str) -> str:
    """A title with nothing but what a summary may hold."""
    return str(_NOT_IN_SUMMARY.sub("", title))


def _causes(causes: Iterable[str]) -> str:
    told = ((prose(cause, 400), sign) for cause, sign in map(with_sign, causes))
    return "\n".join(
        f"{n}. **{cause}** {prose(sign, 400)}" if sign else f"{n}. {cause}"
        for n, (cause, sign) in enumerate(told, 1)
    )


def _bullets(items: Iterable[str]) -> str:
    return "\n".join(f"- {prose(without_bold(item), 400)}" for item in items)
