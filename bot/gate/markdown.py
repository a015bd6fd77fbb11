"""The check in front of every GitHub write: the finished Markdown, read by a real parser, on a closed list.

It knows nothing of how the text was made: what is not on the list is refused, and nothing is written.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cache

import re2
from markdown_it import MarkdownIt
from markdown_it.token import Token

from bot.gate.rules import GateError, PassedMarkdown
from knowledge.text.quote import has_unseen, hazards

MAX_CHARS = 60_000

_BLOCKS = frozenset(
    f"{name}_{end}"
    for name in ("paragraph", "bullet_list", "ordered_list", "list_item")
    for end in ("open", "close")
) | {"inline", "fence", "html_block"}
_INLINE = frozenset(f"{name}_{end}" for name in ("strong", "em", "link") for end in ("open", "close")) | {
    "text",
    "softbreak",
    "code_inline",
}
_FENCE_INFO = frozenset({"text", "sh", "python"})
_TAG_OR_COMMENT = re2.compile(r"<!--[^>]*-->|<[a-z/]+>")
IN_SUMMARY = r"\pL\pN .,:;'?()/%_=+-"
"""What the title of a fold may hold, as a character class."""
_HTML = re2.compile(
    rf"^(\s|<details>|</details>|<summary>[{IN_SUMMARY}]+</summary>|<!-- distriage [a-z0-9 =-]+ -->)*$"
)


@cache
def _parser() -> MarkdownIt:
    # Tables and strike-through are GitHub's; parsed here so that they can be refused.
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def pass_markdown(body: str, links: Collection[str]) -> PassedMarkdown:
    """The body, checked; `links` are all it may link to. `GateError` names the broken rules."""
    broken = violations(body, links)
    if broken:
        raise GateError(broken)
    return PassedMarkdown(body)


def violations(body: str, links: Collection[str]) -> list[str]:
    """The rules that a body breaks, each once, in words; empty = it may be written."""
    if len(body) > MAX_CHARS:
        return [f"longer than {MAX_CHARS} characters"]
    if has_unseen(body):
        return ["invisible character"]
    found: dict[str, None] = {}
    env: dict[str, object] = {}
    tokens = _parser().parse(body, env)
    if env.get("references"):
        found["reference link"] = None
    for token in tokens:
        found.update(dict.fromkeys(_block(token, links)))
    return list(found)


def _block(token: Token, links: Collection[str]) -> Iterable[str]:
    if token.type not in _BLOCKS:
        yield f"block {token.type}"
    if token.type == "html_block":
        if not _HTML.match(token.content):
            yield "raw HTML"
        yield from hazards(_TAG_OR_COMMENT.sub("", token.content))
    if token.type == "fence" and token.info not in _FENCE_INFO:
        yield "fence of another language"
    if token.type == "inline":
        yield from _line(token.children or [], links)


def _line(children: list[Token], links: Collection[str]) -> Iterable[str]:
    for child in children:
        if child.type not in _INLINE:
            yield f"inline {child.type}"
        if child.type == "link_open":
            if child.markup == "autolink":
                yield "autolink"
            if child.attrGet("href") not in links:
                yield "link to somewhere else"
    # Code is inert; joined across emphasis, since GitHub looks at what is shown.
    yield from hazards("".join(_shown(child) for child in children))


def _shown(child: Token) -> str:
    if child.type == "code_inline":
        return "\ufffc"
    return "\n" if child.type == "softbreak" else child.content
