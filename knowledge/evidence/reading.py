"""Reading a report closely: everything later rests on this one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby, islice

import re2

from knowledge.evidence.diagnosis import own_diagnosis
from knowledge.evidence.facts_table import component_of_tracker, find_framework, framework_of
from knowledge.evidence.failures import find_failures
from knowledge.evidence.launch_found import find_launcher, find_world_size
from knowledge.evidence.layout import is_printed, lay_out
from knowledge.evidence.lines import Kind, Line, clean_text
from knowledge.evidence.tools import Fact, read_tools
from knowledge.evidence.units import Decisive, cut, sentences
from knowledge.evidence.versions_found import Sure, find_versions
from knowledge.redaction import redact
from knowledge.report import Report
from knowledge.signatures import SignatureHit, SignatureTable, most_specific
from knowledge.triage import Evidence, QuotedLine, SignatureMatch, StatedFact, VersionConflict
from knowledge.versions import explained_conflicts

MAX_TITLE = 300
"""Characters of a title that are read; GitHub allows 256."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A report, redacted and taken apart."""

    report: Report
    """Cleaned and redacted; nothing downstream sees the original."""
    content_hash: str
    """Of the original, so that an edit is noticed."""
    lines: tuple[Line, ...]
    decisive: tuple[Decisive, ...]
    hits: tuple[tuple[int, SignatureHit], ...]
    """Signature hits with their 1-based line; 0 is the title."""
    echoes: tuple[str, ...]
    """What of the log is only a consequence of the root, in sentences."""
    prose: str
    framework: str | None
    versions: dict[str, str]
    sure: tuple[str, ...]
    """Components whose version the report states; the others were read off a path, a file or a command."""
    facts: tuple[Fact, ...]
    """What tools in the report say."""
    launcher: str | None
    world_size: int | None
    ranks: tuple[int, ...]
    redactions: dict[str, int]

    def text_of(self, *kinds: Kind) -> str:
        """The lines of these kinds, joined."""
        return "\n".join(line.text for line in self.lines if line.kind in kinds)


def read_report(report: Report, table: SignatureTable) -> Reading:
    """Clean, redact and take apart; linear in the length of the report."""
    title = redact(_short(clean_text(report.title).replace("\n", " ").strip()))
    body = redact(clean_text(report.body))
    counts = dict(title.counts)
    for kind, count in body.counts.items():
        counts[kind] = counts.get(kind, 0) + count
    is_log = report.is_log or is_printed(body.text)
    clean = replace(report, title=title.text, body=body.text, is_log=is_log)
    lines = lay_out(clean.body, is_log=clean.is_log, gap=clean.gap)
    failures = find_failures(clean.title, lines, table)
    prose = "\n".join(line.text.strip() for line in lines if line.kind is Kind.PROSE)
    stated = [clean.title, *(line.text for line in lines if line.kind not in (Kind.BLANK, Kind.NOISE))]
    rest = "\n".join(stated[1:])
    tools = read_tools(lines)
    versions = find_versions(
        clean.title, lines, tools.versions, component_of_tracker(report.id.rpartition("#")[0])
    )
    return Reading(
        report=clean,
        content_hash=report.content_hash,
        lines=lines,
        decisive=failures.decisive,
        hits=failures.hits,
        echoes=failures.echoes,
        prose=prose,
        framework=report.framework
        or framework_of(report.id)
        or find_framework(clean.title, prose, rest)
        or report.usual_framework,
        versions={name: found.text for name, found in versions.items()},
        sure=tuple(name for name, found in versions.items() if found.sure >= Sure.STATED),
        facts=tools.facts,
        launcher=find_launcher(stated),
        world_size=find_world_size([clean.title, *(line.text for line in lines)]) or tools.world_size,
        ranks=tuple(sorted({line.rank for line in lines if line.rank is not None})),
        redactions=counts,
    )


def _short(title: str) -> str:
    """A title without runs of one character ("!!!!!!"), cut at what GitHub allows and a little more."""
    squeezed = "".join("".join(islice(run, 3)) for _, run in groupby(title[: 8 * MAX_TITLE]))
    return squeezed[:MAX_TITLE]


# The part of a reading that is shown: a few decisive lines, versions, signatures, conflicts.

LINES = 6
MATCHES = 8
SAYING, SENTENCE = 3, 5
"""Words from which on a title, or a sentence of the account, can say what is wrong."""
SHOWN = 300
"""Characters of a quoted line."""
_WORD = re2.compile(r"[A-Za-z]{2,}")


def summarise(reading: Reading, *, claims: bool = False) -> Evidence:
    """Evidence as the triage holds it: six lines, the root first, the author's own diagnosis, each signature once.

    `claims`: where no line tells what failed, the words that say so are quoted, as a claim never stands alone.
    """
    lines = [_quote(d) for d in _chosen(reading.decisive)]
    if not lines and claims:
        lines = _said(reading)
    lines = _with_diagnosis(reading, lines)
    return Evidence(
        framework=reading.framework,
        echoes=list(reading.echoes),
        lines=lines,
        versions=reading.versions,
        launcher=reading.launcher,
        world_size=reading.world_size,
        ranks=list(reading.ranks[:64]),
        signatures=_matches(reading),
        conflicts=conflicts_of(reading),
        facts=[StatedFact(line=fact.line, text=fact.text) for fact in reading.facts],
        redactions=reading.redactions,
        notes=list(reading.report.notes),
    )


def conflicts_of(reading: Reading) -> list[VersionConflict]:
    """Conflicts of versions that the report states, those first that explain a line of it."""
    return explained_conflicts(
        {name: reading.versions[name] for name in reading.sure},
        [(d.number, d.text) for d in reading.decisive if not d.in_title],
    )


def _chosen(decisive: tuple[Decisive, ...]) -> list[Decisive]:
    """The first cause, then other faults, then at most two consequences; sentences where no line says as much."""
    if not decisive:
        return []
    floor = 0.25 * decisive[0].score
    worth = [d for d in decisive if d.score >= floor]
    roots = [d for d in worth if d.role == "root"][:4]
    rest = [d for d in worth if d.role == "context"][: max(0, 4 - len(roots))]
    cascade = [d for d in worth if d.role == "consequence"][:2]
    return [*roots, *rest, *cascade][:LINES]


def _said(reading: Reading) -> list[QuotedLine]:
    """The title; the first sentence of the account where the title hardly says anything."""
    title = reading.report.title.strip()
    told = None
    if len(_WORD.findall(title)) < SAYING:
        account = (
            (line.number, sentence)
            for line in reading.lines
            if line.kind is Kind.PROSE
            for sentence in sentences(line.text)
            if len(_WORD.findall(sentence)) >= SENTENCE
        )
        told = next(account, None)
    number, text = told or (1, title)
    if not text:
        return []
    return [QuotedLine(line=number, text=cut(text, 0, SHOWN)[0], role="context", in_title=told is None)]


def _with_diagnosis(reading: Reading, lines: list[QuotedLine]) -> list[QuotedLine]:
    """The lines with what the author holds for the cause; where only context says it, it is called that."""
    found = own_diagnosis(reading.lines)
    if found is None or any(found[1] in line.text and line.role != "context" for line in lines):
        return lines
    number, sentence, at = found
    text, telling = cut(sentence, at, SHOWN)
    own = QuotedLine(line=number, text=text, telling=telling, role="diagnosis")
    return [*(line for line in lines if line.in_title or sentence not in line.text), own]


def _quote(d: Decisive) -> QuotedLine:
    text, telling = cut(d.text, d.telling, SHOWN)
    return QuotedLine(
        line=d.number,
        text=text,
        telling=telling,
        role=d.role,
        in_title=d.in_title,
        rank=d.rank,
        host=d.host,
        time=d.time,
    )


def _matches(reading: Reading) -> list[SignatureMatch]:
    seen: dict[str, SignatureMatch] = {}
    kept = {id(hit) for hit in most_specific(hit for _, hit in reading.hits)}
    for line, hit in reading.hits:
        s = hit.signature
        if id(hit) in kept and s.id not in seen:
            seen[s.id] = SignatureMatch(
                id=s.id,
                meaning=s.meaning,
                line=max(line, 1),
                symptom=list(s.symptom),
                cause=list(s.cause),
                fix=list(s.fix),
            )
    ranked = sorted(
        reading.hits, key=lambda pair: {"root": 0, "consequence": 1, "context": 2}[pair[1].signature.role]
    )
    order = list(dict.fromkeys(hit.signature.id for _, hit in ranked))
    return sorted(seen.values(), key=lambda match: order.index(match.id))[:MATCHES]
