"""What would be live of a Markdown text on GitHub: an own reading, apart from the gate's.

Rendered to HTML by markdown-it with GitHub's extensions; then what GitHub's filters would turn into mentions,
references and links is looked for in the text nodes outside code, as GitHub does.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

from markdown_it import MarkdownIt

_MENTION = re.compile(r"(?<![\w`])@[\w-]+")
_REFERENCE = re.compile(
    r"(?<![\w&])#\d+|(?i:\bgh-\d+)|[\w.-]+/[\w.-]+#\d+|[\w-]+#\d+|[\w.-]+/[\w.-]+@[0-9a-f]{7,40}"
)
_COMMIT = re.compile(r"\b[0-9a-f]{7,40}\b")
_ADDRESS = re.compile(r"(?i)\b(?:https?|ftp)://\S|\bwww\.\S|\b(?:mailto|xmpp):\S|[\w.+-]+@[\w-]+\.\w")
_QUIET = {"code", "pre", "a"}
ALLOWED_TAGS = {"p", "strong", "em", "ul", "ol", "li", "code", "pre", "a", "details", "summary"}


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text: list[str] = []
        self.tags: list[str] = []
        self.links: list[str] = []
        self.comments: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.links += [value or "" for name, value in attrs if name in {"href", "src"}]
        if any(name not in {"href", "class", "start"} for name, _ in attrs):
            self.tags.append(f"{tag} with attributes")

    def handle_endtag(self, tag: str) -> None:
        if tag in self.open:
            del self.open[len(self.open) - 1 - self.open[::-1].index(tag) :]

    def handle_data(self, data: str) -> None:
        self.text.append(" \ufffc " if _QUIET & set(self.open) else data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data.strip())


def live(markdown: str, links: frozenset[str]) -> list[str]:
    """Everything live that should not be; empty = inert."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    env: dict[str, Any] = {}
    reader = _Reader()
    reader.feed(parser.render(markdown, env))
    reader.close()
    found = [f"tag {tag}" for tag in reader.tags if tag not in ALLOWED_TAGS]
    found += [f"link {link}" for link in reader.links if link not in links]
    found += [f"comment {c}" for c in reader.comments if not c.startswith("distriage v1 ")]
    found += [f"reference {name}" for name in env.get("references", {})]
    text = "".join(reader.text)
    for pattern in (_MENTION, _REFERENCE, _COMMIT, _ADDRESS):
        found += [f"text {hit.group(0)}" for hit in pattern.finditer(text)]
    if "$" in text or "[^" in text:
        found.append("mathematics or footnote")
    return found
