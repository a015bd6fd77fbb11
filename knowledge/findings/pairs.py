"""How well each entry of the catalogue fits a report, as numbers that a matcher weighs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from embeddings.encoder import Encoder
from embeddings.lexical import LexicalIndex
from knowledge.evidence import Reading, read_report
from knowledge.evidence.lines import Kind
from knowledge.findings.conditions import held_by, of_framework, of_version
from knowledge.findings.failure import Failure
from knowledge.findings.source import Example
from knowledge.judging.features import Floats, embed
from knowledge.judging.retrieve import query_text
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from knowledge.signatures.line_filter import LineFilter

# What entries look like in words: sentence vectors and a word index of each entry and of its example reports.

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Text:
    """One text that stands for an entry: its words and its two sentence vectors (float32, 2 x dims)."""

    entry: str
    words: str
    vectors: Floats


@dataclass(frozen=True, slots=True)
class Profiles:
    """Texts of all entries, ready to be compared with a report's."""

    ids: tuple[str, ...]
    rows: npt.NDArray[np.int32]
    """The entry of each vector, as its place in `ids`: (n,)."""
    vectors: Floats
    """Unit vectors: (n, dims)."""
    lexical: LexicalIndex

    @classmethod
    def of(cls, ids: Sequence[str], texts: Sequence[Text]) -> Profiles:
        """Index the texts; both halves of a text's vectors count as one each."""
        place = {id: n for n, id in enumerate(ids)}
        rows = np.array([place[text.entry] for text in texts for _ in range(2)], np.int32)
        dims = len(texts[0].vectors) // 2
        vectors = np.concatenate([text.vectors.reshape(2, dims) for text in texts])
        lexical = LexicalIndex.build([text.entry for text in texts], [text.words for text in texts])
        return cls(tuple(ids), rows, vectors.astype(np.float32), lexical)

    def likeness(self, vectors: Floats) -> Array:
        """Highest cosine between each half of a report's vectors and any text of each entry: (2, entries)."""
        cosines = (self.vectors @ vectors.reshape(2, -1).T).T
        by_entry = np.argsort(self.rows, kind="stable")
        known, starts = np.unique(self.rows[by_entry], return_index=True)
        best = np.maximum.reduceat(cosines[:, by_entry], starts, axis=1).astype(np.float64)
        # An entry newer than the last training has no text here: neither near nor far.
        out = np.repeat(best.mean(axis=1, keepdims=True), len(self.ids), axis=1)
        out[:, known] = best
        return out

    def words_in_common(self, text: str) -> Array:
        """BM25 score of the best text of each entry: (entries,)."""
        found = self.lexical.best(text)
        return np.array([found.get(id, 0.0) for id in self.ids])


def entry_texts(entries: Mapping[str, Failure], encoder: Encoder, table: SignatureTable) -> list[Text]:
    """A text of each entry's own words: title, what happens, the causes' signs."""
    reports = [
        Report(id, entry.title, f"{entry.what}\n\n{' '.join(entry.why)}\n\n{entry.answer}")
        for id, entry in entries.items()
    ]
    return _texts(list(entries), reports, encoder, table)


def example_texts(examples: Sequence[Example], encoder: Encoder, table: SignatureTable) -> list[Text]:
    """A text of each example report."""
    reports = [Report(f"{e.failure}-{e.kind}", e.title, e.body) for e in examples]
    return _texts([e.failure for e in examples], reports, encoder, table)


def _texts(
    ids: Sequence[str], reports: Sequence[Report], encoder: Encoder, table: SignatureTable
) -> list[Text]:
    readings = [read_report(report, table) for report in reports]
    vectors = embed(readings, encoder)
    return [
        Text(id, query_text(reading), row) for id, reading, row in zip(ids, readings, vectors, strict=True)
    ]


CANDIDATES = 20
"""Entries without a telltale line that are looked at, the likest first."""
NAMES = (
    "constant",
    "line_in_log",
    "line_in_prose",
    "line_in_code",
    "line_is_rare",
    "several_lines",
    "line_is_root",
    "signature",
    "like_account",
    "like_lines",
    "likest",
    "words",
    "most_words",
    "like_and_words",
    "framework_fits",
    "framework_differs",
    "version_fits",
    "version_differs",
    "symptom",
    "another_line",
)
"""What the columns are, in order."""
_SAID = frozenset({Kind.PROSE, Kind.HEADING, Kind.COMMAND, Kind.ENVIRONMENT})
_READ = frozenset({Kind.LOG, Kind.CODE, *_SAID})


@dataclass(frozen=True, slots=True)
class Pairs:
    """The candidates for one report: their ids, the numbers of each, and the lines they rest on."""

    ids: tuple[str, ...]
    values: Array
    """(candidates, len(NAMES))."""
    lines: tuple[tuple[int, ...], ...]
    """1-based lines of the body; 0 = the title."""
    held: tuple[tuple[str, ...], ...]
    """Conditions of the entry that the report meets, in words."""


class Catalogue:
    """The entries with everything that comparing needs; shared by threads, never changed."""

    def __init__(
        self, entries: Mapping[str, Failure], profiles: Profiles, rarity: Mapping[str, float]
    ) -> None:
        """`rarity`: -log10 of the share of ordinary reports that hold a telltale line of the entry."""
        self.entries = {id: entries[id] for id in profiles.ids}
        self.profiles = profiles
        self.rarity = np.array([rarity.get(id, 3.0) for id in profiles.ids])
        self._owners = [n for n, e in enumerate(self.entries.values()) for _ in e.patterns]
        self._filter = LineFilter([p for e in self.entries.values() for p in e.patterns])
        self._by_signature: dict[str, list[int]] = {}
        for n, entry in enumerate(self.entries.values()):
            for signature in entry.signatures:
                self._by_signature.setdefault(signature, []).append(n)

    @cached_property
    def _list(self) -> tuple[Failure, ...]:
        return tuple(self.entries.values())

    def telltale(self, reading: Reading) -> dict[int, list[tuple[int, str, int]]]:
        """Entries with the lines that tell: place in the catalogue to [(line, where, pattern)]."""
        units = [(0, "prose", reading.report.title)]
        units += [(line.number, _where(line.kind), line.text) for line in reading.lines if line.kind in _READ]
        found: dict[int, list[tuple[int, str, int]]] = {}
        for pattern, unit, _, _ in self._filter.match([text for _, _, text in units]):
            number, where, _ = units[unit]
            found.setdefault(self._owners[pattern], []).append((number, where, pattern))
        return found

    def pairs(self, reading: Reading, vectors: Floats, symptom: Mapping[str, float]) -> Pairs:
        """Compare a report with the entries that it may be; `symptom`: how probable each symptom is."""
        found = self.telltale(reading)
        signed = self._signed(reading)
        like = self.profiles.likeness(vectors)
        words = self.profiles.words_in_common(query_text(reading))
        z_like = _standard(like.max(axis=0))
        z_words = _standard(words)
        both = z_like + z_words
        near = [int(n) for n in np.argsort(-both)[:CANDIDATES]]
        chosen = list(dict.fromkeys([*found, *signed, *near]))
        roots = {d.number for d in reading.decisive[:3]}
        telling = {n for n, lines in found.items() if any(where == "log" for _, where, _ in lines)}
        rows = []
        held = []
        for n in chosen:
            entry = self._list[n]
            lines = found.get(n, [])
            places = {where for _, where, _ in lines}
            framework, version = of_framework(entry, reading), of_version(entry, reading)
            rows.append(
                [
                    1.0,
                    float("log" in places),
                    float("prose" in places and "log" not in places),
                    float(places == {"code"}),
                    self.rarity[n] / 3 if places & {"log", "prose"} else 0.0,
                    float(min(len({p for _, _, p in lines}), 3) - 1) if lines else 0.0,
                    float(any(number in roots for number, _, _ in lines)),
                    float(n in signed and not places),
                    like[0, n],
                    like[1, n],
                    z_like[n] / 3,
                    z_words[n] / 3,
                    float(n == int(words.argmax()) and words[n] > 0),
                    both[n] / 6 if both[n] > 3 else 0.0,
                    float(framework == 1),
                    float(framework == -1),
                    float(version == 1),
                    float(version == -1),
                    float(np.log(sum(symptom.get(id, 0.0) for id in entry.symptom) + 0.02)),
                    float(bool(telling - {n}) and n not in telling),
                ]
            )
            held.append(held_by(entry, reading))
        numbers = tuple(tuple(dict.fromkeys(number for number, _, _ in found.get(n, []))) for n in chosen)
        ids = tuple(self.profiles.ids[n] for n in chosen)
        return Pairs(ids, np.array(rows).reshape(-1, len(NAMES)), numbers, tuple(held))

    def _signed(self, reading: Reading) -> set[int]:
        ids = {hit.signature.id for _, hit in reading.hits if hit.signature.role == "root"}
        return {n for id in ids for n in self._by_signature.get(id, ())}


def _where(kind: Kind) -> str:
    return "log" if kind is Kind.LOG else "prose" if kind in _SAID else "code"


def _standard(values: Array) -> Array:
    spread = values.std()
    return np.asarray((values - values.mean()) / spread if spread > 0 else values * 0)
