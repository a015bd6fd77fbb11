"""A catalogue of a few hand-made entries, and reports to compare with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from embeddings.lexical import LexicalIndex
from knowledge.evidence import Reading, read_report
from knowledge.findings.failure import Failure
from knowledge.findings.pairs import NAMES, Catalogue, Pairs, Profiles
from knowledge.report import Report
from knowledge.signatures import SignatureTable

DIMS = 4
BARE = np.zeros(2 * DIMS, np.float32)
"""Vectors of a report that is like nothing."""
TABLE = SignatureTable()


def entry(id: str, **changes: Any) -> Failure:
    base = Failure(
        id=id, area="nccl", title=id, answer="Do.", frameworks=(), symptom=("B.1",), cause=("other",),
        fix=("other",), sources=("https://a.org",),
    )  # fmt: skip
    return replace(base, **changes)


def catalogue(
    *entries: Failure,
    texts: Mapping[str, str] | None = None,
    newer: tuple[Failure, ...] = (),
    rarity: Mapping[str, float] | None = None,
) -> Catalogue:
    """Entry n is like the n-th axis of the vectors and has the words of `texts`; `newer` ones have neither."""
    words = {e.id: (texts or {}).get(e.id, e.id) for e in entries}
    rows = np.repeat(np.arange(len(entries), dtype=np.int32), 2)
    vectors = np.eye(DIMS, dtype=np.float32)[rows]
    lexical = LexicalIndex.build(list(words), list(words.values()))
    ids = tuple(e.id for e in (*entries, *newer))
    profiles = Profiles(ids, rows, vectors, lexical)
    return Catalogue({e.id: e for e in (*entries, *newer)}, profiles, rarity or {})


def report(body: str, title: str = "It fails", **read: Any) -> Reading:
    """The report as it is read; `read` replaces what was read of it."""
    return replace(read_report(Report("r", title, body), TABLE), **read)


def numbers(pairs: Pairs, id: str) -> dict[str, float]:
    """What a candidate's columns hold, by name."""
    return dict(zip(NAMES, pairs.values[pairs.ids.index(id)].tolist(), strict=True))
