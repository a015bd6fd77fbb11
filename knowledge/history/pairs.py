"""Two reports compared: numbers that rank the earlier ones, and numbers that tell a repeat from a look-alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import Protocol

import numpy as np
import numpy.typing as npt

from knowledge.history.index import all_words
from knowledge.history.record import Record

Array = npt.NDArray[np.float64]

NAMES = ("words", "title", "errors", "frames", "near", "age")
"""Columns of `compare`, in order."""
_UNKNOWN_AGE = 90.0
"""Days taken for a pair where a date is missing: the median of pairs in tracker exports is of this order."""


class Rarities(Protocol):
    """How rare words are in a repository; `Postings` in memory, a table of counts in a database."""

    def rarity(self, words: Sequence[str]) -> Array:
        """Inverse document frequency of each word."""
        ...


def compare(record: Record, others: Sequence[Record], rarities: Rarities) -> Array:
    """Numbers of the pairs of `record` with each of `others`, float (len(others), len(NAMES)).

    words, errors, frames: cosines of TF-IDF weights of the whole reports, of their error lines, of their innermost
    stacks. title: how well the title of one is found in the other, whichever way it is found better: reporters put
    into the text what another makes the title. near: cosine of the sentence vectors of the accounts.
    age: -log(1 + days between the two), since most are reported again while the failure is fresh.
    """
    whole, wholes = all_words(record), [all_words(other) for other in others]
    near = np.array([other.vectors[1] @ record.vectors[1] for other in others])
    frames, stacks = dict.fromkeys(record.frames, 1), [dict.fromkeys(other.frames, 1) for other in others]
    errors = [other.error for other in others]
    weights, same = (
        _Weights(rarities, [whole, record.error, *wholes, *errors]),
        _Weights(_Even(), [frames, *stacks]),
    )
    bodies, titles = weights.rows(wholes), weights.rows([other.title for other in others])
    columns = (
        weights.cosines(whole, bodies),
        np.maximum(weights.cosines(whole, titles), weights.cosines(record.title, bodies)),
        weights.cosines(record.error, weights.rows(errors)),
        same.cosines(frames, same.rows(stacks)),
        near,
        np.array([-np.log1p(_days(record, other)) for other in others]),
    )
    return np.stack([np.asarray(column, float) for column in columns], axis=1)


def _days(record: Record, other: Record) -> float:
    if record.opened is None or other.opened is None:
        return _UNKNOWN_AGE
    return abs((record.opened - other.opened).total_seconds()) / 86_400


class _Even:
    """Every word is as rare as the next."""

    def rarity(self, words: Sequence[str]) -> Array:
        return np.ones(len(words))


class _Rows:
    """TF-IDF weights of several texts, each of length 1, as one list of (text, word, weight)."""

    def __init__(self, texts: Sequence[Mapping[str, int]], number: Mapping[str, int], rarity: Array) -> None:
        self.texts = len(texts)
        self.text = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
        self.word = np.fromiter(map(number.__getitem__, chain.from_iterable(texts)), np.int64, len(self.text))
        counts = np.fromiter(chain.from_iterable(text.values() for text in texts), float, len(self.text))
        weight = (1 + np.log(counts)) * rarity[self.word]
        lengths = np.sqrt(np.bincount(self.text, weight**2, self.texts))
        self.weight = weight / np.maximum(lengths, 1e-9)[self.text]


class _Weights:
    """TF-IDF cosines over the words that occur in one comparison."""

    def __init__(self, rarities: Rarities, texts: Sequence[Mapping[str, int]]) -> None:
        words = dict.fromkeys(chain.from_iterable(texts))
        self._number = {word: n for n, word in enumerate(words)}
        self._rarity = rarities.rarity(list(words))

    def rows(self, texts: Sequence[Mapping[str, int]]) -> _Rows:
        return _Rows(texts, self._number, self._rarity)

    def cosines(self, text: Mapping[str, int], others: _Rows) -> Array:
        own, query = np.zeros(len(self._number)), self.rows([text])
        own[query.word] = query.weight
        return np.asarray(np.bincount(others.text, own[others.word] * others.weight, others.texts), float)


# What tells a repeat from a look-alike. A tracker of tasks is full of series ("Replace X in module A", "... in module
# B"; "Upgrade X to 1.2", "... to 1.3"): their texts are as alike as two reports of one failure, and differ in one name.

TELLING = (
    "same_title",
    "subject_words",
    "subject",
    "same_test",
    "missing",
    "contrast",
    "things",
    "things_alike",
    "versions",
    "shared",
    "rare_error",
)
"""Columns of `telling`, in order."""
_TASK_WORDS = (
    "add added adding break breaks broken bug bump bumping error errors fail failed failing fails failure failures fix "
    "fixed fixes fixing issue issues new problem support test tests update updated updates updating upgrade upgraded "
    "upgrades upgrading use using version versions"
)
_TASKS = frozenset(_TASK_WORDS.split())
"""What a title wants or complains of, whatever its subject: "Bump X", "Upgrade X version" and "Use X" are one."""
_FULL = 2.5
"""Rarity of a subject from which on more of it says no more: two or three rare words."""
_RARE = 5
"""Reports that hold a rare word at most."""
_SEPARATORS = str.maketrans("", "", ".-_")
_LONG = 6
"""Characters of a word from which on it may be two words of the other report: JournalNode, journal node."""
_VERSION = re.compile(r"v?\d+(?:\.\d+)+|cve-\d")
_THING = re.compile(r"[.\-_\d]")
_TEST = re.compile(r"i?test.{4}|test_|.{4,}test$")


def telling(record: Record, others: Sequence[Record], rarities: Rarities) -> Array:
    """Numbers of the pairs of `record` with each of `others`, float (len(others), len(TELLING)).

    Rarity here is log((1 + reports) / (1 + those with the word)), divided by that of a word which no report has, so
    that a number means the same in a small and in a large repository.

    A title's subject is its words without those that any task or complaint has ("upgrade", "fails").

    same_title: 1 where neither title has a word that the other lacks. subject_words: of the rarity of both subjects,
    the share of what they have in common. subject: that share, times the rarity in common, at most 2.5. same_test: 1
    where both subjects name a test, and neither another one. missing: rarity of this title's words that the other
    report nowhere has. contrast: 1 where each subject has a word that the other report nowhere has. things: 1 where
    each subject names a number, version or compound that the other does not; things_alike: that, times subject_words,
    since alike titles with different names are a series. versions: rarity of the versions in both titles. shared:
    log(1 + rarity of all words in common). rare_error: likeness of the errors, times log(1 + number of their common
    words that at most five reports have).
    """
    pairs = [_Pair(record, other) for other in others]
    words = list({word for pair in pairs for word in pair.words})
    (most,), found = rarities.rarity([""]) - 1, rarities.rarity(words) - 1
    rarity = dict(zip(words, found / max(most, 1.0), strict=True))
    rare = (most - np.log(1 + _RARE)) / max(most, 1.0)
    errors = [other.error for other in others]
    weights = _Weights(rarities, [record.error, *errors])
    alike = weights.cosines(record.error, weights.rows(errors))
    rows = [pair.numbers(rarity) for pair in pairs]
    rare_errors = [
        likeness * np.log1p(sum(rarity[word] >= rare for word in pair.errors))
        for pair, likeness in zip(pairs, alike, strict=True)
    ]
    return np.array([[*row, error] for row, error in zip(rows, rare_errors, strict=True)]).reshape(
        -1, len(TELLING)
    )


class _Pair:
    """The words of two reports, and which of their subjects' words the other lacks."""

    def __init__(self, record: Record, other: Record) -> None:
        own, theirs = all_words(record).keys(), all_words(other).keys()
        self._titles = (record.title.keys(), other.title.keys())
        self._subjects = (self._titles[0] - _TASKS, self._titles[1] - _TASKS)
        self._common = own & theirs
        self._same_title = not _lacking(record.title, self._titles[1]) and not _lacking(
            other.title, self._titles[0]
        )
        self._missing = _lacking(record.title, theirs)
        first, second = self._subjects
        self._only = (_lacking(first, second), _lacking(second, first))
        self._nowhere = (self._missing - _TASKS, _lacking(self._only[1], own))
        self.errors = record.error.keys() & other.error.keys()
        self.words = {*self._titles[0], *self._titles[1], *self._common, *self.errors}

    def numbers(self, rarity: Mapping[str, float]) -> list[float]:
        """All of TELLING but the last."""

        def total(words: Iterable[str]) -> float:
            return sum(rarity[word] for word in words)

        first, second = self._only
        common = total(self._subjects[0] - first)
        share = common / max(common + total(first) + total(second), 1e-9)
        things = float(all(any(map(_THING.search, only)) for only in self._only))
        return [
            float(self._same_title),
            share,
            share * min(common, _FULL),
            float(self._same_test()),
            total(self._missing),
            float(all(self._nowhere)),
            things,
            things * share,
            total(word for word in self._titles[0] & self._titles[1] if _VERSION.match(word)),
            float(np.log1p(total(self._common))),
        ]

    def _same_test(self) -> bool:
        first, second = self._subjects
        return any(map(_TEST.match, first & second)) and not any(
            map(_TEST.match, self._only[0] | self._only[1])
        )


def _lacking(words: Iterable[str], other: Set[str]) -> set[str]:
    """Those of `words` that the other report has in no spelling: "no-op" is "noop", "v2.0" is "2.0"."""
    lacking = [word for word in words if word not in other]
    if not lacking:
        return set()
    spelled = {_plain(word) for word in other}
    return {word for word in lacking if _plain(word) not in spelled and not _joined(word, other)}


def _plain(word: str) -> str:
    plain = word.translate(_SEPARATORS)
    return plain[1:] if plain[:1] == "v" and plain[1:2].isdecimal() else plain


def _joined(word: str, other: Set[str]) -> bool:
    return len(word) >= _LONG and any(
        word[:at] in other and word[at:] in other for at in range(3, len(word) - 2)
    )
