"""What GitHub makes live in plain text: mentions, references, links. Wider than its own, in linear time.

https://docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls
https://github.github.com/gfm/#autolinks-extension-
"""

from __future__ import annotations

import unicodedata

import re2

_PATTERNS: dict[str, str] = {
    "mention": r"[@＠]\S",
    "issue reference": r"#\s*[0-9]",
    "issue reference by GH-": r"(?i)\bGH-[0-9]",
    "commit": r"(?i)\b[0-9a-f]{7,64}\b",
    "address": r"(?i)(www\.|[a-z][a-z0-9+.-]*:/|mailto:|xmpp:|javascript:|data:)",
    "mail address": r"\S@\S",
    "footnote": r"\[\^",
    "mathematics": r"\$",
    "markup": r"[<>]",
}
_LIVE = {name: re2.compile(pattern) for name, pattern in _PATTERNS.items()}
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def hazards(text: str) -> list[str]:
    """Names of what would be live in this text, were it shown outside code."""
    return [name for name, pattern in _LIVE.items() if pattern.search(text)]


def unseen(char: str) -> bool:
    """Whether a character shows nothing or turns text about: control, bidi, zero-width, tag, private use."""
    return char not in "\n\t" and unicodedata.category(char) in _UNSEEN


def has_unseen(text: str) -> bool:
    """Whether any such character is in the text."""
    return any(map(unseen, text))
