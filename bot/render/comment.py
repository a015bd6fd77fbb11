"""The GitHub comment: what is wrong, why, what to do, in a few lines; everything else folded.

Whatever is not written here goes through knowledge/text/quote.py; the gate then checks the whole.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

from bot.gate.rules import case_link, source_link
from bot.render.answer import (
    VISIBLE_CHARS,
    WHOLE_CHARS,
    answer_parts,
    earlier_links,
    earlier_parts,
    similar,
    support_list,
    written,
)
from bot.render.findings import (
    explain_fold,
    feedback_fold,
    finding_folds,
    finding_links,
    finding_parts,
    fold,
    quoted,
    script_fold,
)
from bot.render.wording import (
    DIAGNOSTICS,
    NARROW_DOWN,
    OWN_DEFECT,
    SIMILAR,
    TRIED,
    by_support,
    how_sure,
    supported,
    telling,
    with_cases,
)
from knowledge.text.quote import code_span, fenced, prose
from knowledge.triage import (
    RESOLUTION_CHARS,
    Axis,
    AxisName,
    EarlierReport,
    Finding,
    MissingItem,
    Neighbour,
    QuotedLine,
    Triage,
    VersionConflict,
    WrittenAnswer,
)

# What the GitHub comment is made from, and what comes of it before the gate.

Level = Literal["findings", "claims", "always"]
"""What is worth a comment: known failures; or also what the judge claims; or its best guess on every fault."""


@dataclass(frozen=True, slots=True)
class View:
    """What the comment shows: which sections, from which probabilities on."""

    triage: Triage
    name: Callable[[AxisName, str], str]
    what: Literal["finding", "ask", "withdrawn"] = "finding"
    level: Level = "findings"
    sections: Collection[str] = ("evidence", "fixes", "cases", "missing", "script")
    thresholds: dict[str, float] = field(default_factory=dict)
    corrected: dict[AxisName, tuple[str, ...]] = field(default_factory=dict)
    written: bool = False
    """Whether the answer that an LLM wrote goes first."""
    arrived: bool = False
    """Of a withdrawn one: it asked for something, and that has come."""
    explain: bool = False
    script_link: str | None = None
    """Where the whole diagnostics script is to be had."""

    @property
    def findings(self) -> list[Finding]:
        """The known failures to show: those that are sure, else the likeliest where a best guess is wanted."""
        sure = [f for f in self.triage.findings if f.sure]
        guesses = [f for f in self.triage.findings if f.p >= GUESSED] if self.level == "always" else []
        return sure or guesses[:2]

    @property
    def conflicts(self) -> list[VersionConflict]:
        """Version conflicts that explain a line of the report."""
        found = self.triage.evidence.conflicts
        return found if self.level == "always" else [c for c in found if c.explains_line is not None]

    @property
    def earlier(self) -> list[EarlierReport]:
        """Earlier reports of the same failure to show."""
        return self.triage.same_failure if "cases" in self.sections else []

    def claimed(self, axis: AxisName) -> list[tuple[str, float]]:
        """The (id, probability) an axis claims here, most probable first."""
        value: Axis = getattr(self.triage, axis)
        least = self.thresholds.get(axis, 0.0)
        return [(r.id, r.p) for r in value.ranking if r.id in value.answer and r.p >= least]

    def told(self, axis: AxisName) -> list[tuple[str, float]]:
        """What of it is worth a sentence: not that it is something else, nor that the framework is at fault."""
        return [
            (id_, p) for id_, p in self.claimed(axis) if id_.rpartition(".")[2] not in ("other", OWN_DEFECT)
        ]

    def claim(self, axis: AxisName, id_: str, p: float) -> str:
        """An id's name in bold, with how probable it is."""
        return f"**{prose(self.name(axis, id_))}** ({how_sure(p)})"


@dataclass(frozen=True, slots=True)
class Draft:
    """A comment before the gate and the addresses it may link to."""

    body: str
    links: frozenset[str]


# What the judge claims of a report, for repositories that want more than known failures.

EVIDENCE_LINES = 3
GUESSED = 0.04
"""How probable a known failure has to be for a comment where nobody asked."""
MAX_FIXES = 2


def classified_parts(view: View, *, after_findings: bool) -> list[str]:
    """Symptom and cause as claimed, the lines they rest on, and fixes that resolved such reports."""
    parts = [*_corrected(view), *_headline(view)]
    if not after_findings:
        parts += _evidence(view)
    return [*parts, *_fixes(view), *_checks(view)]


def _corrected(view: View) -> list[str]:
    given = [prose(view.name(axis, id_)) for axis, ids in view.corrected.items() for id_ in ids]
    return [f"Set by a maintainer: {', '.join(given)}."] if given else []


def _headline(view: View) -> list[str]:
    axes: tuple[AxisName, ...] = ("symptom", "stage")
    found = next(((axis, *view.told(axis)[0]) for axis in axes if view.told(axis)), None)
    sentences = []
    if found and not getattr(view.triage, found[0]).by_people:
        axis, id_, p = found
        sure = view.claimed("type") or view.triage.type.by_people
        said = "I'd file this under" if sure else "If this is a bug report, I'd file it under"
        sentences.append(f"{said} {view.claim(axis, id_, p)}.")
    causes = view.told("cause")
    if causes and not view.triage.cause.by_people:
        sentences.append(f"The most likely cause is {view.claim('cause', *causes[0])}.")
    if not view.corrected and view.level == "always" and not view.findings:
        unknown = "No known failure matches this report."
        sentences = [
            unknown,
            *(sentences or ["There isn't enough information in it to say what went wrong."]),
        ]
    return [" ".join(sentences)] if sentences else []


def _evidence(view: View) -> list[str]:
    if "evidence" not in view.sections or not view.triage.evidence.lines:
        return []
    return ["Based on:", quoted(telling(view.triage.evidence.lines, EVIDENCE_LINES))]


def _fixes(view: View) -> list[str]:
    """Fixes with labelled cases behind them, the likeliest first."""
    least = view.thresholds.get("fix", 0.0)
    fixes = by_support([f for f in with_cases(view.triage.advice) if f.p >= least][:MAX_FIXES])
    if "fixes" not in view.sections or not fixes or (view.level == "findings" and not view.corrected):
        return []
    if any(f.sure for f in view.findings) and not view.corrected:
        return []  # the known failure says what to do
    lines = [f"{n}. {prose(f.text)} ({prose(supported(f.support))})" for n, f in enumerate(fixes, 1)]
    return [f"{TRIED}:", "\n".join(lines)]


def _checks(view: View) -> list[str]:
    """Short commands that tell the causes apart, in place of the whole script."""
    checks = view.triage.checks
    if "script" not in view.sections or not checks or view.findings or view.level == "findings":
        return []
    block = fenced("\n".join(check.run for check in checks), "sh")
    return [
        "To narrow down the cause, run:",
        block,
        "\n".join(f"- {prose(check.reading)}" for check in checks),
    ]


MAX_ASKS = 2
MAX_MEASURED = 5
WITHDRAWN = "The report was edited; nothing to add to the current text."
ARRIVED = "The requested information has arrived. It doesn't match a known failure."


def render_comment(view: View) -> Draft:
    """The comment for a triage. Sections that have nothing to say are left out."""
    if view.what == "withdrawn":
        return Draft(f"{ARRIVED if view.arrived else WITHDRAWN}\n", frozenset())
    from_history = bool(view.earlier) and not view.findings
    cases = similar(view.triage, view.findings) if "cases" in view.sections and view.what == "finding" else []
    if from_history:
        cases = []  # other projects' cases are beside the point then
    answer = _answer(view)
    if answer:
        cited = {id_ for sentence in answer.sentences for id_ in sentence.cases}
        cases = [case for case in cases if case.id in cited]
    parts, snippets = _written(answer, view) if answer else ([] if view.what == "ask" else _told(view), [])
    parts += _asks(view)
    folds = [fold("Commands and code", "\n\n".join(snippets))] if snippets else []
    folds += [*finding_folds(view.findings), *_cases(cases)] if view.what == "finding" else []
    folds += [fold("Which lines this is based on", support_list(answer))] if answer else []
    script = source_link(view.script_link or "") if _has_script(view) else None
    folds += [script_fold(script)] if script else []
    folds += [
        *([explain_fold(view.triage)] if _explained(view) else []),
        feedback_fold(answer.model if answer else None, view.findings, from_history=from_history),
    ]
    links = {link for case in cases if (link := case_link(case.url))}
    links |= {*finding_links(view.findings), *(source_link(c.source) or "" for c in view.conflicts)}
    links |= set(earlier_links(view.earlier))
    # What two known failures have in their folds may be too much for one mail: the second one's goes.
    second = {*finding_folds(view.findings)[1:]}
    if len(_joined([*parts, *folds])) > WHOLE_CHARS:
        folds = [one for one in folds if one not in second]
    return Draft(_joined([*parts, *folds]), frozenset({*links, script or ""} - {""}))


def _joined(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


def _answer(view: View) -> WrittenAnswer | None:
    """The verified answer, where the comment is made of it."""
    return written(view.triage) if view.written and view.what == "finding" else None


def _written(answer: WrittenAnswer, view: View) -> tuple[list[str], list[str]]:
    """The verified answer; with it the commands and code that go into a fold.

    No error is quoted: whoever reads it has just read the report, and the fold says which lines it rests on.
    """
    told, folded = answer_parts(answer, VISIBLE_CHARS, cited=False)
    return [*told, *_measured(view), *earlier_parts(view.earlier)], folded


def _explained(view: View) -> bool:
    """Whether ids and probabilities are told: on demand, and below what the judge claims."""
    claims = view.what == "finding" and view.level != "findings" and not _answer(view)
    return view.explain or claims


def _has_script(view: View) -> bool:
    return "script" in view.sections and view.what == "finding" and bool(view.triage.script)


def render_dismissed() -> Draft:
    """What is left of a dismissed comment: one line."""
    return Draft("Triage dismissed. A maintainer can bring it back with `/triage`.\n", frozenset())


def render_config_error(error: str | None) -> Draft:
    """The note to maintainers about their configuration file; None = it can be read again."""
    text = (
        f"**`.github/distriage.yml` can't be used**: {prose(error)} The last valid version stays in effect, "
        "or the defaults if there is none."
        if error
        else "`.github/distriage.yml` is valid again."
    )
    return Draft(text + "\n", frozenset())


def _told(view: View) -> list[str]:
    parts = [*finding_parts(view.findings), *earlier_parts(view.earlier)]
    parts += _measured(view)
    parts += _conflicts(view)
    if view.level != "findings" or view.corrected or not parts:
        parts += classified_parts(view, after_findings=bool(parts))
    parts += _second(view)
    return parts


def _measured(view: View) -> list[str]:
    found = [f"- {prose(text, 320)}" for text in view.triage.measured[:MAX_MEASURED]]
    return [f"**{DIAGNOSTICS}**", "\n".join(found)] if found else []


def _conflicts(view: View) -> list[str]:
    if not view.conflicts or "evidence" not in view.sections:
        return []
    return conflict_parts(view.conflicts[0], [] if view.findings else view.triage.evidence.lines)


def conflict_parts(conflict: VersionConflict, lines: Sequence[QuotedLine]) -> list[str]:
    """A version conflict with its source, below the line that it explains, where that is one of `lines`."""
    link = source_link(conflict.source)
    source = f"[source]({link})" if link else code_span(conflict.source)
    line = next((q for q in lines if q.line == conflict.explains_line), None)
    quote = [quoted([line])] if line is not None else []
    return [*quote, f"{prose(conflict.text, 400)} ({source})"]


def _second(view: View) -> list[str]:
    second = view.triage.second_reading
    if view.level == "findings" or second is None or not second.used or not second.why:
        return []
    return [f"Second reading by {code_span(second.model, 60)}: {prose(second.why, 300)}"]


def asked(view: View) -> list[MissingItem]:
    """What the comment asks for: nothing where it gives the remedy or an issue with it, or an LLM wrote it."""
    explained = any(conflict.explains_line is not None for conflict in view.conflicts)
    told = _answer(view) or view.earlier or explained or any(f.sure for f in view.findings)
    if view.what == "withdrawn" or told:
        return []
    return view.triage.missing[:MAX_ASKS] if "missing" in view.sections or view.what == "ask" else []


def _asks(view: View) -> list[str]:
    wanted = asked(view)
    if not wanted:
        return []
    if len(wanted) == 1:
        return [prose(wanted[0].ask, 240)]
    return [f"{NARROW_DOWN}:", "\n".join(f"- {prose(item.ask, 240)}" for item in wanted)]


def _cases(cases: list[Neighbour]) -> list[str]:
    if not cases:
        return []
    lines = [f"{SIMILAR}:", ""]
    for case in cases:
        link, name = case_link(case.url), code_span(case.id, 80)
        shown = f"[{name}]({link})" if link else name
        lines.append(f"- {shown}: {prose(case.title, 100)}. {prose(case.resolution or '', RESOLUTION_CHARS)}")
    return ["\n".join(lines)]
