"""From the body of a report to lines of a known kind, by parsing its Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import re2
from markdown_it import MarkdownIt
from markdown_it.token import Token

from knowledge.evidence.lines import Kind, Line, split_lines
from knowledge.evidence.ranks import split_rank
from knowledge.evidence.shape import shape_of
from knowledge.evidence.templates import is_template, section_of

MAX_MARKDOWN = 400_000
"""Characters parsed as Markdown; nobody writes more by hand, the rest is a log that was pasted."""

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
    """What the Markdown says of each line: fenced, heading, comment, in which section."""

    fenced: bytearray
    heading: bytearray
    comment: bytearray


def lay_out(body: str, *, is_log: bool) -> tuple[Line, ...]:
    """Lines of a cleaned, redacted body in their order; line numbers are those of the body.

    A bare log (`is_log`) is read without Markdown: its `#` and indentation mean nothing.
    """
    texts = split_lines(body)
    plan = _Plan(bytearray(len(texts)), bytearray(len(texts)), bytearray(len(texts)))
    if is_log:
        plan.fenced[:] = b"\1" * len(texts)
    else:
        _mark(body, plan)
    lines: list[Line] = []
    section = ""
    for index, raw in enumerate(texts):
        fenced = bool(plan.fenced[index])
        heading = None if fenced else _heading(raw, bool(plan.heading[index]))
        if heading is not None:
            section = section_of(heading)
            lines.append(Line(index + 1, heading, Kind.HEADING))
            continue
        rank, text = split_rank(raw)
        if not fenced and "<" in text:
            text = _TAG.sub(" ", text)
        kind = Kind.TEMPLATE if plan.comment[index] else _kind(text, fenced=fenced, section=section)
        lines.append(Line(index + 1, text, kind, rank, fenced))
    return _settle_fences(lines)


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
        elif token.type == "heading_open":
            plan.heading[start:end] = b"\1" * (end - start)
        elif token.type == "html_block" and token.content.lstrip().startswith("<!--"):
            plan.comment[start:end] = b"\1" * (end - start)
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
        code = sum(line.kind is Kind.CODE for line in block)
        log = sum(line.kind is Kind.LOG and shape_of(line.text, fenced=False) is Kind.LOG for line in block)
        if code > 2 * log and code > 2:
            for offset, line in enumerate(block):
                if line.kind is Kind.LOG and shape_of(line.text, fenced=False) is not Kind.LOG:
                    out[start + offset] = Line(line.number, line.text, Kind.CODE, line.rank, True)
        start = end
    return tuple(out)
