"""Secrets leave the text here, before anything stores, embeds, sends or shows it.

Linear time (RE2), idempotent (a placeholder matches no rule), and line numbers stay what they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import re2

from knowledge.redaction.people import find_people
from knowledge.redaction.span import PLACEHOLDER, Span
from knowledge.redaction.surroundings import find_forms, find_named, form_kinds
from knowledge.redaction.tokens import find_private_keys, find_tokens, token_kinds

_UNSEEN = re2.compile(
    r"\x1b(?:\[[0-9;?]*[A-Za-z]|\][^\x07\x1b\n]*(?:\x07|\x1b\\)|[()][A-Z0-9])"
    r"|[\x{AD}\x{200B}-\x{200F}\x{202A}-\x{202E}\x{2060}-\x{2064}\x{2066}-\x{206F}\x{FEFF}]"
)
_STEPS = (find_private_keys, find_tokens, find_forms, find_named, find_people)
"""In this order: what is surely a secret before what is one by its name, the general last."""

_MOST_ROUNDS = 4
"""What follows a name can be another name, whose value only shows once the first is gone."""


@dataclass(frozen=True, slots=True)
class Redacted:
    """The cleaned text and how many secrets of each kind were removed."""

    text: str
    counts: dict[str, int]


def redaction_kinds() -> tuple[str, ...]:
    """Every kind of secret that is recognised, in the order the rules run."""
    people = ("email", "user", "home", "share", "phone", "address")
    return tuple(dict.fromkeys(("private_key", *token_kinds(), *form_kinds(), "password", "token", *people)))


def without_escapes(text: str) -> str:
    """The text without terminal escapes and zero-width characters: either can cut a secret in two."""
    # RE2 reads UTF-8, which has no form for a lone surrogate.
    text = text.encode("utf-8", "replace").decode("utf-8")
    return str(_UNSEEN.sub("", text)) if _UNSEEN.search(text) else text


def redact(text: str) -> Redacted:
    """Replace each secret by `[redacted:KIND]`; of a public address the network stays, see people.py."""
    text = without_escapes(text)
    counts: Counter[str] = Counter()
    for step in _STEPS:
        for _ in range(_MOST_ROUNDS):
            before, text = text, _replaced(text, step(text), counts)
            if text == before or step is not find_named:
                break
    return Redacted(text, dict(counts))


def _replaced(text: str, spans: Iterable[Span], counts: Counter[str]) -> str:
    """Put a placeholder in the place of each span; of two that overlap the one that begins first counts."""
    pieces: list[str] = []
    done = 0
    for span in sorted(spans, key=lambda span: span.start):
        secret = text[span.start : span.end]
        if span.start < done or not secret.strip() or PLACEHOLDER.fullmatch(secret.strip()):
            continue
        counts[span.kind] += 1
        shown = span.shown or f"[redacted:{span.kind}]"
        pieces += (text[done : span.start], shown, "\n" * secret.count("\n"))
        done = span.end
    return "".join((*pieces, text[done:])) if pieces else text
