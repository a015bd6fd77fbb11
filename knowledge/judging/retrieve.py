"""Similar cases: lexical and semantic hits over several views of a case, fused; the corpus's index kept on disk."""

from __future__ import annotations

import hashlib
import io
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from embeddings.encoder import Encoder
from embeddings.index import VectorIndex, load_index, refresh_index, text_hash
from embeddings.lexical import LexicalIndex, fuse
from knowledge.cases import Case
from knowledge.errors import ModelError
from knowledge.evidence import Reading, read_report
from knowledge.judging.blocks import write_arrays
from knowledge.judging.features import Features, Floats, views
from knowledge.report import Report
from knowledge.signatures import SignatureTable

DEPTH = 40
"""Hits taken from each index before they are fused."""


@dataclass(frozen=True, slots=True)
class CaseIndex:
    """Both indexes over the same cases; keys are case ids."""

    lexical: LexicalIndex
    semantic: VectorIndex

    @classmethod
    def build(cls, keys: Sequence[str], texts: Sequence[str], vectors: Floats) -> CaseIndex:
        """Index `texts` and `vectors` (n, 2 x dims), both halves of a row under the same key."""
        half = vectors.shape[1] // 2
        both = np.concatenate([vectors[:, :half], vectors[:, half:]])
        return cls(
            LexicalIndex.build(keys, texts), VectorIndex.build([*keys, *keys], np.ascontiguousarray(both))
        )

    def search(
        self, reading: Reading, features: Features, k: int, leave_out: Collection[str] = ()
    ) -> list[tuple[str, float]]:
        """The `k` nearest case ids with their fused score (0..1), nearest first, without those left out."""
        half = len(features.vectors) // 2
        lists = [
            self.lexical.search(query_text(reading), DEPTH),
            self.semantic.search(features.vectors[:half], DEPTH),
            self.semantic.search(features.vectors[half:], DEPTH),
        ]
        hits = fuse(lists, k=k + len(leave_out))
        return [(key, score) for key, score in hits if key not in leave_out][:k]


def query_text(reading: Reading) -> str:
    """The words that retrieval compares: title, decisive lines and the start of the prose."""
    decisive = "\n".join(d.text for d in reading.decisive[:6] if not d.in_title)
    return f"{reading.report.title}\n{decisive}\n{reading.prose[:1500]}"


# The corpus as the engine needs it at run time: cases by id, and their index kept on disk.

VECTORS = Path(__file__).parent / "case_vectors.npz"
"""Of the shipped cases, so that the first run embeds none: `python -m knowledge.judging.retrieve` makes it."""
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

    Building reads each case once. Only texts that have no shipped vector are embedded (about 30 ms each).
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
    texts = [view for r in readings for view in views(r)]
    semantic = refresh_index(folder, keys, texts, encoder, shipped_vectors(encoder))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **lexical.to_arrays())  # type: ignore[arg-type]
    (folder / "lexical.npz").write_bytes(buffer.getvalue())
    mark.write_text(stamp, "utf-8")
    return CaseStore({c.id: c for c in cases}, CaseIndex(lexical, semantic))


def shipped_vectors(encoder: Encoder, file: Path = VECTORS) -> dict[str, Floats]:
    """The shipped cases' vectors by the hash of their text; empty where another model made them."""
    with np.load(file, allow_pickle=False) as arrays:
        if str(arrays["model"].item()) != encoder.model_hash or encoder.backend != "onnx":
            return {}
        return dict(
            zip(arrays["hashes"].astype(str).tolist(), arrays["vectors"].astype(np.float32), strict=True)
        )


def save_vectors(cases: Sequence[Case], encoder: Encoder, file: Path = VECTORS) -> None:
    """Ship the cases' vectors, in half precision."""
    table = SignatureTable()
    readings = [read_report(Report(c.id, c.title, c.body, framework=c.framework), table) for c in cases]
    by_hash = {text_hash(view): view for reading in readings for view in views(reading)}
    hashes, texts = zip(*sorted(by_hash.items()), strict=True)
    vectors = encoder.encode(list(texts)).astype(np.float16)
    write_arrays(
        file, {"model": np.array(encoder.model_hash), "hashes": np.array(hashes, "S"), "vectors": vectors}
    )


def _load_lexical(folder: Path) -> LexicalIndex:
    try:
        with np.load(folder / "lexical.npz", allow_pickle=False) as arrays:
            return LexicalIndex.from_arrays({name: arrays[name] for name in arrays.files})
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"Can't read the word index in {folder}.", "Run: bot corpus build") from error


def _stamp(cases: Sequence[Case]) -> str:
    """Hash of the cases and of the code that reads them: what an index is valid for."""
    digest = hashlib.sha256()
    for case in cases:
        digest.update(f"{case.id}\0{case.title}\0{case.body}\0".encode())
    root = Path(__file__).parents[1]
    for package in _CODE:
        for file in sorted((root / package).rglob("*")):
            if file.suffix in (".py", ".toml"):
                digest.update(file.read_bytes())
    return digest.hexdigest()


if __name__ == "__main__":
    from embeddings.encoder import OnnxEncoder
    from knowledge.cases import load_cases

    with tempfile.TemporaryDirectory() as folder:
        save_vectors(load_cases(), OnnxEncoder(None, Path(folder)))
