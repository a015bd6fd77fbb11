"""The values that pass between the duties, the caller and the client."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

Duty = Literal["reader", "adjudicator", "writer", "verifier"]
RANKING: tuple[Duty, ...] = ("reader", "adjudicator")
"""The duties that move probabilities; these are what a measurement is about."""
DUTIES: tuple[Duty, ...] = (*RANKING, "writer")
"""What can be configured; the verifier comes with the writer."""
ReasonMode = Literal["ids-only", "plain"]
Use = Literal["measured", "always"]

MAX_WAIT = 20.0
"""Seconds that any triage may wait for the LLM, whatever is configured."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens read and written; what a server does not tell is estimated (`estimate`)."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.input + other.input, self.output + other.output)


CHARS_PER_TOKEN = 3
"""Low on purpose (English has about 4, logs about 3), so that an estimate rather errs upwards."""


def estimate(text: str) -> int:
    """Tokens of a text whose tokenizer is not known, rather too many than too few."""
    return -(-len(text) // CHARS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to the model.

    `content_key` names its content, without the random delimiter; `subject` the report that it is about.
    """

    duty: Duty
    system: str
    user: str
    schema: dict[str, Any]
    content_key: str
    subject: str = ""

    @property
    def name(self) -> str:
        """Name of the schema, as the API wants one."""
        return f"distriage_{self.duty}"

    @property
    def estimated(self) -> int:
        """Tokens of the whole question."""
        return estimate(self.system + self.user + str(self.schema))


@dataclass(frozen=True, slots=True)
class ChatReply:
    """The model's words as they came, and what they cost."""

    text: str
    tokens: Tokens


class ChatClient(Protocol):
    """The hole through which the model is asked."""

    def complete(self, request: ChatRequest, seconds: float) -> ChatReply:
        """The reply within `seconds`; raises `LlmFault` and nothing else."""


class Clock(Protocol):
    """The hole for the time: a monotonic one in seconds, waiting, and the day (UTC, ISO) for budgets."""

    def monotonic(self) -> float:
        """Seconds from any fixed start."""

    def today(self) -> str:
        """The day in UTC, "2026-01-31"."""

    def sleep(self, seconds: float) -> None:
        """Wait."""
