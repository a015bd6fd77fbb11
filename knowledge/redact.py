"""Secrets leave the text here, before anything stores, embeds, sends or shows it.

Linear time (RE2), idempotent (a placeholder matches no rule), and line numbers stay what they were.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import re2

_RULES_FILE = Path(__file__).parent / "redact.toml"


@dataclass(frozen=True, slots=True)
class Redacted:
    """The cleaned text and how many secrets of each kind were removed."""

    text: str
    counts: dict[str, int]


@dataclass(frozen=True, slots=True)
class _Rule:
    kind: str
    pattern: re2._Regexp
    hints: tuple[str, ...]

    @property
    def group(self) -> int:
        return int(self.pattern.groupindex["s"])


def _compile(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = 64 << 20
    return re2.compile(pattern, options)


@cache
def _rules() -> tuple[_Rule, ...]:
    with _RULES_FILE.open("rb") as file:
        entries = tomllib.load(file)["rule"]
    return tuple(_Rule(e["kind"], _compile(e["pattern"]), tuple(e.get("hints", ()))) for e in entries)


def redaction_kinds() -> tuple[str, ...]:
    """Every kind of secret that is recognised, in the order the rules run."""
    return tuple(dict.fromkeys(rule.kind for rule in _rules()))


def redact(text: str) -> Redacted:
    """Replace each secret by `[redacted:KIND]`; the group named `s` of a rule is what goes."""
    # RE2 reads UTF-8, which has no form for a lone surrogate.
    text = text.encode("utf-8", "replace").decode("utf-8")
    counts: Counter[str] = Counter()
    lowered = text.lower()
    for rule in _rules():
        # Most rules need a word that most texts lack; looking for it is far cheaper than the pattern.
        if rule.hints and not any(hint in lowered for hint in rule.hints):
            continue

        def replace(match: re2._Match, kind: str = rule.kind, rule_group: int = rule.group) -> str:
            secret = match.group("s")
            if secret.startswith("[redacted:"):
                return str(match.group(0))
            counts[kind] += 1
            start = match.start(rule_group) - match.start(0)
            whole = match.group(0)
            kept_lines = "\n" * secret.count("\n")
            return str(whole[:start] + f"[redacted:{kind}]" + kept_lines + whole[start + len(secret) :])

        text = rule.pattern.sub(replace, text)
    return Redacted(text, dict(counts))
