"""The second reader: the local triage, moved by an LLM where one answers in time and within its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.llm.adjudicator import (
    CANDIDATES,
    REPORT_CHARS,
    Candidates,
    Question,
    Verdict,
    adjudicator_request,
    read_verdict,
)
from bot.llm.calls import Caller
from bot.llm.config import LlmConfig
from bot.llm.faults import LlmFault
from bot.llm.fence import new_token
from bot.llm.fusion import FusionWeights, fuse_account, fuse_ranking, load_weights
from bot.llm.reader import Account, as_report, read_account, reader_request
from bot.llm.shown_lines import choose_lines
from bot.llm.values import MAX_WAIT, Clock, Duty, Tokens
from knowledge.engine import Examined, Knowledge, conclude, examine
from knowledge.judging.axes import Judged
from knowledge.judging.judge import Judgement
from knowledge.report import Report
from knowledge.triage import AXES, SecondReading, Triage

NEIGHBOURS = 5
READER_SHARE = 0.6
"""Of the time, where the adjudicator is to be asked afterwards."""

Judgements = Mapping[Judged, Judgement]


@dataclass(frozen=True, slots=True)
class LlmTriage:
    """A triage with what the LLM had to do with it, which the triage also carries as `second_reading`."""

    triage: Triage
    used: bool
    why: str | None
    tokens: Tokens
    cost: float
    fallback_reason: str | None


@dataclass
class Course:
    """One triage on its way: what the local judge said, what the LLM made of it, what went wrong."""

    examined: Examined
    judgement: Judgements
    """As fused so far."""
    until: float
    scope: str
    duties: list[Duty] = field(default_factory=list)
    faults: list[LlmFault] = field(default_factory=list)
    tokens: Tokens = field(default_factory=Tokens)
    account: Account | None = None
    account_judgement: Judgements | None = None
    verdict: Verdict | None = None


class SecondReader:
    """Asks the LLM for its duties in turn. Safe to call from several threads."""

    def __init__(
        self, config: LlmConfig, caller: Caller, clock: Clock, weights: FusionWeights | None = None
    ) -> None:
        self._config = config
        self._caller = caller
        self._clock = clock
        self._weights = weights or load_weights()

    def triage(self, report: Report, knowledge: Knowledge, top: int = 5) -> LlmTriage:
        """Triage a report; waits for the LLM the configured time at most, never above 20 s."""
        examined = examine(report, knowledge)
        start = self._clock.monotonic()
        course = self.consult(examined, knowledge)
        triage = conclude(examined, knowledge, judgement=course.judgement, top=top)
        return self._told(triage, course, self._clock.monotonic() - start)

    def consult(self, examined: Examined, knowledge: Knowledge) -> Course:
        """Have the duties done for a report that was examined; faults are kept in the course, none is raised."""
        start = self._clock.monotonic()
        report = examined.reading.report
        until = start + min(self._config.timeout, MAX_WAIT)
        course = Course(examined, examined.judgement, until, repository_of(report.id))
        if report.title.strip() or report.body.strip():
            if "reader" in self._config.duties:
                self._read(course, knowledge, start)
            if "adjudicator" in self._config.duties:
                self._adjudicate(course, knowledge)
        return course

    def _read(self, course: Course, knowledge: Knowledge, start: float) -> None:
        reading = course.examined.reading
        request, shown = reader_request(reading, new_token())
        share = READER_SHARE if "adjudicator" in self._config.duties else 1.0
        until = start + share * (course.until - start)
        try:
            done = self._caller.ask(request, lambda value: read_account(value, shown), course.scope, until)
        except LlmFault as fault:
            course.faults.append(fault)
            return
        account = examine(as_report(done.value, reading, shown), knowledge).judgement
        course.account, course.account_judgement = done.value, account
        course.judgement = fuse_account(course.judgement, account, self._weights)
        course.tokens += done.tokens
        course.duties.append("reader")

    def _adjudicate(self, course: Course, knowledge: Knowledge) -> None:
        question = make_question(course.examined, course.judgement, course.account)
        request = adjudicator_request(question, knowledge.taxonomy, new_token())
        try:
            done = self._caller.ask(
                request, lambda value: read_verdict(value, question), course.scope, course.until
            )
        except LlmFault as fault:
            course.faults.append(fault)
            return
        course.verdict = done.value
        course.judgement = fuse_ranking(course.judgement, done.value.rankings, self._weights)
        course.tokens += done.tokens
        course.duties.append("adjudicator")

    def _told(self, triage: Triage, course: Course, seconds: float) -> LlmTriage:
        for fault in course.faults:
            course.tokens += fault.tokens
        shown = {neighbour.id for neighbour in triage.neighbours}
        verdict = course.verdict
        plain = verdict if self._config.reason_mode == "plain" else None
        note = SecondReading(
            used=bool(course.duties),
            duties=list(course.duties),
            model=self._config.model,
            why=plain.reason if plain else None,
            lines=list(plain.lines) if plain else [],
            cases=[id_ for id_ in plain.cases if id_ in shown] if plain else [],
            fallback_reason=course.faults[0].reason if course.faults else None,
            fabricated=(course.account.dropped if course.account else 0)
            + (verdict.fabricated if verdict else 0),
            tokens_in=course.tokens.input,
            tokens_out=course.tokens.output,
            cost=self._config.cost(course.tokens),
            seconds=round(seconds, 3),
        )
        triage = triage.model_copy(update={"second_reading": note})
        return LlmTriage(triage, note.used, note.why, course.tokens, note.cost, note.fallback_reason)


def make_question(examined: Examined, judgement: Judgements, account: Account | None) -> Question:
    """The adjudicator's question: the most probable ids of each axis, the nearest cases, the main lines."""
    candidates: Candidates = {
        axis: [(id_, p) for id_, p in judgement[axis].ranking[: CANDIDATES[axis]]] for axis in AXES
    }
    shown = choose_lines(examined.reading, REPORT_CHARS)
    return Question(
        candidates, examined.neighbours[:NEIGHBOURS], shown, account.text if account is not None else ""
    )


def repository_of(report_id: str) -> str:
    """The scope of the budget: "owner/name" of "owner/name#12"; "" (no scope of its own) for other ids."""
    name, mark, _ = report_id.partition("#")
    return name if mark and "/" in name else ""
