"""The second reader: the local triage, moved by an LLM where one answers in time and within its budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from knowledge.concluding import findings_of
from knowledge.diagnostics.result import parse_result
from knowledge.engine import Examined, Knowledge, conclude, examine
from knowledge.evidence import read_report
from knowledge.findings.matcher import confirmed
from knowledge.judging.axes import JUDGED
from knowledge.readback import move, taken_out
from knowledge.report import Report
from knowledge.taxonomy import Taxonomy
from knowledge.triage import AXES, SecondReading, Triage, WrittenAnswer
from llm.calls import Call, Caller
from llm.comparer import ask_which_are_same
from llm.confirmer import confirmer_question, confirmer_request, read_confirmation, worth_confirming
from llm.dialect import Dialect, address_of, arguments
from llm.draft import Draft
from llm.duties import (
    CANDIDATES,
    QUESTION_TOKENS,
    Account,
    Candidates,
    Question,
    Verdict,
    adjudicator_request,
    as_report,
    read_account,
    read_verdict,
    reader_request,
    with_lines,
)
from llm.faults import Busy, LlmFault, NoTime, TimedOut, UnknownIds
from llm.fusion import FusionWeights, Judgements, fuse, load_weights
from llm.prompts import ShownLines, new_token
from llm.values import MAX_WAIT, RANKING, ChatRequest, Clock, Duty, LlmConfig, Tokens
from llm.verify import held, without
from llm.writer import (
    WriterQuestion,
    as_answer,
    read_draft,
    read_verdicts,
    verifier_request,
    writer_question,
    writer_request,
)

# One triage on its way through the second reader: what was said, what went wrong, what it took.

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
    calls: list[Call] = field(default_factory=list)
    """Every question in the order of asking, those that were not put included."""

    @property
    def duties(self) -> list[Duty]:
        """The duties that were done, in order; a draft that was written again counts twice."""
        return [call.duty for call in self.calls if call.fault is None]

    @property
    def faults(self) -> list[LlmFault]:
        """Why duties were not done."""
        return [call.fault for call in self.calls if call.fault is not None]

    @property
    def tokens(self) -> Tokens:
        """Spent on this triage."""
        return sum((call.spent for call in self.calls), Tokens())

    @property
    def cached(self) -> int:
        """Duties that were answered from the cache."""
        return sum(call.cached for call in self.calls)

    def fused(self, weights: FusionWeights) -> Judgements:
        """The judgement of both; the local one as it is where the LLM said nothing."""
        rankings = self.verdict.rankings if self.verdict else {}
        return fuse(self.examined.judgement, self.account_judgement, rankings, weights)

    @property
    def asked(self) -> bool:
        """Whether a question really went to the server."""
        return any(call.asked for call in self.calls)

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


NEIGHBOURS = 5
SHARES: dict[Duty, float] = {"reader": 3, "adjudicator": 2, "confirmer": 2, "writer": 4, "verifier": 2}
"""How what is left of the time is shared among the duties still to come."""
LEAST_FOR_WRITING = 3.0
"""Seconds below which the writer is not asked: it and its verifier would not be done."""
_EVEN = FusionWeights(dict.fromkeys(JUDGED, 0.5), dict.fromkeys(JUDGED, 0.5), {}, {})


class SecondReader:
    """Asks the LLM for its duties in turn. Safe to call from several threads."""

    def __init__(
        self, config: LlmConfig, caller: Caller, clock: Clock, weights: FusionWeights | None = None
    ) -> None:
        self._config = config
        self._caller = caller
        self._clock = clock
        self._weights = weights or load_weights()

    def triage(
        self, report: Report, knowledge: Knowledge, top: int = 5, *, result: str | None = None
    ) -> LlmTriage:
        """Triage a report; waits for the LLM the configured time at most, never above 20 s.

        `result` is what the diagnostics script printed; one that was pasted into the body is found there.
        Causes move by it after the LLM was heard: what was measured has the last word. Raises InputError
        when the result is damaged.
        """
        own, pasted = taken_out(report)
        result = pasted if result is None else result
        examined = examine(own, knowledge)
        if result is not None:
            parse_result(result)  # a damaged one is told before anything is paid
        start = self._clock.monotonic()
        course = self.consult(examined, knowledge)
        judgement = course.fused(self._weights)
        triage = _concluded(examined, knowledge, judgement, result, top)
        confirms = "confirmer" in self._config.duties
        if confirms and (found := self._confirm(course, with_candidates(triage, examined))):
            examined = replace(examined, matches=confirmed(examined.matches, found, self._config.model))
            triage = _concluded(examined, knowledge, judgement, result, top)
        if "writer" in self._config.duties and report.write:
            self._write(course, with_candidates(triage, examined))
            triage = triage.model_copy(update={"answer": course.answer})
        note = course.note(self._config, triage, self._clock.monotonic() - start)
        kept = {"second_reading": note, "content_hash": report.content_hash}
        return LlmTriage(triage.model_copy(update=kept), note, course, judgement)

    def compare(
        self, report: Report, earlier: Sequence[Report], knowledge: Knowledge
    ) -> tuple[tuple[str, ...], Call]:
        """Ids of the `earlier` reports, at most two, that show the same failure, and the call; none is raised."""
        readings = [read_report(bare(one), knowledge.table) for one in (report, *earlier)]
        until = self._clock.monotonic() + min(self._config.timeout, MAX_WAIT)
        scope = repository_of(report.id)
        places, call = ask_which_are_same(self._caller, readings[0], readings[1:], scope, until)
        return tuple(earlier[place].id for place in sorted(places)), call

    def consult(self, examined: Examined, knowledge: Knowledge) -> Course:
        """Have the duties done for a report that was examined; faults are kept in the course, none is raised."""
        start = self._clock.monotonic()
        report = examined.reading.report
        course = Course(examined, start + min(self._config.timeout, MAX_WAIT), repository_of(report.id))
        if report.title.strip() or report.body.strip():
            if "reader" in self._config.duties:
                self._read(course, knowledge)
            if "adjudicator" in self._config.duties:
                self._adjudicate(course, knowledge)
        return course

    def _read(self, course: Course, knowledge: Knowledge) -> None:
        reading = course.examined.reading
        request, shown = reader_request(reading, new_token())
        until = self._until(course, "reader")
        course.account = self._asked(course, request, lambda value: read_account(value, shown), until)
        if course.account is None:
            return
        course.account_judgement = examine(as_report(course.account, reading, shown), knowledge).judgement

    def _adjudicate(self, course: Course, knowledge: Knowledge) -> None:
        question = make_question(
            course.examined, knowledge.taxonomy, course.account, course.account_judgement
        )
        request = adjudicator_request(question, knowledge.taxonomy, new_token())
        until = self._until(course, "adjudicator")
        course.verdict = self._asked(course, request, lambda value: read_verdict(value, question), until)

    def _confirm(self, course: Course, triage: Triage) -> Mapping[str, tuple[int, ...]]:
        """Ids of the known failures that the LLM finds to apply, with their lines; asked only where none is sure."""
        if not worth_confirming(triage):
            return {}
        question = confirmer_question(triage, course.examined.reading)
        request = confirmer_request(question, new_token())
        until = self._until(course, "confirmer")
        return self._asked(course, request, lambda value: read_confirmation(value, question), until) or {}

    def _write(self, course: Course, triage: Triage) -> None:
        """Have an answer drafted, checked by program and by a second call; a fault leaves none."""
        if not _failing(triage):
            return
        if course.until - self._clock.monotonic() < LEAST_FOR_WRITING:
            course.late = True
            return
        question = writer_question(triage, course.examined.reading)
        draft = self._drafted(course, question, writer_request(question, new_token()))
        if draft is None:
            return
        checked = held(draft, question.material)
        if checked.voided and course.until - self._clock.monotonic() >= LEAST_FOR_WRITING:
            request = writer_request(question, new_token(), draft, checked.voided)
            rewritten = self._drafted(course, question, request)
            second = held(rewritten, question.material) if rewritten is not None else checked
            checked = second if second.draft is not None else checked
        if checked.draft is not None:
            self._verify(course, checked.draft, question)

    def _drafted(self, course: Course, question: WriterQuestion, request: ChatRequest) -> Draft | None:
        until = self._until(course, "writer")
        return self._asked(course, request, lambda value: read_draft(value, question), until)

    def _verify(self, course: Course, draft: Draft, question: WriterQuestion) -> None:
        request = verifier_request(draft, question, new_token())
        refuted = self._asked(course, request, lambda value: read_verdicts(value, draft), course.until)
        if refuted is None:
            course.answer = as_answer(draft, self._config.model, verified=False)
            return
        left = without(draft, refuted)
        course.answer = as_answer(left, self._config.model, verified=True) if left else None

    def _asked(
        self, course: Course, request: ChatRequest, read: Callable[[Mapping[str, Any]], T], until: float
    ) -> T | None:
        """The answer, booked; None after a fault, which is booked too."""
        try:
            answered = self._caller.ask(request, read, course.scope, until)
        except LlmFault as fault:
            course.calls.append(Call.failed(request.duty, fault))
            course.late |= request.duty not in RANKING and isinstance(fault, TimedOut | NoTime | Busy)
            return None
        course.calls.append(Call.answered(request.duty, answered))
        return answered.value

    def _until(self, course: Course, duty: Duty) -> float:
        """The moment until which a duty is waited for, so that those after it have their share."""
        configured = set(self._config.all_duties)
        if not course.examined.reading.report.write:
            configured -= {"writer", "verifier"}
        order = list(SHARES)
        coming = [SHARES[later] for later in order[order.index(duty) :] if later in configured]
        now = self._clock.monotonic()
        return now + (course.until - now) * coming[0] / sum(coming)


def _failing(triage: Triage) -> bool:
    """Whether the report is one that an answer is drafted for."""
    return triage.scope == "ours" and triage.type.top in ("fault", "howto")


def with_candidates(triage: Triage, examined: Examined) -> Triage:
    """The triage as confirmer and writer see it: also with known failures too unlikely to be told to people."""
    if not _failing(triage):
        return triage
    given = examined.reading.report.set_by_people
    return triage.model_copy(
        update={"findings": findings_of(examined.matches, examined.reading, given, every=True)}
    )


def make_question(
    examined: Examined,
    taxonomy: Taxonomy,
    account: Account | None = None,
    judged: Judgements | None = None,
) -> Question:
    """The adjudicator's question: the most probable ids of each axis, the nearest cases, the main lines.

    The probabilities are the local judge's, of report and account (`judged`) evenly. They do not depend on
    the fitted weights, or whoever fits these would have to ask everything again.
    """
    told = fuse(examined.judgement, judged, {}, _EVEN)
    candidates: Candidates = {axis: list(told[axis].ranking[: CANDIDATES[axis]]) for axis in AXES}
    told_before = account.text if account is not None else ""
    question = Question(candidates, examined.neighbours[:NEIGHBOURS], ShownLines({}), told_before)
    return with_lines(question, examined.reading, taxonomy, QUESTION_TOKENS)


def bare(report: Report) -> Report:
    """The report without pasted results of the diagnostics script; line numbers stay."""
    return taken_out(report)[0]


def _concluded(
    examined: Examined, knowledge: Knowledge, judgement: Judgements, result: str | None, top: int
) -> Triage:
    if result is None:
        return conclude(examined, knowledge, judgement=judgement, top=top)
    moved = move(judgement, result, knowledge.taxonomy, examined.reading)
    judgement = {**judgement, **moved.judgement}
    return conclude(
        examined,
        knowledge,
        judgement=judgement,
        top=top,
        answered=moved.answered,
        measured=moved.sentences,
    )


def repository_of(report_id: str) -> str:
    """The scope of the budget: "owner/name" of "owner/name#12"; "" (no scope of its own) for other ids."""
    name, mark, _ = report_id.partition("#")
    return name if mark and "/" in name else ""


# The exact requests that a triage would send, without sending them.

_AFTER_READER = (
    "The reader's account is added at the end, and moves the candidates' probabilities: "
    "only the LLM's first answer could tell it."
)


_AFTER_RANKING = (
    "Known failures, versions and cases are those of the local triage. "
    "The verifier is asked about the draft that comes back."
)


def dry_run(report: Report, knowledge: Knowledge, config: LlmConfig) -> list[dict[str, Any]]:
    """One {"duty", "report", "url", "headers", "body"} a duty, in the order of asking; the key is not shown.

    The body is what goes over the wire first; a server that refuses part of it gets less (`llm.dialect`).
    An adjudicator that is asked after the reader has a "remark" on what its request cannot show yet.
    """
    examined = examine(bare(report), knowledge)
    shown: list[dict[str, Any]] = []
    if "reader" in config.duties:
        shown.append(_shown(report, reader_request(examined.reading, new_token())[0], config))
    if "adjudicator" in config.duties:
        request = adjudicator_request(
            make_question(examined, knowledge.taxonomy), knowledge.taxonomy, new_token()
        )
        remark = {"remark": _AFTER_READER} if shown else {}
        shown.append({**_shown(report, request, config), **remark})
    triage = with_candidates(conclude(examined, knowledge), examined)
    if "confirmer" in config.duties and worth_confirming(triage):
        asked = confirmer_request(confirmer_question(triage, examined.reading), new_token())
        shown.append(_shown(report, asked, config))
    if "writer" in config.duties and _failing(triage):
        question = writer_question(triage, examined.reading)
        ask = _shown(report, writer_request(question, new_token()), config)
        shown.append({**ask, "remark": _AFTER_RANKING})
    return shown


def _shown(report: Report, request: ChatRequest, config: LlmConfig) -> dict[str, Any]:
    address = address_of(config.base_url)
    key = "***" if config.api_key else "none"
    return {
        "duty": request.duty,
        "report": report.id,
        "url": address.url,
        "headers": address.key_header(key),
        "body": arguments(request, config, Dialect()),
    }
