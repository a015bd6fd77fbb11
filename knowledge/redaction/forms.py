"""Secrets that their surroundings give away: addresses, headers, commands, files of credentials (forms.toml)."""

from __future__ import annotations

import base64
import binascii
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

from knowledge.redaction.span import PLACEHOLDER, Span, looks_random, place
from knowledge.redaction.value import is_placeholder

_RULES_FILE = Path(__file__).parent / "forms.toml"
_PORT = re2.compile(r"^[0-9]{1,5}(?:[/?#,;]|$)")
_KEY_WORDS = re2.compile(r"(?i)api_?key|token|passw|secret|auth")


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re2._Regexp
    hints: tuple[str, ...]
    holds: Callable[[str, str, int], bool] | None


def _random(value: str, text: str, start: int) -> bool:
    return looks_random(value)


def _mixed(value: str, text: str, start: int) -> bool:
    pieces = value.replace("-", " ").replace("_", " ").replace(".", " ").split()
    return any(len(piece) >= 16 and not piece.isalpha() and not piece.isdigit() for piece in pieces)


def _given(value: str, text: str, start: int) -> bool:
    """A value at last, and not what holds its place."""
    return not is_placeholder(value)


def _no_option(value: str, text: str, start: int) -> bool:
    """A value, and not the rest of a compiler's option that begins alike (-pthread, -pipe)."""
    return not is_placeholder(value) and value not in ("thread", "ipe", "g", "ie")


def _credential(value: str, text: str, start: int) -> bool:
    """A credential of a header, not a word of prose; the name of its scheme comes first and is none."""
    word = value.isalpha() and len(value) < 16 and value[1:] == value[1:].lower()
    return not word and not is_placeholder(value)


def _url_password(value: str, text: str, start: int) -> bool:
    """A password, not the port of an address whose path holds an "@"."""
    return not is_placeholder(value) and (value.isdigit() or not _PORT.search(value))


def _no_commit(value: str, text: str, start: int) -> bool:
    before = text[max(0, start - 24) : start].lower()
    return not any(word in before for word in ("commit", "sha", "rev", "@", "git", "digest"))


def _json_with_key(value: str, text: str, start: int) -> bool:
    """Whether the base64 of a JSON object names a key or token, as Neptune's does and a list of hosts does not."""
    return _KEY_WORDS.search(_decoded(value)) is not None


def _user_and_password(value: str, text: str, start: int) -> bool:
    """Whether it is the base64 of "user:password", as a registry's log-in is kept."""
    return ":" in _decoded(value)


def _decoded(value: str) -> str:
    sound = value.rstrip("=").replace("-", "+").replace("_", "/")[:4000]
    try:
        return base64.b64decode(sound + "=" * (-len(sound) % 4)).decode("utf-8", "replace")
    except binascii.Error:
        return ""


_CHECKS: dict[str, Callable[[str, str, int], bool]] = {
    "random": _random,
    "mixed": _mixed,
    "given": _given,
    "no_option": _no_option,
    "credential": _credential,
    "url_password": _url_password,
    "no_commit": _no_commit,
    "json_with_key": _json_with_key,
    "user_and_password": _user_and_password,
}


def _compile(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(pattern, options)


@cache
def _rules() -> tuple[_Rule, ...]:
    with _RULES_FILE.open("rb") as file:
        entries = tomllib.load(file)["rule"]
    return tuple(
        _Rule(
            entry["kind"],
            _compile(entry["pattern"]),
            tuple(entry["hints"]),
            _CHECKS[entry["check"]] if "check" in entry else None,
        )
        for entry in entries
    )


def form_kinds() -> tuple[str, ...]:
    """The kinds of forms.toml, in its order."""
    return tuple(dict.fromkeys(rule.kind for rule in _rules()))


def find_forms(text: str) -> Iterator[Span]:
    """Yield what the rules of forms.toml find; where two overlap the one that begins first counts."""
    lowered = text.lower()
    for rule in _rules():
        # Most rules need a word that most texts lack; looking for it is far cheaper than the pattern.
        if not any(hint in lowered for hint in rule.hints):
            continue
        for found in rule.pattern.finditer(text):
            start, end = place(found, "s")
            value = text[start:end]
            if PLACEHOLDER.match(value) or (rule.holds is not None and not rule.holds(value, text, start)):
                continue
            yield Span(start, end, rule.kind)
