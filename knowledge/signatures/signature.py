"""One error signature: a pattern for a line and what such a line speaks for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import re2
from pydantic import AfterValidator, ConfigDict, Field

from knowledge.taxonomy import load_taxonomy

Role = Literal["root", "consequence", "context"]

FRAMEWORKS = (
    *("pytorch", "tensorflow", "keras", "mxnet", "horovod"),
    *("deepspeed", "megatron-lm", "colossal-ai", "pytorch-lightning", "ray"),
)
"""Names as knowledge/evidence reads them out of reports."""


def _known(axis: str) -> Callable[[tuple[str, ...]], tuple[str, ...]]:
    def check(values: tuple[str, ...]) -> tuple[str, ...]:
        ids = FRAMEWORKS if axis == "framework" else load_taxonomy().ids(axis)
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
