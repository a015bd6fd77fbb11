"""What entries look like in words: sentence vectors and a word index of each entry and of its example reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from embeddings.encoder import Encoder
from embeddings.lexical import LexicalIndex
from knowledge.evidence import read_report
from knowledge.findings.failure import Failure
from knowledge.findings.source import Example
from knowledge.judging.features import Floats, embed
from knowledge.judging.retrieve import query_text
from knowledge.report import Report
from knowledge.signatures import SignatureTable

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
        halves = vectors.reshape(2, -1)
        cosines = halves @ self.vectors.T
        out = np.full((2, len(self.ids)), -1.0)
        for half in range(2):
            np.maximum.at(out[half], self.rows, cosines[half])
        # An entry newer than the last training has no text here: neither near nor far.
        known = np.isin(np.arange(len(self.ids)), self.rows)
        out[:, ~known] = out[:, known].mean(axis=1, keepdims=True)
        return out

    def words_in_common(self, text: str) -> Array:
        """BM25 score of the best text of each entry: (entries,)."""
        found = dict(self.lexical.search(text, len(self.ids)))
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
