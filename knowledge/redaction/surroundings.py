"""Secrets that their surroundings give away: addresses, headers, commands, and the name in front of a value."""

from __future__ import annotations

import base64
import binascii
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path

import re2

from knowledge.redaction.span import (
    PLACEHOLDER,
    Span,
    end_with_rest,
    is_placeholder,
    is_secret,
    looks_random,
    place,
    words,
)

# Secrets that their surroundings give away: addresses, headers, commands, files of credentials (forms.toml).

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


# Secrets that the name in front of them gives away, in shells, YAML, JSON, TOML, Python, logs and prose.

_PART = (
    r"(?:pass|pwd|secret|token|[a-z0-9][_-]?key\b|(?:api|access|secret) key\b|private_key_id|credential"
    r"|auth|_pat\b|session|-data|密码|口令|密钥|пароль)"
)
_NAMED = re2.compile(
    rf"(?i)(?P<n>[a-z0-9_.-]*{_PART}[a-z0-9_.-]*)(?P<c>[\\\"'`\]*]{{0,8}})"
    r"(?P<sep>[ \t]{0,20}(?::=|=>|={1,2}|[:：]|是)[ \t]{0,20})"
)
_NAMED_BY_BLANK = re2.compile(
    rf"(?i)(?:(?:^|[\s\"'\[])--?|\b(?:setenv|env)[ \t]+)"
    rf"(?P<n>[a-z0-9_.-]*{_PART}[a-z0-9_.-]*)(?P<c>[\"',]{{0,2}})(?P<sep>[ \t]+)"
)
_NAME_AND_VALUE = re2.compile(
    rf"(?i)\bname\\*[\"']?\s*[:=]\s*\\*[\"']?(?P<n>[a-z0-9_.-]*{_PART}[a-z0-9_.-]*)(?P<c>\\*[\"']?)"
    r"(?P<sep>\s*,?\s*\\*[\"']?value\\*[\"']?\s*[:=]\s*)"
)
_IN_PROSE = re2.compile(
    r"(?i)\b(?P<n>password|passwd|passphrase|passcode|token|secret|api[ _-]key|access[ _-]key)(?P<c>)"
    r"(?P<sep>[ \t]+for[ \t]+[^\s:]{1,40}:[ \t]+|[ \t]+(?:(?:is|was|=|to)(?:[ \t]*:)?[ \t]+)?)"
)
_PAIR = re2.compile(
    rf"(?i)[\"'](?:[a-z0-9_.-]*{_PART}[a-z0-9_.-]*)[\"'],[ \t]*b?[\"'](?P<v>[^\"'\s]{{8,200}})[\"']"
)
_BARE_KEY = re2.compile(
    r"(?i)(?:^|[^a-z0-9_.-])(?P<s>key)\\*[\"']?\s*[:=]\s*\\*[\"'](?P<v>[A-Za-z0-9+/_-]{20,}={0,2})\\*[\"']"
)
_CAMEL = re2.compile(r"([a-z0-9])([A-Z])")
_OPENING = re2.compile(
    r"^(?:[A-Za-z_.]{0,24}(?:[sS]tr|[sS]tring|[sS]ecret|[bB]ytes|[pP]assword|[tT]oken)\()?[bBrRfFuU]{0,2}(?P<q>\\{0,7}(?:\"\"\"|'''|[\"'`]))"
)
_BLOCK = re2.compile(r"^(?:[|>][+-]?[0-9]?)?[ \t]*\\?\r?\n[ \t]*")
_END_OF_BARE = re2.compile(
    r"\s|[\"'`](?:[\s,;:)\]}>\\.|&]|$)|[,;&](?:\s|$|[A-Za-z_][\w.-]*=)|\\[nrt\"']|</|\[redacted:"
)
_STARTS_BLOCK = frozenset("|> \t\\\r\n")
_LONGEST_NAME = 80
_NEAR, _LONGEST = 256, 4096
"""Characters in which a value is sought, first and at most."""

_STRONG = tuple(words("strong"))
_WORDLY = tuple(words("wordly"))
_OF_KEY = words("of_key")
_WEAK = words("weak")
_NO_TOKEN = words("no_token")
_NO_PASS = words("no_pass")
_TRAILING = words("trailing")


def find_named(text: str) -> Iterator[Span]:
    """Yield the value of each sensitive name that is one to hide."""
    for pattern in (_NAME_AND_VALUE, _NAMED, _NAMED_BY_BLANK, _IN_PROSE):
        done = 0
        for found in pattern.finditer(text):
            if text.startswith(("[redacted:", "'[redacted:", '"[redacted:'), found.end()):
                continue
            first, last = place(found, "n")
            name = text[max(first, last - _LONGEST_NAME) : last]
            strength = _strength(name)
            if first < done or not strength or name[-1] in ".-":
                continue
            if strength == "weak" and not _has_digit(
                text[found.end() : found.end() + _NEAR].lstrip().partition(" ")[0]
            ):
                continue  # Cheaper than to look for where the value ends; it would not look random.
            sep = text[place(found, "sep")[0] : found.end()]
            if (
                pattern is _IN_PROSE
                and not sep.strip()
                and not _has_digit(text[found.end() : found.end() + 24])
            ):
                continue
            close = text[last : place(found, "sep")[0]]
            start, end, quoted = _value(text, found.end(), block=bool(close) or strength == "word")
            value = text[start:end]
            if (
                pattern is _IN_PROSE
                and not (quoted and sep.strip())
                and not _random_word(value, bool(sep.strip()))
            ):
                continue
            if quoted and not close and first and text[first - 1] == text[found.end()] != " ":
                continue  # The quote that follows closes the one before the name: "password:".
            if quoted and text[start - 1] == "`" and name.lower().endswith("pwd"):
                continue
            if is_secret(
                value,
                strong=strength != "weak",
                word=strength == "word",
                quoted=quoted,
                spaced=sep[:1].isspace() or sep[-1:].isspace(),
                colon=":" in sep or "：" in sep,
                name=name,
            ):
                done = end
                yield Span(start, end, "token" if name.lower().endswith("token") else "password")
    for pattern in (_PAIR, _BARE_KEY):
        for found in pattern.finditer(text):
            start, end = place(found, "v")
            if looks_random(text[start:end]):
                yield Span(start, end, "token")


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _random_word(value: str, said: bool) -> bool:
    """Whether a word of prose is a secret: "is" before it asks less of it than nothing does."""
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    return mixed and (len(value) >= 8 if said else len(value) >= 16 and looks_random(value))


@lru_cache(maxsize=4096)
def _strength(name: str) -> str:
    """How far a name speaks for a secret: "word" (a password), "strong", "weak" (a token, a session) or ""."""
    lowered = str(_CAMEL.sub(r"\1_\2", name)).lower().replace(" ", "_")
    if lowered.endswith("private_key_id"):
        return "strong"
    words = [word for word in lowered.replace("-", "_").replace(".", "_").split("_") if word]
    while len(words) > 1 and words[-1] in _TRAILING:
        words.pop()
    if not words:
        return ""
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last in ("pass", "pw"):
        return "" if before in _NO_PASS else "word" if before else "weak"
    if last.endswith(_WORDLY) and not last.endswith("bypass"):
        return "word" if last.endswith("pwd") or last != "pass" else ""
    if last.endswith(_STRONG) or (last == "key" and before in _OF_KEY):
        return "strong"
    if last.endswith("token"):
        return "" if before in _NO_TOKEN else "weak"
    return "weak" if last in _WEAK or (last == "key" and before) else ""


def _value(text: str, start: int, *, block: bool) -> tuple[int, int, bool]:
    """Start and end of the value that begins at or soon after `start`, and whether it is quoted."""
    near = text[start : start + _NEAR]
    word = near.partition(" ")[0]
    # Most values are a word and a blank: no pattern has to look.
    if word.isalnum() and word.isascii() and len(word) < len(near):
        return start, start + len(word), False
    if near[:1] in _STARTS_BLOCK and (block or near[:1] == "\\"):
        moved = _BLOCK.match(near)
        if moved is not None:
            start += moved.end()
            near = text[start : start + _NEAR]
    opening = _OPENING.match(near) if any(quote in near[:48] for quote in "\"'`") else None
    if opening is not None:
        last = _closing(
            text[start : start + _LONGEST], opening.end(), near[place(opening, "q")[0] : opening.end()]
        )
        return start + opening.end(), start + last, True
    ending = _END_OF_BARE.search(near)
    if ending is None and len(near) == _NEAR:
        near = text[start : start + _LONGEST]
        ending = _END_OF_BARE.search(near)
    value = near[: ending.start()] if ending is not None else near
    while value and (value[-1] in ",;*" or (value[-1] in ")]}" and not _balanced(value))):
        value = value[:-1]
    end = start + len(value)
    cut = value.endswith("\\")
    if cut:
        end -= 1
    return start, end_with_rest(text, start, end) if cut or looks_random(value) else end, False


def _balanced(value: str) -> bool:
    return all(value.count(a) == value.count(b) for a, b in ("()", "[]", "{}"))


def _closing(rest: str, first: int, quote: str) -> int:
    """Where a quoted value ends: at its closing quote, else with its line."""
    at = rest.find(quote, first)
    while at > 0 and not quote.startswith("\\") and rest[at - 1] == "\\" and rest[at - 2 : at] != "\\\\":
        at = rest.find(quote, at + 1)
    line = rest.find("\n", first)
    if at < 0 or (0 <= line < at and (len(quote.lstrip("\\")) == 1 and rest.count("\n", first, at) > 2)):
        at = line if line >= 0 else len(rest)
    return at
