"""Everything that can go wrong with an LLM; ordinary, and answered by the local triage.

DistriageError
└── LlmFault                 `reason` is a word for metrics and for the mark in the answer
    ├── Unavailable          the server: counts towards the circuit breaker
    │   ├── TimedOut, Unreachable, ServerError, Denied, WrongModel, BadRequest
    │   └── RateLimited      with Retry-After
    ├── BadReply             the words: Refused, Truncated, InvalidJson, WrongSchema, UnknownIds, TooLong
    └── NotAsked             nobody was asked: BreakerOpen, BudgetSpent, LedgerDown, Busy, NoTime,
                         NotRecorded
"""

from __future__ import annotations

from typing import ClassVar

from knowledge.errors import DistriageError
from llm.values import Tokens


class LlmFault(DistriageError):
    """Root; `tokens` is what the attempt probably cost all the same. Its text never quotes a reply.

    `seconds` is the time until the question failed; 0 when it was not put.
    """

    reason: ClassVar[str] = "fault"

    def __init__(self, tokens: Tokens | None = None, detail: str = "") -> None:
        super().__init__(f"{self.reason}: {detail}" if detail else self.reason)
        self.tokens = tokens or Tokens()
        self.seconds = 0.0


class Unavailable(LlmFault):
    """The server did not give an answer."""

    reason = "unavailable"
    again: ClassVar[bool] = False
    """Whether a second attempt may help."""


class TimedOut(Unavailable):
    """No complete answer in time, be the server silent or dripping."""

    reason = "timeout"


class Unreachable(Unavailable):
    """No connection, or it broke."""

    reason = "unreachable"
    again = True


class ServerError(Unavailable):
    """A 5xx, or an error inside the stream."""

    reason = "server_error"
    again = True


class RateLimited(Unavailable):
    """429; `after` seconds it asks to be left alone, if it said so."""

    reason = "rate_limited"
    again = True

    def __init__(self, after: float | None = None) -> None:
        super().__init__()
        self.after = after


class Denied(Unavailable):
    """401 or 403: the key is wrong."""

    reason = "denied"


class BadRequest(Unavailable):
    """Any other 4xx: the server wants requests of another make (unknown model, context too short)."""

    reason = "bad_request"


class WrongModel(Unavailable):
    """The reply names another model than the one asked for."""

    reason = "wrong_model"


class BadReply(LlmFault):
    """The server answered, the words are of no use."""

    reason = "bad_reply"


class Refused(BadReply):
    """The model or a content filter declined."""

    reason = "refused"


class Truncated(BadReply):
    """The reply ended at the token limit, or the stream stopped without an end."""

    reason = "truncated"


class TooLong(BadReply):
    """More text than any valid reply has."""

    reason = "too_long"


class InvalidJson(BadReply):
    """No JSON object in the reply."""

    reason = "invalid_json"


class WrongSchema(BadReply):
    """JSON of another shape."""

    reason = "wrong_schema"


class UnknownIds(BadReply):
    """An id that was not among those shown: the whole answer is void."""

    reason = "unknown_ids"


class NotAsked(LlmFault):
    """The question was not put."""

    reason = "not_asked"


class BreakerOpen(NotAsked):
    """The server failed so often that it is left alone for a while."""

    reason = "breaker_open"


class BudgetSpent(NotAsked):
    """The day's budget, or the repository's, does not cover one more call."""

    reason = "budget_spent"


class LedgerDown(NotAsked):
    """What was spent is not known, so nothing is spent."""

    reason = "ledger_down"


class Busy(NotAsked):
    """No free slot in time."""

    reason = "busy"


class NoTime(NotAsked):
    """Too little of the time is left to ask."""

    reason = "no_time"


class NotRecorded(NotAsked):
    """An evaluation replays recorded answers, and this question has none."""

    reason = "not_recorded"
