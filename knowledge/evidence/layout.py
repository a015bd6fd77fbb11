"""From the body of a report to lines of a known kind, by parsing its Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import re2
from markdown_it import MarkdownIt
from markdown_it.token import Token

from knowledge.evidence.lines import Kind, Line, split_lines
from knowledge.evidence.prefixes import Prefixed, PrefixReader
from knowledge.evidence.roles import marks_of
from knowledge.evidence.shape import shape_of

# Comments of Markdown: what a form says inside `<!-- -->` is dropped, the text around it stays.


def without_comments(lines: Sequence[str], fenced: bytearray) -> list[str]:
    """The lines without comments; a comment that is never closed hides nothing but its opening."""
    out = list(lines)
    opened: list[tuple[int, str]] | None = None
    for index, line in enumerate(lines):
        if fenced[index] and opened is None:
            continue
        if opened is None and "<!--" not in line:
            continue
        kept, rest = "", line
        while True:
            if opened is None:
                before, found, rest = rest.partition("<!--")
                kept += before
                if not found:
                    break
                opened = [(index, kept + rest)]
            _, found, after = rest.partition("-->")
            if not found:
                if opened[-1][0] != index:
                    opened.append((index, line))
                break
            opened, rest = None, after
        out[index] = kept.rstrip()
    for index, text in opened or ():
        out[index] = text
    return out


# Issue templates: the project's words in the reporter's post.

# Our own generalisations of what issue forms say; nothing here is a sentence of one template alone.
_INSTRUCTION = re2.compile(
    r"(?i)^\W*(?:"
    r"(?:please|kindly) (?:note|make sure|provide|include|paste|describe|fill|check|read|add|search|see|do not|don't|ensure|run|use|specify|attach|reproduce)\b"
    r"|(?:a |provide a |describe )?clear and concise"
    r"|(?:steps|code|how) to reproduce(?: the (?:behavior|behaviour|issue|problem))?\W*$"
    r"|(?:if (?:applicable|relevant|possible|you have|you are|we cannot|the code))\b"
    r"|i have (?:verified|searched|read|checked|tried the)\b.{0,80}$"
    r"|\(?(?:paste|copy|insert|put|replace|add|remove|describe|fill|provide|include|attach|list)\b.{0,90}(?:here|below|above|commands? you ran.*|outputs?|script.*|error.*|information.*)\W*$"
    r"|you can (?:get|use|run|obtain|collect|also)\b.{0,120}$"
    r"|for security purposes\b|we (?:recommend|will|have|can)\b.{0,140}$"
    r"|note(?: that)?\s?:.{0,30}(?:issue|template|form|ray version)\b"
    r"|what (?:have you tried|is your (?:question|environment))\W*$"
    r"|have i written custom code\b.{0,140}$|mobile device\b.{0,120}$"
    r"|before (?:asking|submitting|opening|filing)\b"
    r"|did you (?:search|check|read)\b.{0,140}$"
    r"|(?:high|medium|low|none|critical): .{0,40}\b(?:blocks?|difficult\w*|annoy\w*|completing|work ?around|impact)\b.{0,60}$"
    r"|_?no response_?$|n/?a\W*$|none\W*$|yes\W*$|no\W*$"
    r"|(?:describe|system info|other info|standalone code|issue type|current behaviou?r|context|motivation|my environment|environment info|versions of)\b[^.:]{0,60}$"
    r"|to reproduce\W*$|expected (?:behavior|behaviour|result)s?\W*$|(?:bug report|environment|additional context|description|error|errors|output|traceback|reproduction|bug|checklist)\W*$"
    r")"
)
_CHECKBOX = re2.compile(r"^\s*(?:[-*+]|\d+\.)?\s*\[[ xX]?\]\s")
_UNFILLED = re2.compile(
    r"(?i)^[\s*-]*[^:?]{2,90}(?:\(e\.?g\.?[^)]*\)|\(if [^)]*\)|\(use [^)]*\)|\(yes[^)]*\))?[^:?]{0,20}[:?]\W*$"
)


SECTION_KINDS = (
    (
        "environment",
        re2.compile(
            r"(?i)environment|system info|versions?\b|your setup|configuration|hardware|software|platform|build info|collect_env|info \(required"
        ),
    ),
    (
        "code",
        re2.compile(
            r"(?i)code sample|minimum reproducible|reproduc|source code|boring ?model|\bcode\b|script|example"
        ),
    ),
    ("expected", re2.compile(r"(?i)expected|should")),
    ("log", re2.compile(r"(?i)\blogs?\b|error message|stack ?trace|traceback|output|backtrace")),
    ("question", re2.compile(r"(?i)question|help")),
)


def is_template(text: str) -> bool:
    """Whether the line is the form talking: an instruction, a check box, a field left empty."""
    stripped = text.strip()
    return bool(
        _CHECKBOX.match(stripped)
        or (len(stripped) < 260 and _INSTRUCTION.match(stripped))
        or (len(stripped) < 120 and _UNFILLED.match(stripped))
    )


def section_of(heading: str) -> str:
    """What a heading announces: environment, code, expected, log, question, or "" for the account itself."""
    for name, pattern in SECTION_KINDS:
        if pattern.search(heading):
            return name
    return ""


# Headers between the logs of several processes: `==> rank3.log <==`, `=== node-1 ===`.

_HEADER = re2.compile(
    r"^\s*(?:=+>|={2,}|-{2,}|#{2,}) *([A-Za-z][\w./-]*\d[\w./-]*)(?: *\([^)]{0,60}\)| log)?:? *"
    r"(?:<=+|={2,}|-{2,}|#{2,})\s*$"
)
_RANK = re2.compile(r"(?i)(?:rank|worker|proc(?:ess)?|gpu)[-_.]?(\d{1,5})(?:\D|$)")
_NODE = re2.compile(
    r"(?i)(?:^|/)([\w-]*(?:node|host|server)[-_]?\d[\w-]*|[a-z]+[-\w]*\d)(?:\.(?:log|out|err|txt))?$"
)


@dataclass(frozen=True, slots=True)
class Source:
    """Which process or machine the lines after a header come from."""

    rank: int | None = None
    host: str | None = None


def source_of(line: str) -> Source | None:
    """What a header between two logs names; None for any other line."""
    if line.lstrip()[:1] not in ("=", "-", "#"):
        return None
    match = _HEADER.match(line)
    return named_source(match.group(1)) if match else None


def named_source(name: str) -> Source | None:
    """The rank or machine that the name of a log's file tells."""
    if rank := _RANK.search(name):
        return Source(rank=int(rank.group(1)))
    node = _NODE.search(name)
    return Source(host=str(node.group(1))) if node else None


# Errors in tables of Markdown: `| 3 | RuntimeError: CUDA out of memory |`.

_RANK_CELL = re2.compile(r"^(?i:rank|gpu|worker)? ?(\d{1,5})$")
_TELLING = frozenset(("exception", "hard", "waited", "echo", "killed"))
FEWEST_WORDS = 3


@dataclass(frozen=True, slots=True)
class Cell:
    """The cell of a row that tells an error, and the rank where a cell before it holds nothing but a number."""

    text: str
    rank: int | None


def telling_cell(row: str) -> Cell | None:
    """The first cell of a table's row that says what failed; None where no cell does."""
    cells = [cell.strip(" `") for cell in row.strip().strip("|").split("|")]
    rank: int | None = None
    for cell in cells:
        if match := _RANK_CELL.match(cell):
            rank = int(match.group(1)) if rank is None else rank
        elif len(cell.split()) >= FEWEST_WORDS and _TELLING & marks_of(cell):
            return Cell(cell, rank)
    return None


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
