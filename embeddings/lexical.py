"""BM25 over the words of a report, and hit lists of unlike scores made into one.

Okapi BM25 as in Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009), section 3.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from embeddings.tokens import tokens

_K1 = 1.2
"""How fast repeating a word stops adding to a document's score."""
_B = 0.75
"""How much a long document is discounted."""
_K3 = 1.0
"""The same for the query: a log repeats its lines, which makes them no more telling."""

Arrays = dict[str, npt.NDArray[Any]]


class LexicalIndex:
    """An inverted index with the BM25 weight of each posting worked out beforehand."""

    def __init__(
        self, keys: Sequence[str], words: Sequence[str], arrays: Mapping[str, npt.NDArray[Any]]
    ) -> None:
        """Take the parts as `to_arrays` gives them; `build` is the way to make a new index."""
        self.keys = tuple(keys)
        self._number = {word: at for at, word in enumerate(words)}
        self._starts = arrays["starts"]
        self._documents = arrays["documents"]
        self._weights = arrays["weights"]

    @classmethod
    def build(cls, keys: Sequence[str], texts: Sequence[str]) -> LexicalIndex:
        """Index texts[i] under keys[i]; a key may come with several texts."""
        counts = [Counter(tokens(text)) for text, _ in zip(texts, keys, strict=True)]
        lengths = np.array([count.total() for count in counts], dtype=np.float64)
        discount = 1 - _B + _B * lengths / max(lengths.mean() if len(lengths) else 0.0, 1.0)
        postings: dict[str, list[tuple[int, int]]] = {}
        for document, count in enumerate(counts):
            for word, times in count.items():
                postings.setdefault(word, []).append((document, times))
        words = sorted(postings)
        flat = np.array([entry for word in words for entry in postings[word]], dtype=np.int64).reshape(-1, 2)
        sizes = np.array([len(postings[word]) for word in words], dtype=np.int64)
        documents, counted = flat[:, 0], flat[:, 1].astype(np.float64)
        rarity = np.log1p((len(counts) - sizes + 0.5) / (sizes + 0.5))
        weights = np.repeat(rarity, sizes) * counted * (_K1 + 1) / (counted + _K1 * discount[documents])
        arrays: Arrays = {
            "starts": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            "documents": documents.astype(np.int32),
            "weights": weights.astype(np.float32),
        }
        return cls(keys, words, arrays)

    def __len__(self) -> int:
        """Number of documents."""
        return len(self.keys)

    def search(self, text: str, k: int) -> list[tuple[str, float]]:
        """Return the `k` best keys for `text`, best first, each once with its best document's score.

        Documents that share no word with the text are left out; equal scores keep the order of the documents.
        """
        scores = self._scores(text)
        best: dict[str, float] = {}
        for document in np.argsort(-scores, kind="stable"):
            if scores[document] <= 0 or len(best) >= k:
                break
            best.setdefault(self.keys[document], float(scores[document]))
        return list(best.items())

    def best(self, text: str) -> dict[str, float]:
        """Every key that shares a word with the text, in no order, with its best document's score."""
        scores = self._scores(text).tolist()
        best: dict[str, float] = {}
        for key, score in zip(self.keys, scores, strict=True):
            if score > best.get(key, 0.0):
                best[key] = score
        return best

    def _scores(self, text: str) -> npt.NDArray[np.float32]:
        """The score of each document."""
        scores = np.zeros(len(self.keys), dtype=np.float32)
        for word, times in Counter(tokens(text)).items():
            number = self._number.get(word)
            if number is not None:
                span = slice(self._starts[number], self._starts[number + 1])
                scores[self._documents[span]] += self._weights[span] * (times * (_K3 + 1) / (times + _K3))
        return scores

    def to_arrays(self) -> Arrays:
        """Return the index as plain arrays, for numpy.savez without pickles."""
        names = {"keys": list(self.keys), "words": list(self._number)}
        packed = {name: np.frombuffer(json.dumps(value).encode(), np.uint8) for name, value in names.items()}
        return {**packed, "starts": self._starts, "documents": self._documents, "weights": self._weights}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> LexicalIndex:
        """Rebuild the index that `to_arrays` took apart."""
        keys, words = (json.loads(arrays[name].tobytes()) for name in ("keys", "words"))
        return cls(keys, words, arrays)


# Hit lists of unlike scores (BM25, cosine) into one list.
#
# Reciprocal rank fusion, after Cormack, Clarke and Buettcher (SIGIR 2009): ranks compare where scores do not.

Hits = Sequence[tuple[str, float]]

_K = 60
"""The paper's constant: how slowly the weight of a rank falls off."""


def fuse(
    lists: Sequence[Hits], weights: Sequence[float] | None = None, k: int | None = None
) -> list[tuple[str, float]]:
    """Return each key once with its fused score in [0, 1], best first; 1 = first in every list.

    `lists` are hit lists, best first; only the first place of a key in a list counts. `weights` (default:
    equal) say how much each list counts; `k` keeps that many. Equal scores keep the order of the lists.
    Raises ValueError when the weights do not fit the lists or one is negative.
    """
    weights = [1.0] * len(lists) if weights is None else weights
    if len(weights) != len(lists) or min(weights, default=0) < 0:
        raise ValueError(f"{len(weights)} weights do not fit {len(lists)} lists")
    scores: dict[str, float] = {}
    for hits, weight in zip(lists, weights, strict=True):
        seen = dict.fromkeys(key for key, _ in hits)
        for rank, key in enumerate(seen, start=1):
            scores[key] = scores.get(key, 0.0) + weight / (_K + rank)
    best = sum(weights) / (_K + 1)
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    return [(key, score / best if best else 0.0) for key, score in ranked[:k]]
