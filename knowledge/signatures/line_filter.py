"""Many patterns searched in the lines of a text in one pass, ready without compiling them all."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

import re2

from knowledge.errors import DataError

MAX_LINE = 2_000
"""Characters of a line that are looked at; longer ones are dumps."""
MAX_HITS = 20
"""Hits of one pattern in one call; a log repeats itself."""
_AT_ONCE = 48_000
"""Characters after which all patterns are compiled: until then a text is searched for their words first."""

_PART = 1_000
"""Patterns of one re2.Filter: the literals of 1,700 no longer fit into its memory, which can't be set."""
_Part = tuple[Sequence[int], re2.Filter]


class LineFilter:
    """Patterns of which one pass over a line tells which it holds.

    re2.Filter looks for the patterns' literals first and runs only those whose literals are there: 0.2 ms for 100
    lines. One re2.Set over all patterns finds the same in 1.4 ms and 64 MB: with so many ".*" its automaton outgrows
    its memory and is rebuilt again and again.

    Compiling 1,200 patterns takes 0.08 s. A process that triages one report compiles those alone that can match it.
    """

    def __init__(self, patterns: Sequence[str]) -> None:
        """`patterns`: RE2; their places are their names."""
        self._patterns = tuple(patterns)
        self._words = [(word, n) for n, pattern in enumerate(patterns) for word in words_of(pattern)]
        self._all: list[_Part] | None = None
        self._searched = 0

    def match(self, lines: Sequence[str]) -> Iterator[tuple[int, int, int, int]]:
        """(pattern, line, start, end) of every hit, by line; at most MAX_HITS of each pattern."""
        # A lone surrogate is not UTF-8; "?" keeps every offset where it was.
        texts = [line[:MAX_LINE].encode("utf-8", "replace") for line in lines]
        parts = self._compiled(texts)
        counts: Counter[int] = Counter()
        for number, text in enumerate(texts):
            for places, among in parts:
                for index in sorted(among.Match(text) or ()):
                    place = places[index]
                    if counts[place] < MAX_HITS:
                        counts[place] += 1
                        found = among.re(index).search(text.decode("utf-8"))
                        yield place, number, found.start(), found.end()

    def _compiled(self, texts: Sequence[bytes]) -> list[_Part]:
        """Patterns by their places, compiled: all that can match one of the texts are among them."""
        if self._all is None:
            self._searched += sum(map(len, texts))
            if self._searched <= _AT_ONCE:
                whole = b"\n".join(texts).decode("utf-8").casefold()
                places = sorted({place for word, place in self._words if word in whole})
                return self._parts(places)
            self._all = self._parts(range(len(self._patterns)))
        return self._all

    def _parts(self, places: Sequence[int]) -> list[_Part]:
        return [self._part(places[n : n + _PART]) for n in range(0, len(places), _PART)]

    def _part(self, places: Sequence[int]) -> _Part:
        made = re2.Filter()
        for place in places:
            made.Add(self._patterns[place])
        made.Compile()
        return places, made


# The words that tell whether a pattern can match at all, worked out when the program is made.

COMPILED_WORDS = Path(__file__).parent / "words.json"
ANYWHERE: tuple[str, ...] = ("",)
"""The words of a pattern that has none: they are in every text."""
_OPENERS = ("(?i)", "(?:", "(?i:", "(")
_QUANTIFIED = frozenset("?*{")
_LITERAL = frozenset("abcdefghijklmnopqrstuvwxyz0123456789 _-/=:;,'\"<>@#%&!~`")


def words_of(pattern: str) -> tuple[str, ...]:
    """Texts in small letters: every line that a pattern matches holds one. ANYWHERE where that can't be told."""
    kept = _shipped().get(pattern)
    return tuple(kept) if kept else work_out(pattern)


@cache
def _shipped() -> dict[str, list[str]]:
    try:
        kept: dict[str, list[str]] = json.loads(COMPILED_WORDS.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(
            f"Can't read {COMPILED_WORDS.name}: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error
    return kept


def compiled_words(patterns: Iterable[str]) -> str:
    """The text of words.json: the words of each pattern, one pattern a line."""
    lines = (
        f"{json.dumps(pattern, ensure_ascii=False)}: {json.dumps(work_out(pattern))}" for pattern in patterns
    )
    return "{\n" + ",\n".join(dict.fromkeys(lines)) + "\n}\n"


def work_out(pattern: str) -> tuple[str, ...]:
    """`words_of` from the pattern itself. Syntax that isn't understood ends a word, so that none is too long."""
    words, end = _alternatives(pattern, 0)
    return words if end == len(pattern) else ANYWHERE


def _alternatives(pattern: str, at: int) -> tuple[tuple[str, ...], int]:
    """The words of alternatives up to the closing parenthesis or the end, and where that is."""
    found: list[str] = []
    while True:
        words, at = _sequence(pattern, at)
        found += words
        if at >= len(pattern) or pattern[at] == ")":
            return (ANYWHERE if "" in found else tuple(dict.fromkeys(found))), at
        at += 1  # behind "|"


def _sequence(pattern: str, at: int) -> tuple[tuple[str, ...], int]:
    """The most telling words of one alternative, and where it ends."""
    best, run = ANYWHERE, ""
    while at < len(pattern) and pattern[at] not in "|)":
        part, at = _part(pattern, at)
        optional = pattern[at : at + 1] in _QUANTIFIED
        repeated = pattern[at : at + 1] == "+"
        if isinstance(part, str) and part and not optional:
            run += part
            best = _better(best, (run,))
        elif isinstance(part, tuple) and not optional:
            best = _better(best, part)
        if not isinstance(part, str) or not part or optional or repeated:
            run = ""
        at = _behind_quantifier(pattern, at)
    return best, at


def _better(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """Longer words first, fewer of them where that is equal."""
    return max(one, other, key=lambda words: (min(map(len, words)), -len(words)))


def _part(pattern: str, at: int) -> tuple[str | tuple[str, ...], int]:
    """What stands at a place, and where the next part begins: a letter, "" for anything else, a group's words."""
    char = pattern[at]
    if char == "(":
        opener = next((o for o in _OPENERS if pattern.startswith(o, at)), "(")
        if opener == "(?i)":
            return "", at + len(opener)
        words, end = _alternatives(pattern, at + len(opener))
        known = opener != "(" or pattern[at + 1 : at + 2] != "?"
        return (words if known else ANYWHERE), end + 1
    if char == "[":
        return "", _behind_class(pattern, at)
    if char == "\\":
        literal = pattern[at + 1 : at + 2]
        if literal in ("x", "p", "P", "Q"):
            return "", len(pattern) + 1  # longer escapes: the whole pattern counts as not understood
        return (literal if not literal.isalnum() and literal in _LITERAL | {"."} else ""), at + 2
    folded = char.casefold()
    return (folded if folded in _LITERAL else ""), at + 1


def _behind_class(pattern: str, at: int) -> int:
    at += 2 if pattern.startswith("[^", at) else 1
    at += 1 if pattern[at : at + 1] == "]" else 0
    while at < len(pattern) and pattern[at] != "]":
        named = pattern.startswith("[:", at)
        at = pattern.find(":]", at) + 2 if named else at + (2 if pattern[at] == "\\" else 1)
    return at + 1


def _behind_quantifier(pattern: str, at: int) -> int:
    if pattern[at : at + 1] == "{":
        at = pattern.find("}", at) + 1 or len(pattern)
    elif pattern[at : at + 1] in ("?", "*", "+"):
        at += 1
    return at + (pattern[at : at + 1] == "?")
