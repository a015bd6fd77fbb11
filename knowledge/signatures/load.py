"""Read and check the signature files.

What ships is read from one compiled file: checking every entry and pattern at each start costs a tenth of a triage.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from knowledge.errors import DataError
from knowledge.signatures.signature import Signature

DATA = Path(__file__).parent / "data"
COMPILED = Path(__file__).parent / "signatures.json"
_REMEDY = "Fix the entry; knowledge/signatures/signature.py says what each field holds."


@cache
def load_signatures() -> tuple[Signature, ...]:
    """All shipped signatures, families in alphabetical order, entries as the files order them.

    Raises DataError when the compiled file is damaged.
    """
    try:
        return tuple(_from_json(entry) for entry in json.loads(COMPILED.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"{COMPILED.name} cannot be read: {error}.", "Run: python -m knowledge.findings.compile"
        ) from error


def compiled_signatures(signatures: Sequence[Signature]) -> str:
    """The text of signatures.json: one entry a line, with the fields that hold something."""
    given = ({name: value for name, value in asdict(one).items() if value} for one in signatures)
    return "[\n" + ",\n".join(json.dumps(entry, ensure_ascii=False) for entry in given) + "\n]\n"


_LISTS = tuple(f.name for f in fields(Signature) if "tuple" in str(f.type))


def _from_json(entry: dict[str, Any]) -> Signature:
    return Signature(**{**entry, **{name: tuple(entry.get(name, ())) for name in _LISTS}})


def read_signatures(folder: Path) -> tuple[Signature, ...]:
    """The signatures of every `<family>.toml` in `folder`.

    Raises DataError naming the entry when one does not fit its schema, an id occurs twice, or a declared
    overlap names no signature.
    """
    signatures = tuple(
        _parse(entry, path.stem) for path in sorted(folder.glob("*.toml")) for entry in _entries(path)
    )
    _check_ids(signatures)
    return signatures


def _entries(path: Path) -> list[Mapping[str, Any]]:
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path.name} is not TOML: {error}.", _REMEDY) from error
    entries = document.get("signature")
    if not isinstance(entries, list) or set(document) != {"signature"}:
        raise DataError(f"{path.name} must hold [[signature]] tables and nothing else.", _REMEDY)
    return entries


@cache
def _adapter() -> TypeAdapter[Signature]:
    return TypeAdapter(Signature)


def _parse(entry: Mapping[str, Any], family: str) -> Signature:
    try:
        signature = _adapter().validate_python({**entry, "family": family})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise DataError(
            f"Signature {entry.get('id', '?')} ({family}): {where}: {first['msg']}.", _REMEDY
        ) from error
    if signature.role != "context" and not (signature.symptom and signature.cause and signature.fix):
        raise DataError(
            f"Signature {signature.id} ({family}) has no labels; only a context line can go without.", _REMEDY
        )
    if signature.decides and (signature.role != "root" or len(signature.cause) != 1):
        raise DataError(
            f"Signature {signature.id} ({family}) decides, but is not a root with one cause.", _REMEDY
        )
    if signature.unless and not signature.decides:
        raise DataError(f"Signature {signature.id} ({family}) has `unless`, but does not decide.", _REMEDY)
    return signature


def _check_ids(signatures: tuple[Signature, ...]) -> None:
    counts = Counter(signature.id for signature in signatures)
    for id_, count in counts.items():
        if count > 1:
            raise DataError(f"Signature id {id_} occurs {count} times.", _REMEDY)
    for signature in signatures:
        for other in signature.also_fires_on:
            if other not in counts or other == signature.id:
                raise DataError(f"Signature {signature.id} declares an overlap with {other}.", _REMEDY)
