"""The triage: one typed value that every surface renders; its JSON Schema is docs/triage.schema.json."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

AxisName = Literal["type", "stage", "symptom", "cause", "fix"]
AXES: tuple[AxisName, ...] = ("type", "stage", "symptom", "cause", "fix")


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Ranked(_Value):
    """One id of the taxonomy with its calibrated probability."""

    id: str
    p: float = Field(ge=0, le=1)


class Axis(_Value):
    """A calibrated distribution over a closed set of ids and what is claimed of it."""

    ranking: list[Ranked]
    answer: list[str] = Field(description="the ids claimed; empty = cannot tell")
    answer_set: list[str] = Field(
        default=[], description="the smallest set of ids that holds the true one with the target probability"
    )

    @property
    def top(self) -> str | None:
        """The most probable id, claimed or not."""
        return self.ranking[0].id if self.ranking else None


class Distributed(_Value):
    """Whether the fault would vanish on one device in one process."""

    p: float = Field(ge=0, le=1, description="probability that it is specific to distributed training")
    answer: bool | None = Field(description="None = cannot tell")


class QuotedLine(_Value):
    """A line of the report, redacted, that the triage rests on."""

    line: int = Field(ge=1, description="1-based line of the report's body; 1 of the title when in_title")
    text: str
    role: Literal["root", "consequence", "context"]
    in_title: bool = False
    rank: int | None = Field(default=None, description="the process rank that printed it")


class SignatureMatch(_Value):
    """A known error pattern found in the report."""

    id: str
    meaning: str
    line: int
    symptom: list[str]
    cause: list[str]
    fix: list[str]


class VersionConflict(_Value):
    """Two versions in the report that are known not to work together."""

    id: str
    text: str
    source: str = Field(description="where the rule is documented")


class Evidence(_Value):
    """What was read out of the report."""

    framework: str | None
    lines: list[QuotedLine]
    versions: dict[str, str] = Field(description="component (torch, cuda, nccl, python, os, ...) to version")
    launcher: str | None
    world_size: int | None
    ranks: list[int] = Field(description="ranks that print something in the report")
    signatures: list[SignatureMatch]
    conflicts: list[VersionConflict]
    redactions: dict[str, int] = Field(description="kind of secret to how many were removed")
    notes: list[str] = Field(description="what could not be read")


class CaseLabels(_Value):
    """Labels of a case; an empty list = not known."""

    type: str
    distributed: bool | None = None
    stage: list[str] = []
    symptom: list[str] = []
    cause: list[str] = []
    fix: list[str] = []
    topic: str | None = None
    subtopic: str | None = None


class Neighbour(_Value):
    """A labelled case near the report."""

    id: str
    url: str
    title: str
    score: float
    labels: CaseLabels
    label_source: str
    resolution: str | None


class Support(_Value):
    """How many labelled cases stand behind a fix pattern: `count` of `of`."""

    count: int
    of: int
    scope: str = Field(description="which cases were counted, in words")


class FixAdvice(_Value):
    """A probable fix pattern and what to do about it."""

    id: str
    name: str
    p: float
    support: Support
    text: str = Field(description="two sentences of concrete advice, ours")


class Advice(_Value):
    """What to do next: fixes for a fault; the nearest answered cases for a how-to."""

    fixes: list[FixAdvice]
    topic: Axis | None = Field(default=None, description="for a how-to: what it is about")


class MissingItem(_Value):
    """Something that would let the triage say more, asked for concretely."""

    id: str
    ask: str


class SecondReading(_Value):
    """What an LLM, where one is configured, had to do with this triage."""

    used: bool = Field(description="its judgement is in the rankings; false = the local answer stands alone")
    duties: list[Literal["reader", "adjudicator"]] = Field(default=[], description="what it did, in order")
    model: str
    why: str | None = Field(
        default=None, max_length=300, description="its reason in plain words; null = not shown"
    )
    lines: list[int] = Field(default=[], description="lines that the reason rests on; 0 = the title")
    cases: list[str] = Field(default=[], description="ids of shown cases that the reason rests on")
    fallback_reason: str | None = Field(default=None, description="the first fault, in a word; null = none")
    fabricated: int = Field(default=0, description="lines, cases and versions it made up; all were dropped")
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = Field(default=0.0, description="US dollars")
    seconds: float = 0.0


class Triage(_Value):
    """Everything distriage says of one report."""

    schema_version: Literal[1] = 1
    id: str
    content_hash: str
    type: Axis
    stage: Axis
    symptom: Axis
    cause: Axis
    fix: Axis
    distributed: Distributed
    evidence: Evidence
    neighbours: list[Neighbour]
    advice: Advice
    missing: list[MissingItem]
    measured: list[str] = Field(
        default=[], description="what a pasted diagnostics result changed, one sentence a probe"
    )
    script: str = Field(description="a read-only diagnostics script; empty when none is of use")
    second_reading: SecondReading | None = Field(default=None, description="null = no LLM is configured")
