"""Foreign text as HTML: a comment as GitHub shows it, and an issue's lines with the evidence marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

import re2
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup

from knowledge.evidence.lines import clean_text, split_lines
from knowledge.redaction import redact
from knowledge.triage import QuotedLine, Triage

_FOLD = re2.compile(r"(</?details>|</?summary>)")
_NOTE = re2.compile(r"<!--[^>]*-->")
_LEAST_CHARS = 8
"""A quote shorter than this is marked at its own line only: elsewhere it would be found by chance."""
AROUND = 3
"""Lines shown before and after a marked one; the rest is folded."""


def comment_html(body: str) -> Markup:
    """A comment as GitHub renders it. Of HTML only folds count, all else is shown as text; links are https alone."""
    return Markup(_renderer().render(body))


def _html(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    pieces = _FOLD.split(_NOTE.sub("", tokens[index].content))
    return "".join(piece if n % 2 else escape(piece) for n, piece in enumerate(pieces))


def _image(
    self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return escape(tokens[index].content)


def _link(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    address = str(tokens[index].attrGet("href") or "")
    shown = f' href="{escape(address)}" rel="noreferrer"' if address.startswith("https://") else ""
    return f"<a{shown}>"


@cache
def _renderer() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": True})
    markdown.add_render_rule("html_block", _html)
    markdown.add_render_rule("html_inline", _html)
    markdown.add_render_rule("image", _image)
    markdown.add_render_rule("link_open", _link)
    return markdown


@dataclass(frozen=True, slots=True)
class ShownLine:
    """A line of an issue; `role` is "" for one that is not evidence."""

    number: int
    text: str
    role: str = ""


@dataclass(frozen=True, slots=True)
class ShownIssue:
    """An issue's text, redacted, in runs of lines: shown, and folded (`open` is False)."""

    title: str
    title_role: str
    runs: list[tuple[bool, list[ShownLine]]]
    lost: int
    """Quoted lines that the text no longer holds."""


def quoted_lines(triage: Triage) -> list[QuotedLine]:
    """What the triage quotes, in the order of the report: its evidence, and the lines of its findings."""
    lines = [*triage.evidence.lines, *(line for finding in triage.findings for line in finding.lines)]
    first = {(not line.in_title, line.line): line for line in reversed(lines)}
    return [first[place] for place in sorted(first)]


def shown_issue(title: str, body: str, triage: Triage) -> ShownIssue:
    """An issue's text as the triage read it, redacted here, with the lines that it quotes marked."""
    # As `read_report` does it, so that numbers of lines are the same.
    texts = split_lines(redact(clean_text(body)).text.rstrip())
    roles: dict[int, str] = {}
    title_role, lost = "", 0
    for quote in quoted_lines(triage):
        if quote.in_title:
            title_role = quote.role
            continue
        number = _place(texts, quote)
        if number is None:
            lost += 1
        else:
            roles.setdefault(number, quote.role)
    lines = [ShownLine(n, text, roles.get(n, "")) for n, text in enumerate(texts, 1)]
    return ShownIssue(redact(clean_text(title)).text, title_role, _runs(lines, roles), lost)


def _place(texts: Sequence[str], quote: QuotedLine) -> int | None:
    # A quote is cut ("…") and without what the logger put before it.
    core = max(quote.text.split("…"), key=len).strip()
    if quote.line <= len(texts) and core in texts[quote.line - 1]:
        return quote.line
    if len(core) < _LEAST_CHARS:
        return None
    return next((n for n, text in enumerate(texts, 1) if core in text), None)


def _runs(lines: Sequence[ShownLine], roles: Mapping[int, str]) -> list[tuple[bool, list[ShownLine]]]:
    near = {n for marked in roles for n in range(marked - AROUND, marked + AROUND + 1)}
    runs: list[tuple[bool, list[ShownLine]]] = []
    for line in lines:
        # Without evidence nothing is folded.
        shown = line.number in near or not roles
        if not runs or runs[-1][0] != shown:
            runs.append((shown, []))
        runs[-1][1].append(line)
    # A fold of two lines hides nothing worth a click.
    return [(shown or len(run) <= 2, run) for shown, run in runs]
