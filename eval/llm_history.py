"""What an LLM adds that reads both texts where two reports may show one failure: `bot eval duplicates --llm`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from eval.history import Ranked
from knowledge.evidence import read_report
from knowledge.history.record import Post
from knowledge.history.verifier import worth_reading
from knowledge.report import Report
from knowledge.signatures import SignatureTable
from llm.calls import Call, Caller, LlmAccess
from llm.comparer import ask_which_are_same
from llm.values import MAX_WAIT, RealClock, Tokens

Tick = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class ReadBoth:
    """The reports as they are shown with what the LLM confirmed, and what that took."""

    ranked: tuple[Ranked, ...]
    reports: int
    """Those with an earlier report that was worth the reading."""
    calls: tuple[Call, ...]

    def took(self, access: LlmAccess) -> str:
        """One sentence on what was asked and what it cost."""
        faults = Counter(call.fault.reason for call in self.calls if call.fault)
        tokens = sum((call.spent for call in self.calls), Tokens())
        told = f"{self.reports} reports were doubtful, and {access.config.model} read both texts"
        failed = ", ".join(f"{name} {count}" for name, count in faults.most_common())
        unanswered = f" Without an answer: {failed}." if failed else ""
        return (
            f"{told}; {tokens.input} tokens in, {tokens.output} out, {access.config.cost(tokens):.2f} dollars."
            + unanswered
        )


def read_both(
    ranked: Sequence[Ranked],
    posts: Sequence[Post],
    access: LlmAccess,
    table: SignatureTable,
    tick: Tick = lambda what, n: None,
) -> ReadBoth:
    """Have the LLM read each report of `ranked` beside the earlier ones that may be the same and aren't shown."""
    texts = {post.id: Report(post.id, post.title, post.body) for post in posts}
    doubtful = [one for one in ranked if worth_reading(one.found)]
    clock = RealClock()
    with access.client() as client, ThreadPoolExecutor(access.config.concurrency) as pool:
        caller = Caller(access.config, client, access.cache, access.ledger, clock)

        def confirm(one: Ranked) -> tuple[Ranked, Call]:
            near = [other.record.id for other in worth_reading(one.found)]
            readings = [read_report(texts[id], table) for id in (one.id, *near)]
            until = clock.monotonic() + min(access.config.timeout, MAX_WAIT)
            places, call = ask_which_are_same(caller, readings[0], readings[1:], "", until)
            tick("the LLM reads", 1)
            return with_shown(one, {near[place] for place in places}), call

        answered = list(pool.map(confirm, doubtful))
    confirmed = {one.id: one for one, _ in answered}
    return ReadBoth(
        tuple(confirmed.get(one.id, one) for one in ranked),
        len(doubtful),
        tuple(call for _, call in answered),
    )


def with_shown(one: Ranked, ids: set[str]) -> Ranked:
    """The report with those of its earlier ones shown, too."""
    found = tuple(replace(near, shown=True) if near.record.id in ids else near for near in one.found)
    return replace(one, found=found)
