"""From judgements and matches to what is said: findings, claims, advice, and what is missing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import re2

from knowledge.corrections import correct_axes, measured_under
from knowledge.diagnostics.choose import quick_checks
from knowledge.diagnostics.compose import compose_script
from knowledge.evidence import Reading
from knowledge.evidence.lines import Kind
from knowledge.evidence.reading import summarise
from knowledge.evidence.units import cut, words_that_tell
from knowledge.findings.failure import Failure, agrees
from knowledge.findings.fitting import Fitted, fit, fit_text, in_use, sentences, states_framework
from knowledge.findings.matcher import Match
from knowledge.findings.tried import Tried, remedies
from knowledge.findings.unasked import objection
from knowledge.fixes.advice import advise
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.judging.scope import names_a_framework
from knowledge.missing import ask_for
from knowledge.taxonomy import Taxonomy
from knowledge.triage import (
    REMOTE,
    Advice,
    Axis,
    AxisName,
    Distributed,
    Finding,
    FixAdvice,
    Neighbour,
    QuotedLine,
    Ranked,
    Scope,
    Triage,
)

# From matches to what is shown: findings with the lines they rest on.

MAX_FINDINGS = 3
MAX_SURE = 2
BESIDE = 0.1
"""A finding less than a tenth as probable as the one before it is not worth a reader's time."""
INSTEAD = 0.15
"""How probable a guess must be where the log shows another error than the entry's: below it, 1 of 105 was right."""
QUOTED_LINES = 2
MOST_READ = 20
"""Telling lines of which these are taken: a log may repeat one a thousand times."""
QUOTE_CHARS = 240


def findings_of(
    matches: Sequence[Match],
    reading: Reading,
    given: Mapping[AxisName, Sequence[str]] | None = None,
    *,
    every: bool = False,
) -> list[Finding]:
    """At most three findings, the most probable first.

    One whose near miss is said, or that wouldn't help this reporter (knowledge/findings/unasked.py), needs a telltale
    line; beside its near miss it isn't said unasked.

    `given`: what people set on an axis; an entry that says something else there is left out. `every`: also guesses that
    are too unlikely to be told to people, for an LLM that reads the report beside them.
    """
    shown: list[Finding] = []
    if not matches:
        return shown
    tried, another = Tried.of(reading), _shows_an_error(reading)
    # What is said unasked comes first, though something that only sounds like it be likelier.
    matches = _earlier_first(sorted(matches, key=lambda match: not match.sure))
    for match in (m for m in matches if agrees(m.failure, given or {})):
        if len(shown) == MAX_FINDINGS or (shown and match.p < BESIDE * shown[-1].p):
            break
        confused = any(match.failure.id in _near(f, matches) for f in shown if f.sure)
        fitted = fit(match.failure, reading)
        against = objection(match, fitted, reading, tried)
        # A guess at what wouldn't help this reporter is hardly ever right either (5 of 201 on labeled real reports).
        useless = confused or against not in (None, "tried")
        least = INSTEAD if another and match.failure.patterns else REMOTE
        if match.lines or not (useless or (match.p < least and not every)):
            sure = match.sure and not confused and not against and sum(f.sure for f in shown) < MAX_SURE
            shown.append(_finding(match, fitted, reading, tried, sure=sure))
    return shown


_OF_ANY_CAUSE = re2.compile(
    r"(?i)watchdog|time(?:d |-)?out|\bkilled\b|sigkill|signal 9|exit(?:ed|ing)? (?:with )?(?:code|status)"
)
"""Errors that many a failure ends with."""


def _shows_an_error(reading: Reading) -> bool:
    """Whether the log shows an error that says what failed: an entry that no line shows would show its own instead."""
    log = {line.number for line in reading.lines if line.kind is Kind.LOG}
    errors = [d for d in reading.decisive if d.role == "root" and d.number in log and not d.in_title]
    return any(not _OF_ANY_CAUSE.search(error.text) for error in errors)


def _earlier_first(matches: list[Match]) -> list[Match]:
    """Of two that are often confused and both sure, the one whose line was printed first: the other follows from it."""
    out: list[Match] = []
    for match in matches:
        place = len(out)
        for n, other in enumerate(out):
            both = match.sure and other.sure and match.failure.id in other.failure.confused_with
            if both and 0 < _first_line(match) < _first_line(other):
                place = n
                break
        out.insert(place, match)
    return out


def _first_line(match: Match) -> int:
    """The first telltale line of the body; 0 = there is none."""
    return min((line for line in match.lines if line), default=0)


def _near(finding: Finding, matches: Sequence[Match]) -> tuple[str, ...]:
    return next(m.failure.confused_with for m in matches if m.failure.id == finding.id)


def _finding(match: Match, fitted: Fitted, reading: Reading, tried: Tried, *, sure: bool) -> Finding:
    entry = fitted.entry
    untried = [remedy for remedy in entry.remedy if not tried.holds(sentences(remedy))]
    return Finding(
        id=entry.id,
        area=entry.area,
        title=entry.title,
        answer=entry.answer,
        p=round(match.p, 4),
        sure=sure,
        read_by=match.read_by if sure else "",
        lines=_quotes(entry, match.lines, reading),
        tried=tried.holds(remedies(entry.answer)),
        held=list(match.held),
        why=list(entry.why),
        check=list(entry.check),
        remedy=untried or list(entry.remedy),
        not_this_when=entry.not_this_when,
        fixed_in=entry.fixed_in,
        sources=[source for source in entry.sources if source.startswith("https://")],
    )


def _quotes(entry: Failure, numbers: Sequence[int], reading: Reading) -> list[QuotedLine]:
    """The telling lines, those of a log before those of an account; what two of them say is quoted once."""
    by_number = {line.number: line for line in reading.lines}
    quotes: list[QuotedLine] = []
    for number in numbers[:MOST_READ]:
        line = by_number.get(number)
        text = reading.report.title if number == 0 else line.text if line else ""
        if text.strip():
            text, telling = cut(text.strip(), _telling(entry, text.strip()), QUOTE_CHARS)
            quotes.append(
                QuotedLine(
                    line=max(number, 1),
                    text=text,
                    telling=telling,
                    role="root",
                    in_title=number == 0,
                    rank=line.rank if line and number else None,
                )
            )
    return _distinct(quotes)[:QUOTED_LINES]


_DIGITS = re2.compile(r"\d+")


def _distinct(quotes: Sequence[QuotedLine]) -> list[QuotedLine]:
    """Without what a fuller one says too, numbers aside, and without the source line that raises what another says."""
    said = [_DIGITS.sub("0", " ".join(quote.text.lower().split())) for quote in quotes]
    return [
        quote
        for n, (quote, own) in enumerate(zip(quotes, said, strict=True))
        if not any(own in other and (own != other or at < n) for at, other in enumerate(said) if at != n)
        and not (own.startswith("raise ") and len(quotes) > 1)
    ]


def _telling(entry: Failure, text: str) -> int:
    """Where the words stand by which the entry is known, or else those that say that something failed."""
    found = (re2.compile(pattern).search(text) for pattern in entry.patterns)
    return next((hit.start() for hit in found if hit), next(iter(words_that_tell(text)), 0))


LIKELY = 0.2
"""From this probability on a known failure is shown to whoever asks, though few other words are of the field."""


def conclude_from(
    reading: Reading,
    judged: Mapping[Judged, Judgement],
    neighbours: tuple[Neighbour, ...],
    matches: Sequence[Match],
    scope: Scope,
    taxonomy: Taxonomy,
    *,
    top: int,
    answered: Collection[str],
    measured: Sequence[str],
) -> Triage:
    """The triage of a judged report; outside our scope nothing is claimed or advised but the type.

    `answered`: probes that the script leaves out; `measured`: what they found, in sentences.
    """
    empty = not (reading.report.title.strip() or reading.report.body.strip())
    axes: dict[str, Axis] = {
        axis: _axis(judged[axis], nothing=empty) for axis in judged if axis != "distributed"
    }
    given = reading.report.set_by_people
    axes = correct_axes(axes, given, taxonomy) if given else axes
    by_people = axes["type"].by_people
    scope = "ours" if by_people else scope
    fault = axes["type"].top == "fault" and ((scope == "ours" and not empty) or by_people)
    # A question about a failure is answered by the failure; nothing else that is no fault is.
    failing = fault or (axes["type"].top == "howto" and scope == "ours")
    failing |= _may_fail(axes["type"], scope, matches, reading)
    if not fault:
        axes |= {axis: _unclaimed(axes[axis]) for axis in ("stage", "symptom", "cause", "fix")}
    distributed = _distributed(judged["distributed"], claim=fault)
    elsewhere = scope == "other_field"
    causes = {ranked.id: ranked.p for ranked in axes["cause"].ranking}
    symptom = axes["symptom"].top
    advice = advise(axes, reading.framework, taxonomy, top=top, fault=fault)
    advice = advice.model_copy(update={"fixes": _untried(advice.fixes, reading)})
    return Triage(
        id=reading.report.id,
        content_hash=reading.content_hash,
        scope=scope,
        type=axes["type"],
        stage=axes["stage"],
        symptom=axes["symptom"],
        cause=axes["cause"],
        fix=axes["fix"],
        distributed=distributed,
        evidence=summarise(reading, claims=any(axes[axis].answer for axis in ("stage", "symptom", "cause"))),
        findings=findings_of(matches, reading, given) if failing else [],
        neighbours=_nearest(neighbours, axes["type"].top, 0 if elsewhere else min(top, 5)),
        advice=Advice(fixes=[]) if elsewhere else advice,
        missing=ask_for(reading, axes, distributed) if fault or scope == "too_little" else [],
        measured=measured_under(measured, given),
        checks=quick_checks(causes, symptom) if fault else [],
        script=_script(causes, symptom, reading, answered) if fault else "",
    )


def _untried(fixes: Sequence[FixAdvice], reading: Reading) -> list[FixAdvice]:
    """The fixes that fit the report's tools and time and were not tried in it, each with what of its text fits."""
    if not fixes:
        return []
    used, tried = in_use(reading), Tried.of(reading)
    fitting = ((fix, fit_text(fix.text, reading, used)) for fix in fixes)
    return [
        fix.model_copy(update={"text": text})
        for fix, text in fitting
        if text and not tried.holds(sentences(text))
    ]


def _may_fail(type_: Axis, scope: Scope, matches: Sequence[Match], reading: Reading) -> bool:
    """Whether a report that isn't surely a fault of the field is compared with the catalogue all the same."""
    if not type_.answer and any(match.sure for match in matches):
        return True  # a telltale line says more than a type that nobody claims
    if type_.top != "fault" or scope not in ("other_field", "too_little"):
        return False
    # Few words of the field, but a framework with its version, or one by name and a likely failure: whoever asks
    # gets to see what it may be.
    likely = any(match.p >= LIKELY for match in matches)
    stated = scope == "other_field" and states_framework(reading)
    return stated or (likely and names_a_framework(reading))


def _unclaimed(axis: Axis) -> Axis:
    return axis.model_copy(update={"answer": []})


def _axis(judgement: Judgement, *, nothing: bool) -> Axis:
    ranking = [Ranked(id=id, p=round(p, 4)) for id, p in judgement.ranking]
    return Axis(ranking=ranking, answer=[] if nothing else judgement.answer, answer_set=judgement.answer_set)


def _distributed(judgement: Judgement, *, claim: bool) -> Distributed:
    p = float(judgement.p[judgement.ids.index("distributed")])
    answer = judgement.answer if claim else []
    return Distributed(p=round(p, 4), answer=answer == ["distributed"] if answer else None)


def _nearest(neighbours: tuple[Neighbour, ...], type_id: str | None, count: int) -> list[Neighbour]:
    """The nearest cases, those of the report's own type first: a question is answered by answered questions."""
    same = [n for n in neighbours[:12] if n.labels.type == type_id]
    ids = {n.id for n in same}
    return [*same, *(n for n in neighbours if n.id not in ids)][:count]


def _script(
    causes: Mapping[str, float], symptom: str | None, reading: Reading, answered: Collection[str]
) -> str:
    return compose_script(
        causes,
        framework=reading.framework,
        symptom=symptom,
        answered=answered,
        report=reading.report.id,
    )
