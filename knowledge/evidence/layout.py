"""From the body of a report to lines of a known kind, by parsing its Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import re2
from markdown_it import MarkdownIt
from markdown_it.token import Token

from knowledge.evidence.comments import without_comments
from knowledge.evidence.lines import Kind, Line, split_lines
from knowledge.evidence.prefixes import Prefixed, PrefixReader
from knowledge.evidence.shape import shape_of
from knowledge.evidence.sources import Source, source_of
from knowledge.evidence.tables import telling_cell
from knowledge.evidence.templates import is_template, section_of

MAX_MARKDOWN = 400_000
"""Characters parsed as Markdown; nobody writes more by hand, the rest is a log that was pasted."""

LOOKED_AT = 300
"""Lines of a body by which it is told for a log."""
FEWEST_PRINTED = 6
PRINTED, WRITTEN = 0.25, 0.2
"""Share of lines that must be logged for certain, and of those that a person may have written."""
SENTENCE, BEGINNING = 7, 3
"""Words of a line that can be a sentence, and of one with which a report can begin."""
_WORD = re2.compile(r"[A-Za-z]{2,}")
_MARKUP = re2.compile(r"(?m)^\s*(?:```|~~~|#{1,6} +[A-Z]|>\s|<(?:details|denchmark|h[1-6]|!--)|- \[[ x]\])")
# The public Denchmark data set marks headings by tags of its own.
_TAGGED_HEADING = re2.compile(
    r"^\s*<(?:denchmark-)?h(?::h)?[1-6]>(.*?)(?:</(?:denchmark-)?h(?:eading)?[1-6]?>)?\s*$"
)
_BOLD_HEADING = re2.compile(r"^\s*\*\*([^*]{2,80})\*\*:?\s*$")
_TAG = re2.compile(
    r"</?(?:denchmark[\w:-]*|details|summary|pre|code|br|p|b|i|em|strong|kbd|sub|sup|div|span|hr|img|a|ul|ol|li)(?:\s[^>]*)?/?>"
)


# Building a parser costs more than parsing most reports; parsing changes nothing in it.
_MARKDOWN = MarkdownIt("commonmark")


@dataclass(slots=True)
class _Plan:
    """What the Markdown says of each line: fenced, heading."""

    fenced: bytearray
    heading: bytearray


def lay_out(body: str, *, is_log: bool, gap: tuple[int, int] | None = None) -> tuple[Line, ...]:
    """Lines of a cleaned, redacted body in their order; line numbers are those of the body.

    A bare log (`is_log`) is read without Markdown: its `#` and indentation mean nothing. After a `gap`, (line,
    count of lines left out), numbers are those of the whole.
    """
    after, left_out = gap or (len(body), 0)
    texts = split_lines(body)
    plan = _Plan(bytearray(len(texts)), bytearray(len(texts)))
    if is_log:
        plan.fenced[:] = b"\1" * len(texts)
    else:
        _mark(body, plan)
        texts = without_comments(texts, plan.fenced)
    lines: list[Line] = []
    section, source, reader = "", Source(), PrefixReader()
    for index, raw in enumerate(texts):
        number = index + 1 + (left_out if index >= after else 0)
        fenced = bool(plan.fenced[index])
        heading = None if fenced else _heading(raw, bool(plan.heading[index]))
        if heading is not None:
            section = section_of(heading)
            lines.append(Line(number, heading, Kind.HEADING))
            continue
        parts = reader.read(raw, in_log=fenced)
        if fenced:
            source = source_of(parts.text) or source
        lines.append(_line(number, parts, fenced, section, source if fenced else Source()))
    return _settle_fences(lines)


def is_printed(body: str) -> bool:
    """Whether a cleaned body is a log as printed: no Markdown, no line that a person wrote, and enough that is logged."""
    head = body[:MAX_MARKDOWN]
    if _MARKUP.search(head):
        return False
    reader, seen, logged, written = PrefixReader(), 0, 0, 0
    for text in islice((line for line in split_lines(head) if line.strip()), LOOKED_AT):
        parts = reader.read(text, in_log=True)
        shape = shape_of(parts.text, fenced=False)
        certain = _is_logged(parts) or parts.rank is not None or shape is Kind.LOG
        labels = shape in (Kind.ENVIRONMENT, Kind.CODE, Kind.COMMAND) or text.rstrip().endswith(":")
        if not certain and not seen and labels:
            return False
        if not certain and shape is Kind.PROSE:
            words = len(_WORD.findall(parts.text))
            # Launchers and warnings break their messages into lines of prose, but none begins a log.
            if not seen and words >= BEGINNING:
                return False
            written += words >= SENTENCE
        seen += 1
        logged += certain
    return seen >= FEWEST_PRINTED and logged >= PRINTED * seen and written <= WRITTEN * seen


def _line(number: int, parts: Prefixed, fenced: bool, section: str, source: Source) -> Line:
    text = parts.text
    if not fenced:
        if "<" in text:
            text = _TAG.sub(" ", text)
        if text.lstrip()[:1] == "|" and (cell := telling_cell(text)):
            return Line(number, cell.text, Kind.LOG, cell.rank)
    kind = _kind(text, fenced=fenced, section=section)
    if kind in (Kind.PROSE, Kind.CODE, Kind.COMMAND) and _is_logged(parts):
        kind = Kind.LOG
    rank = source.rank if parts.rank is None else parts.rank
    host = parts.host or source.host
    return Line(number, text, kind, rank, fenced, host, parts.pid, parts.time, parts.level, parts.group)


def _is_logged(parts: Prefixed) -> bool:
    """Whether a logger, a launcher or a collector put something before the message."""
    return any(part is not None for part in (parts.time, parts.level, parts.host, parts.pid))


_EXAMPLE = re2.compile(r"(?i)\s*\((?:e\.?g\.?|i\.?e\.?|if|use|as opposed|yes)\b[^)]*\)")


def _kind(text: str, *, fenced: bool, section: str) -> Kind:
    kind = shape_of(text if fenced or "(" not in text else _EXAMPLE.sub("", text), fenced=fenced)
    if kind in (Kind.PROSE, Kind.ENVIRONMENT) and not fenced:
        if is_template(text):
            return Kind.TEMPLATE
        if section == "environment" and kind is Kind.PROSE and len(text) < 90:
            return Kind.ENVIRONMENT
    return kind


def _heading(text: str, marked: bool) -> str | None:
    tagged = _TAGGED_HEADING.match(text)
    if tagged:
        return str(tagged.group(1)).strip()
    bold = _BOLD_HEADING.match(text)
    if bold:
        return str(bold.group(1)).strip()
    return text.strip().strip("#=- ").strip() if marked else None


def _mark(body: str, plan: _Plan) -> None:
    head = body[:MAX_MARKDOWN]
    tokens: list[Token] = []
    # Block structure alone: the inline rules cost most of the time and say nothing that is needed here.
    _MARKDOWN.block.parse(head, _MARKDOWN, {}, tokens)
    for token in tokens:
        if token.map is None:
            continue
        start, end = token.map[0], min(token.map[1], len(plan.fenced))
        if token.type in ("fence", "code_block"):
            plan.fenced[start:end] = b"\1" * (end - start)
        # A line of "=" or "-" makes all text above it a heading, in a log that stands outside of fences half of it.
        elif token.type == "heading_open" and (token.markup.startswith("#") or end - start <= 2):
            plan.heading[start:end] = b"\1" * (end - start)
    if len(body) > MAX_MARKDOWN:
        seen = head.count("\n")
        plan.fenced[seen:] = b"\1" * (len(plan.fenced) - seen)


def _settle_fences(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Inside one fence a line that could be either goes with the majority of its block."""
    out = list(lines)
    start = 0
    while start < len(out):
        if not out[start].fenced:
            start += 1
            continue
        end = start
        while end < len(out) and out[end].fenced:
            end += 1
        block = out[start:end]
        if _is_code(block):
            for offset, line in enumerate(block):
                if line.kind is Kind.LOG and not _is_certain(line):
                    out[start + offset] = replace(line, kind=Kind.CODE)
        start = end
    return tuple(out)


def _is_code(block: Sequence[Line]) -> bool:
    code = sum(line.kind is Kind.CODE for line in block)
    if code <= 2:
        return False
    log = 0
    for line in block:
        log += line.kind is Kind.LOG and _is_certain(line)
        if code <= 2 * log:
            return False
    return True


def _is_certain(line: Line) -> bool:
    """Whether the line is a log's by its own looks, not for want of anything else."""
    return line.time is not None or line.level is not None or shape_of(line.text, fenced=False) is Kind.LOG
