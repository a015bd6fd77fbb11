"""One triage on its way through the second reader: what was said, what went wrong, what it took."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar

from knowledge.engine import Examined
from knowledge.triage import SecondReading, Triage, WrittenAnswer
from llm.adjudicator import Verdict
from llm.calls import Answered
from llm.config import LlmConfig
from llm.faults import LlmFault, NotAsked, UnknownIds
from llm.fusion import FusionWeights, Judgements, fuse
from llm.reader import Account
from llm.values import RANKING, Duty, Tokens

T = TypeVar("T")


@dataclass
class Course:
    """What the local judge said, what the LLM made of it, what went wrong."""

    examined: Examined
    until: float
    """The moment at which the LLM is waited for no longer."""
    scope: str
    """Whose budget pays."""
    account: Account | None = None
    account_judgement: Judgements | None = None
    """The local judge's judgement of the account."""
    verdict: Verdict | None = None
    answer: WrittenAnswer | None = None
    late: bool = False
    """The time did not suffice for an answer; what was heard is kept, so another attempt gets further."""
    duties: list[Duty] = field(default_factory=list)
    faults: list[LlmFault] = field(default_factory=list)
    tokens: Tokens = field(default_factory=Tokens)
    cached: int = 0
    """Duties that were answered from the cache."""

    def done(self, duty: Duty, answered: Answered[T]) -> T:
        """Book an answer."""
        self.duties.append(duty)
        self.tokens += answered.tokens
        self.cached += answered.cached
        return answered.value

    def failed(self, fault: LlmFault) -> None:
        """Book a fault with what it cost."""
        self.faults.append(fault)
        self.tokens += fault.tokens

    def fused(self, weights: FusionWeights) -> Judgements:
        """The judgement of both; the local one as it is where the LLM said nothing."""
        rankings = self.verdict.rankings if self.verdict else {}
        return fuse(self.examined.judgement, self.account_judgement, rankings, weights)

    @property
    def asked(self) -> bool:
        """Whether a question really went to the server."""
        return self.cached < len(self.duties) or any(not isinstance(f, NotAsked) for f in self.faults)

    @property
    def made_up(self) -> int:
        """Lines, cases and versions that the model made up; all were dropped."""
        account = self.account.dropped if self.account else 0
        return account + (self.verdict.fabricated if self.verdict else 0)

    @property
    def voided(self) -> bool:
        """Whether the reason, or a whole answer, was void, since it named what does not exist."""
        reason = self.verdict is not None and self.verdict.fabricated > 0
        return reason or any(isinstance(fault, UnknownIds) for fault in self.faults)

    def note(self, config: LlmConfig, triage: Triage, seconds: float) -> SecondReading:
        """What is told of it in the triage."""
        shown = {neighbour.id for neighbour in triage.neighbours}
        plain = self.verdict if config.reason_mode == "plain" else None
        return SecondReading(
            used=bool(set(self.duties) & set(RANKING)),
            duties=list(self.duties),
            model=config.model,
            why=plain.reason if plain else None,
            lines=list(plain.lines) if plain else [],
            cases=[id_ for id_ in plain.cases if id_ in shown] if plain else [],
            fallback_reason=self.faults[0].reason if self.faults else None,
            late=self.late,
            fabricated=self.made_up,
            tokens_in=self.tokens.input,
            tokens_out=self.tokens.output,
            cost=config.cost(self.tokens),
            seconds=round(seconds, 3),
        )


@dataclass(frozen=True, slots=True)
class LlmTriage:
    """A triage with what the LLM had to do with it, most of which the triage carries as `second_reading`."""

    triage: Triage
    note: SecondReading
    course: Course
    judgement: Judgements
    """The fused one, before a diagnostics result moved it."""
