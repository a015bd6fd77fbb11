"""From the model's words to one JSON object of a known shape, by the server's check and by our own.

The schemas keep to what strict structured outputs allow (all fields required, none additional, no bounds):
https://platform.openai.com/docs/guides/structured-outputs
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from knowledge.triage import AXES, AxisName
from llm.faults import InvalidJson, WrongSchema

# From the model's words to one JSON object: whole, in a code fence, or amid prose.

_DECODER = json.JSONDecoder()
_MAX_STARTS = 50
"""Opening braces tried; more only make a hostile reply expensive."""


def find_object(text: str) -> dict[str, Any]:
    """The first JSON object in `text` that is not inside another; raises `InvalidJson`.

    Reasoning that local servers leave in the reply (up to the last "</think>") is passed over.
    """
    text = text.rpartition("</think>")[2]
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            break
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict):
            return value
    raise InvalidJson


Lines = Annotated[list[int], Field(max_length=64)]
Words = Annotated[list[Annotated[str, Field(max_length=200)]], Field(max_length=64)]


class _Reply(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class StatedVersion(_Reply):
    """A version as the reader claims the report states it."""

    component: str = Field(max_length=60)
    version: str = Field(max_length=60)


class ReaderReply(_Reply):
    """What the reader answers."""

    account: str = Field(min_length=1, max_length=6000)
    lines: Lines
    versions: list[StatedVersion] = Field(max_length=64)


class AdjudicatorReply(_Reply):
    """What the adjudicator answers."""

    type: Words
    stage: Words
    symptom: Words
    cause: Words
    fix: Words
    reason: str = Field(max_length=2000)
    lines: Lines
    cases: Words

    def ranking(self, axis: AxisName) -> list[str]:
        """The ids of an axis, each once, best first."""
        ids: list[str] = getattr(self, axis)
        return list(dict.fromkeys(ids))


class DraftedSentence(_Reply):
    """A sentence of the writer; `support` holds line numbers, ids, or "reasoning"."""

    text: str = Field(max_length=1000)
    role: Literal["what", "why", "check", "fix", "question"]
    support: list[Annotated[str, Field(max_length=120)] | int] = Field(max_length=32)
    confidence: Annotated[float, Field(ge=0, le=1, strict=False)]


class DraftedSnippet(_Reply):
    """A command or piece of code of the writer; it comes behind the sentence numbered `after`, or last."""

    language: str = Field(max_length=20)
    text: str = Field(max_length=2000)
    purpose: str = Field(max_length=400)
    after: int = Field(default=0, ge=0, le=100)


class WriterReply(_Reply):
    """What the writer answers; `silent` is its reason to say nothing, "" otherwise."""

    silent: str = Field(max_length=1000)
    sentences: list[DraftedSentence] = Field(max_length=40)
    commands: list[DraftedSnippet] = Field(max_length=10)
    code: list[DraftedSnippet] = Field(max_length=10)


class Judged(_Reply):
    """The verifier's word on one part of a draft."""

    number: int
    holds: bool
    why: str = Field(max_length=400)


class VerifierReply(_Reply):
    """What the verifier answers."""

    verdicts: list[Judged] = Field(max_length=64)


class Compared(_Reply):
    """The comparer's word on one earlier report."""

    number: int
    same: bool
    lines: Lines
    earlier_lines: Lines
    why: str = Field(max_length=400)


class Confirmed(_Reply):
    """The confirmer's word on one known failure."""

    number: int
    applies: bool
    lines: Lines
    why: str = Field(max_length=400)


class ConfirmerReply(_Reply):
    """What the confirmer answers."""

    verdicts: list[Confirmed] = Field(max_length=8)


class ComparerReply(_Reply):
    """What the comparer answers."""

    verdicts: list[Compared] = Field(max_length=8)


_R = TypeVar("_R", ReaderReply, AdjudicatorReply, ConfirmerReply, WriterReply, VerifierReply, ComparerReply)


def check(kind: type[_R], value: Mapping[str, Any]) -> _R:
    """The reply, or `WrongSchema` naming fields, never their content."""
    try:
        return kind.model_validate(value)
    except ValidationError as error:
        fields = {str(e["loc"][0]) for e in error.errors(include_input=False) if e["loc"]}
        known = sorted(fields & set(kind.model_fields))
        raise WrongSchema(detail=", ".join(known) or "unknown fields") from None


def reader_schema() -> dict[str, Any]:
    """The JSON Schema of `ReaderReply`."""
    version = _object({"component": _STRING, "version": _STRING})
    return _object({"account": _STRING, "lines": _list(_INTEGER), "versions": _list(version)})


def adjudicator_schema(
    candidates: Mapping[AxisName, Sequence[str]], cases: Sequence[str], lines: Sequence[int]
) -> dict[str, Any]:
    """The JSON Schema of `AdjudicatorReply` over closed sets."""
    fields: dict[str, Any] = {axis: _list(_one_of(candidates[axis])) for axis in AXES}
    fields["reason"] = _STRING
    fields["lines"] = _list({"type": "integer", "enum": list(lines)} if lines else _INTEGER)
    fields["cases"] = _list(_one_of(cases))
    return _object(fields)


def writer_schema() -> dict[str, Any]:
    """The JSON Schema of `WriterReply`."""
    roles = ["what", "why", "check", "fix", "question"]
    sentence = _object(
        {"text": _STRING, "role": _one_of(roles), "support": _list(_STRING), "confidence": {"type": "number"}}
    )
    snippet = _object({"language": _STRING, "text": _STRING, "after": _INTEGER, "purpose": _STRING})
    return _object(
        {"silent": _STRING, "sentences": _list(sentence), "commands": _list(snippet), "code": _list(snippet)}
    )


def verifier_schema() -> dict[str, Any]:
    """The JSON Schema of `VerifierReply`."""
    verdict = _object({"number": _INTEGER, "holds": {"type": "boolean"}, "why": _STRING})
    return _object({"verdicts": _list(verdict)})


def confirmer_schema() -> dict[str, Any]:
    """The JSON Schema of `ConfirmerReply`."""
    verdict = _object(
        {"number": _INTEGER, "applies": {"type": "boolean"}, "lines": _list(_INTEGER), "why": _STRING}
    )
    return _object({"verdicts": _list(verdict)})


def comparer_schema() -> dict[str, Any]:
    """The JSON Schema of `ComparerReply`."""
    verdict = _object(
        {
            "number": _INTEGER,
            "same": {"type": "boolean"},
            "lines": _list(_INTEGER),
            "earlier_lines": _list(_INTEGER),
            "why": _STRING,
        }
    )
    return _object({"verdicts": _list(verdict)})


_STRING = {"type": "string"}
_INTEGER = {"type": "integer"}


def _one_of(values: Sequence[str]) -> dict[str, Any]:
    # An empty enum is no valid schema; then nothing can be cited and the check refuses whatever is.
    return {"type": "string", "enum": list(values)} if values else _STRING


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": dict(items)}


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(fields),
        "required": list(fields),
        "additionalProperties": False,
    }
