"""Reading a report closely: everything later rests on this one value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby, islice

from knowledge.evidence.decisive import Decisive
from knowledge.evidence.failures import find_failures
from knowledge.evidence.framework_found import find_framework, framework_of
from knowledge.evidence.launch_found import find_launcher, find_world_size
from knowledge.evidence.layout import is_printed, lay_out
from knowledge.evidence.lines import Kind, Line, clean_text
from knowledge.evidence.tools import Fact, read_tools
from knowledge.evidence.versions_found import Sure, find_versions
from knowledge.redaction import redact
from knowledge.report import Report
from knowledge.signatures import SignatureHit, SignatureTable

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
    versions = find_versions(clean.title, lines, tools.versions)
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
