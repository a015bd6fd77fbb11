"""Error signatures: what a line speaks for, read from their files, all matched in one pass."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import re2
from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError

from knowledge.errors import DataError
from knowledge.frameworks import framework_ids
from knowledge.signatures.line_filter import LineFilter
from knowledge.taxonomy import load_taxonomy

Role = Literal["root", "consequence", "context"]


def _known(axis: str) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        ids = framework_ids() if axis == "framework" else load_taxonomy().ids(axis)
        unknown = sorted(set(values) - set(ids))
        if unknown or len(set(values)) < len(values):
            raise ValueError(f"unknown or repeated: {', '.join(unknown or values)}")
        return values

    return check


def _compiles(pattern: str) -> str:
    try:
        compiled = re2.compile(pattern)
    except re2.error as error:
        raise ValueError(f"not RE2 syntax: {error}") from error
    if compiled.search("") is not None:
        raise ValueError("matches the empty line")
    return pattern


def _compiles_or_empty(pattern: str) -> str:
    return _compiles(pattern) if pattern else ""


def _one_line(text: str) -> str:
    if "\n" in text or not text.strip():
        raise ValueError("must be one line that is not blank")
    return text


@dataclass(frozen=True, slots=True)
class Signature:
    """A known error line; field by field as in the data files."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    id: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    family: str
    """The data file that holds it ("nccl")."""
    pattern: Annotated[str, AfterValidator(_compiles)]
    """RE2, searched in one line."""
    meaning: Annotated[str, AfterValidator(_one_line)]
    """What the software is telling, in our words."""
    role: Role
    """root = the fault itself; consequence = of a fault printed elsewhere; context = no error of its own."""
    sample: Annotated[str, AfterValidator(_one_line)]
    """A line in the form the software prints it, with invented hosts and values."""
    symptom: Annotated[tuple[str, ...], AfterValidator(_known("symptom"))]
    """Leaf ids it speaks for, most likely first; may be empty for a context line only."""
    cause: Annotated[tuple[str, ...], AfterValidator(_known("cause"))]
    fix: Annotated[tuple[str, ...], AfterValidator(_known("fix"))]
    frameworks: Annotated[tuple[str, ...], AfterValidator(_known("framework"))] = ()
    """Frameworks that print it; empty = any."""
    decides: bool = False
    """Such a line settles cause and fix, whatever else is in the report (knowledge/judging/settle.py)."""
    unless: Annotated[str, AfterValidator(_compiles_or_empty)] = ""
    """RE2, searched in the whole report: where it is found the line does not decide ("memory leak" for a kill)."""
    also_fires_on: tuple[str, ...] = ()
    """Signatures on whose sample it fires too: those are the more specific, or share the line."""


# Read and check the signature files. What ships is read from one compiled file: checking every entry and pattern at
# each start would cost a tenth of a triage.

DATA = Path(__file__).parent / "data"
COMPILED_SIGNATURES = Path(__file__).parent / "signatures.json"
_REMEDY = "Fix the entry; knowledge/signatures/signature.py says what each field holds."


@cache
def load_signatures() -> tuple[Signature, ...]:
    """All shipped signatures, families in alphabetical order, entries as the files order them.

    Raises DataError when the compiled file is damaged.
    """
    try:
        return tuple(_from_json(entry) for entry in json.loads(COMPILED_SIGNATURES.read_text("utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise DataError(
            f"Can't read {COMPILED_SIGNATURES.name}: {error}.",
            "Run: python -m knowledge.findings.compile",
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
        raise DataError(f"{path.name} isn't valid TOML: {error}.", _REMEDY) from error
    entries = document.get("signature")
    if not isinstance(entries, list) or set(document) != {"signature"}:
        raise DataError(f"{path.name} must contain only [[signature]] tables.", _REMEDY)
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
            f"Signature {signature.id} ({family}) has no labels; only a context line can do without them.",
            _REMEDY,
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
            raise DataError(f"Signature id {id_} is used {count} times.", _REMEDY)
    for signature in signatures:
        for other in signature.also_fires_on:
            if other not in counts or other == signature.id:
                raise DataError(f"Signature {signature.id} declares an overlap with {other}.", _REMEDY)


# Match a whole table of signatures against lines, in time linear in their length.


@dataclass(frozen=True, slots=True)
class SignatureHit:
    """A signature found: `line` is 0-based, `start` and `end` are character offsets in that line."""

    signature: Signature
    line: int
    start: int
    end: int


class SignatureTable:
    """Signatures compiled together: one pass over a line tells which of them it may hold."""

    def __init__(self, signatures: Sequence[Signature] | None = None) -> None:
        """Compile `signatures` (default: the shipped ones)."""
        self.signatures = tuple(load_signatures() if signatures is None else signatures)
        self._filter = LineFilter([signature.pattern for signature in self.signatures])

    def match(self, lines: Sequence[str]) -> list[SignatureHit]:
        """Hits in the order of lines, then of the table; at most MAX_HITS of each signature."""
        return [
            SignatureHit(self.signatures[index], number, start, end)
            for index, number, start, end in self._filter.match(lines)
        ]


def most_specific(hits: Iterable[SignatureHit]) -> list[SignatureHit]:
    """The hits without those of a general signature on a line where a specific one that it names is found."""
    kept = list(hits)
    on_line: dict[int, set[str]] = {}
    for hit in kept:
        on_line.setdefault(hit.line, set()).add(hit.signature.id)
    return [hit for hit in kept if on_line[hit.line].isdisjoint(hit.signature.also_fires_on)]
