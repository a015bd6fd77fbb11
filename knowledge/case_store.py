"""The corpus as the engine needs it at run time: cases by id, and their index kept on disk."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embeddings.encoder import Encoder
from embeddings.lexical import LexicalIndex
from embeddings.store import load_index, refresh_index
from knowledge.cases import Case
from knowledge.errors import ModelError
from knowledge.evidence import read_report
from knowledge.judging.features import views
from knowledge.judging.retrieve import CaseIndex, query_text
from knowledge.report import Report
from knowledge.signatures import SignatureTable

_CODE = ("evidence", "signatures", "judging")
"""Packages whose change changes what is indexed of a case."""


@dataclass(frozen=True, slots=True)
class CaseStore:
    """Cases by id with the index over them."""

    cases: dict[str, Case]
    index: CaseIndex


def open_store(
    cases: Sequence[Case],
    folder: Path,
    table: Callable[[], SignatureTable],
    encoder: Encoder,
    *,
    rebuild: bool = False,
) -> CaseStore:
    """Open the index in `folder`, building it when it is missing or of another corpus, model or version.

    Building reads and embeds each case once (about 10 ms a case); only changed texts are embedded again.
    """
    stamp = _stamp(cases)
    mark = folder / "corpus.txt"
    if not rebuild and mark.exists() and mark.read_text("utf-8") == stamp:
        try:
            return CaseStore(
                {c.id: c for c in cases}, CaseIndex(_load_lexical(folder), load_index(folder, encoder))
            )
        except ModelError:
            pass  # another model or a damaged file: built anew below
    readings = [read_report(Report(c.id, c.title, c.body, framework=c.framework), table()) for c in cases]
    lexical = LexicalIndex.build([c.id for c in cases], [query_text(r) for r in readings])
    keys = [c.id for c in cases for _ in range(2)]
    semantic = refresh_index(folder, keys, [view for r in readings for view in views(r)], encoder)
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **lexical.to_arrays())  # type: ignore[arg-type]
    (folder / "lexical.npz").write_bytes(buffer.getvalue())
    mark.write_text(stamp, "utf-8")
    return CaseStore({c.id: c for c in cases}, CaseIndex(lexical, semantic))


def _load_lexical(folder: Path) -> LexicalIndex:
    try:
        with np.load(folder / "lexical.npz", allow_pickle=False) as arrays:
            return LexicalIndex.from_arrays({name: arrays[name] for name in arrays.files})
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"The word index in {folder} cannot be read.", "Run: bot corpus build") from error


def _stamp(cases: Sequence[Case]) -> str:
    """Hash of the cases and of the code that reads them: what an index is valid for."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.id}\0{case.title}\0{case.body}\0".encode())
    root = Path(__file__).parent
    for package in _CODE:
        for file in sorted((root / package).rglob("*")):
            if file.suffix in (".py", ".toml"):
                digest.update(file.read_bytes())
    return digest.hexdigest()
