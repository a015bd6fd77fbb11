"""The triage: one typed value that every surface renders; its JSON Schema is docs/triage.schema.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Scope = Literal["ours", "other_field", "too_little", "unreadable"]
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
    by_people: bool = Field(
        default=False, description="set by people or following from what they set; p then says nothing"
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
    role: Literal["root", "consequence", "context", "diagnosis"] = Field(
        description="diagnosis: what the author holds for the cause"
    )
    in_title: bool = False
    rank: int | None = Field(default=None, description="the process rank that printed it")
    host: str | None = Field(default=None, description="the machine or container that printed it")
    time: str | None = Field(default=None, description="its time as the log prints it")
    telling: int = Field(default=0, ge=0, description="where in the text the words stand that tell")


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
    explains_line: int | None = Field(
        default=None, ge=1, description="the quoted error line that it explains; null = none, a remark only"
    )


class StatedFact(_Value):
    """What a tool's output in the report says, in one sentence of ours."""

    line: int = Field(ge=1, description="1-based line of the report's body")
    text: str


class Evidence(_Value):
    """What was read out of the report."""

    framework: str | None
    lines: list[QuotedLine]
    echoes: list[str] = Field(
        default=[], description="which lines only follow from the root, one sentence each"
    )
    versions: dict[str, str] = Field(description="component (torch, cuda, nccl, python, os, ...) to version")
    launcher: str | None
    world_size: int | None
    ranks: list[int] = Field(description="ranks that print something in the report")
    signatures: list[SignatureMatch]
    conflicts: list[VersionConflict]
    facts: list[StatedFact] = Field(
        default=[],
        description="what tools in the report say (py-spy, ncclras, nvidia-smi, ...); at most four",
    )
    redactions: dict[str, int] = Field(description="kind of secret to how many were removed")
    notes: list[str] = Field(description="what could not be read")


REMOTE = 0.02
"""Below this probability a finding is no more than a hint to somebody who asked."""


class Finding(_Value):
    """A known failure (knowledge/failures/) that the report seems to show. Texts are ours, in Markdown."""

    id: str
    area: str = Field(description="folder of the catalog that holds it")
    title: str
    answer: str = Field(description="two or three sentences: what is wrong and what to do about it")
    p: float = Field(ge=0, le=1, description="probability that it applies")
    sure: bool = Field(description="probable enough to be said unasked")
    read_by: str = Field(
        default="",
        description="the LLM that read the report beside the entry and found that it applies; empty = none was needed",
    )
    lines: list[QuotedLine] = Field(description="lines it rests on; empty = the account alone speaks for it")
    tried: bool = Field(
        default=False, description="the report says that what the answer advises was tried already"
    )
    held: list[str] = Field(description="conditions that the report meets, such as an affected version")
    why: list[str] = Field(description="possible causes, the most frequent first, each with its sign")
    check: list[str]
    remedy: list[str]
    not_this_when: str = Field(description="what would rule it out")
    fixed_in: str
    sources: list[str]


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


RESOLUTION_CHARS = 300
"""Longest resolution of a case: one or two sentences."""


class Neighbour(_Value):
    """A labelled case near the report."""

    id: str
    url: str
    title: str
    score: float
    labels: CaseLabels
    label_source: str
    resolution: str | None
    shared: list[str] = Field(
        default=[], description="error signatures that the case and the report have in common"
    )


class EarlierReport(_Value):
    """An earlier report of the same repository that shows the same failure. Texts are redacted."""

    id: str
    url: str = Field(description="empty = not known")
    title: str
    opened: str | None = Field(default=None, description="the day it was opened")
    why: list[str] = Field(description="what the two have in common, most telling first")
    read_by: str = Field(
        default="",
        description="the LLM that read both texts and found them the same; empty = found without one",
    )
    is_open: bool
    ended: str = Field(description="how it stands or ended; empty = not known")
    possible_regression: bool = Field(
        default=False, description="this report is on a release that should hold the fix"
    )


class SuggestedLabel(_Value):
    """A label of the repository that fits the report, by what people labelled there."""

    label: str
    p: float = Field(ge=0, le=1, description="probability that people would set it")
    line: int = Field(ge=0, description="line of the body that speaks most for it; 0 = the title")
    text: str = Field(description="that line, redacted")
    tested: int = Field(description="issues on which it was set when it was last tested")
    right: int = Field(description="of these, those on which people had set it, too")
    rivals: list[str] = Field(default=[], description="labels that people do not set together with it")


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
    text: str = Field(description="two or three sentences of concrete advice, ours")


class Advice(_Value):
    """What to do next: fixes for a fault; the nearest answered cases for a how-to."""

    fixes: list[FixAdvice]
    topic: Axis | None = Field(default=None, description="for a how-to: what it is about")


class MissingItem(_Value):
    """Something that would let the triage say more, asked for concretely."""

    id: str
    ask: str


class QuickCheck(_Value):
    """A short read-only command and what its output tells."""

    run: str
    reading: str


class SecondReading(_Value):
    """What an LLM, where one is configured, had to do with this triage."""

    used: bool = Field(description="its judgment is in the rankings; false = the local answer stands alone")
    duties: list[Literal["reader", "adjudicator", "confirmer", "writer", "verifier", "comparer"]] = Field(
        default=[], description="what it did, in order"
    )
    model: str
    why: str | None = Field(
        default=None, max_length=300, description="its reason in plain words; null = not shown"
    )
    lines: list[int] = Field(default=[], description="lines that the reason rests on; 0 = the title")
    cases: list[str] = Field(default=[], description="ids of shown cases that the reason rests on")
    fallback_reason: str | None = Field(default=None, description="the first fault, in a word; null = none")
    late: bool = Field(
        default=False, description="no answer was drafted for lack of time; asked again, there may be one"
    )
    fabricated: int = Field(default=0, description="lines, cases and versions it made up; all were dropped")
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = Field(default=0.0, description="US dollars")
    seconds: float = 0.0


class AnswerSentence(_Value):
    """A sentence that an LLM wrote, with what it rests on; nothing of all three = on reasoning alone."""

    text: str = Field(max_length=420)
    role: Literal["what", "why", "check", "fix", "question"]
    lines: list[int] = Field(default=[], description="lines of the report; 0 = the title")
    entries: list[str] = Field(default=[], description="ids of known failures among the findings")
    cases: list[str] = Field(default=[], description="ids of cases among the neighbors")
    confidence: float = Field(ge=0, le=1, description="the model's own; not calibrated")


class AnswerSnippet(_Value):
    """A command or a piece of code that an LLM wrote, and what it is for."""

    language: Literal["sh", "python"]
    text: str
    purpose: str
    after: int = Field(0, description="number of the sentence it follows, from 1; 0: it comes last")


class WrittenAnswer(_Value):
    """What an LLM wrote as the reply, after the program took out all that it could not hold against the material."""

    sentences: list[AnswerSentence]
    commands: list[AnswerSnippet] = []
    code: list[AnswerSnippet] = []
    verified: bool = Field(description="a second call tried to refute each part, and these are left")
    model: str


class Triage(_Value):
    """Everything distriage says of one report."""

    schema_version: Literal[1] = 1
    id: str
    content_hash: str
    scope: Scope = Field(
        default="ours",
        description="whether the report can be judged: ours = of the field; other_field = about something else; "
        "too_little = hardly any text, no log; unreadable = prose that is not English, no log. But for ours nothing is "
        "claimed except the type",
    )
    type: Axis
    stage: Axis
    symptom: Axis
    cause: Axis
    fix: Axis
    distributed: Distributed
    evidence: Evidence
    findings: list[Finding] = Field(
        default=[], description="known failures it may be, the most probable first; at most three"
    )
    same_failure: list[EarlierReport] = Field(
        default=[],
        description="earlier reports of the repository itself that show the same failure; at most two, none where "
        "its history is not known",
    )
    own_labels: list[SuggestedLabel] = Field(
        default=[],
        description="labels of the repository that fit, likeliest first; which are set depends on its configuration",
    )
    neighbours: list[Neighbour]
    advice: Advice
    missing: list[MissingItem]
    checks: list[QuickCheck] = Field(
        default=[], description="short commands that tell the likeliest causes apart; at most three"
    )
    measured: list[str] = Field(
        default=[], description="what a pasted diagnostics result changed, one sentence a probe"
    )
    script: str = Field(description="a read-only diagnostics script; empty when none is of use")
    answer: WrittenAnswer | None = Field(
        default=None,
        description="the reply as an LLM wrote it; null = none was written, or nothing of it held",
    )
    second_reading: SecondReading | None = Field(default=None, description="null = no LLM is configured")

    @property
    def unasked(self) -> tuple[str, ...]:
        """The known failures that are worth a comment without anybody asking."""
        return tuple(f.id for f in self.findings if f.sure) if self.scope == "ours" else ()

    @property
    def unasked_conflicts(self) -> tuple[str, ...]:
        """The version conflicts that are: each explains a line of a report that is no request."""
        if self.scope != "ours" or {"feature", "internal"} & set(self.type.answer):
            return ()
        return tuple(c.id for c in self.evidence.conflicts if c.explains_line is not None)


def schema_text() -> str:
    """The schema as it is published."""
    schema = Triage.model_json_schema(mode="serialization")
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    return json.dumps(schema, indent=2) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(schema_text(), "utf-8")
