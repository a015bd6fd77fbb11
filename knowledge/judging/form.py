"""The post as it stands, template and all: what tells a fault from a wish or a question.

Projects differ in their templates and in what they call a fault, so every feature counts twice: by itself, and
together with the repository. For a repository that training never saw the second half is empty.
"""

from __future__ import annotations

from itertools import pairwise

import re2

from knowledge.judging.hashing import Sparse, hashed, ngram_weights
from knowledge.report import Report

BUCKETS = 1 << 15
_WORD = re2.compile(r"[a-z]+|\?")


class _WordsOnly(dict[int, str]):
    """For str.translate: lower-case letters, digits and ends of lines stay, all else becomes a space."""

    def __missing__(self, code: int) -> str:
        kept = code == 10 or 48 <= code <= 57 or 97 <= code <= 122
        self[code] = chr(code) if kept else " "
        return self[code]


_WORDS_ONLY = _WordsOnly()


def title_block(report: Report) -> Sparse:
    """Words and pairs of words of the title, small words and question marks included, with its start and end."""
    words = ["^", *_WORD.findall(report.title.lower()), "$"]
    weights = {f"{first} {second}": 0.8 for first, second in pairwise(words)}
    return _with_repository(weights | dict.fromkeys(words, 1.0), report)


def text_block(report: Report) -> Sparse:
    """Words and pairs of words of title and body, the template's included."""
    return _with_repository(ngram_weights([(1.5, report.title), (1.0, report.body[:4000])]), report)


def lines_block(report: Report) -> Sparse:
    """Whole lines: a filled template is told by its headings."""
    words = report.body.lower().translate(_WORDS_ONLY)
    lines = (" ".join(line.split())[:60] for line in words.split("\n"))
    return _with_repository({line: 1.0 for line in lines if len(line) > 3}, report)


def _with_repository(weights: dict[str, float], report: Report) -> Sparse:
    repository = report.id.rpartition("#")[0].lower()
    if "/" in repository:
        weights |= {f"{repository}|{name}": weight for name, weight in weights.items()}
    return hashed(weights, BUCKETS)
