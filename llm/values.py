"""The values that pass between the duties, the caller and the client, and how the LLM is asked."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal, Protocol

Duty = Literal["reader", "adjudicator", "confirmer", "writer", "verifier", "comparer"]
RANKING: tuple[Duty, ...] = ("reader", "adjudicator")
"""The duties that move probabilities; these are what a measurement is about."""
DUTIES: tuple[Duty, ...] = (*RANKING, "confirmer", "writer")
"""What can be configured; the comparer comes with the confirmer, the verifier with the writer."""
ReasonMode = Literal["ids-only", "plain"]
Use = Literal["measured", "always"]

MAX_WAIT = 20.0
"""Seconds that any triage may wait for the LLM, whatever is configured."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens read and written; what a server does not tell is estimated (`estimate`)."""

    input: int = 0
    output: int = 0
    estimated: bool = field(default=False, compare=False)
    """At least part of it was not told by the server."""

    def __add__(self, other: Tokens) -> Tokens:
        estimated = self.estimated or other.estimated
        return Tokens(self.input + other.input, self.output + other.output, estimated)


@dataclass(frozen=True, slots=True)
class Took:
    """What one question took: tokens, and seconds until its reply was read, a second attempt and its pause included."""

    tokens: Tokens
    seconds: float


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


# How the LLM is asked: endpoint, duties, limits and prices.

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """How the LLM is asked. Prices are US dollars per million tokens, budgets US dollars a day (UTC)."""

    base_url: str
    model: str
    api_key: str = ""
    answers_as: str | None = None
    """The name that replies carry where it is not `model` (an Azure deployment, an alias)."""
    timeout: float = 15.0
    duties: tuple[Duty, ...] = RANKING
    reason_mode: ReasonMode = "ids-only"
    daily_budget: float | None = None
    repository_daily_budget: float | None = None
    concurrency: int = 2
    price_input: float = 0.0
    price_output: float = 0.0
    max_output: int = 2000
    use: Use = "measured"

    @property
    def all_duties(self) -> tuple[Duty, ...]:
        """The configured duties of a triage with the verifier, which comes with the writer."""
        return (*self.duties, "verifier") if "writer" in self.duties else self.duties

    @property
    def compares(self) -> bool:
        """Whether it reads reports beside earlier ones, which comes with confirming."""
        return "confirmer" in self.duties

    def cost(self, tokens: Tokens) -> float:
        """US dollars."""
        return (tokens.input * self.price_input + tokens.output * self.price_output) / MILLION


class RealClock:
    """`llm.values.Clock` by the machine."""

    def monotonic(self) -> float:
        """Seconds from a fixed start."""
        return time.monotonic()

    def today(self) -> str:
        """The day in UTC."""
        return datetime.now(UTC).date().isoformat()

    def sleep(self, seconds: float) -> None:
        """Wait."""
        time.sleep(seconds)
