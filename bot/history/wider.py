"""The same failure outside of the repository: in the owner's other repositories, then among the shipped cases.

The same rules decide as within it. A threshold that was fitted to a repository's own marks says nothing of others, so
the strictest counts. GitHub is asked at that moment whether a repository may be named elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import lru_cache

from bot.history.explain import why
from bot.history.records import RepoHistory
from bot.ports import CoreFailed, Recorder
from knowledge.cases import Case, load_cases
from knowledge.evidence.facts_table import component_of_tracker
from knowledge.history.index import Postings, counted_together
from knowledge.history.pairs import Rarities
from knowledge.history.record import Post, Record
from knowledge.history.verifier import SHOWN, Near, Weights, closest
from knowledge.history.words import counted
from knowledge.triage import EarlierReport, Neighbour

MOST_SIBLINGS = 8
"""Repositories of an owner that are searched, the largest: each takes about as long as the repository's own."""
MOST_CASES = 5
Visible = Callable[[RepoHistory], bool]
"""Whether a repository's issues may be named in another one, whose readers may be other people."""


def strictest(repo: RepoHistory, sibling: RepoHistory, shipped: Weights) -> RepoHistory:
    """The sibling with the threshold that holds between the two."""
    own = [one.threshold for one in (repo, sibling) if one.threshold is not None]
    return replace(sibling, threshold=max(shipped.threshold, *own) if own else shipped.threshold)


def among_siblings(
    repo: RepoHistory,
    record: Record,
    siblings: Sequence[RepoHistory],
    near: Callable[[RepoHistory, Record], list[Near]],
    visible: Visible,
) -> list[tuple[RepoHistory, Near]]:
    """The most probable matches in repositories that may be named here, best first, at most two."""
    # Numbers are a repository's own: #12 there is another issue than #12 here.
    asked = replace(record, id=f"{repo.full_name}#{record.id}")
    found = [(sibling, one) for sibling in siblings for one in near(sibling, asked) if one.shown]
    found.sort(key=lambda pair: -pair[1].p)
    seen: dict[int, bool] = {}
    shown: list[tuple[RepoHistory, Near]] = []
    for sibling, one in found:
        if len(shown) < SHOWN and seen.setdefault(
            sibling.key, len(seen) < MOST_SIBLINGS and visible(sibling)
        ):
            shown.append((sibling, one))
    return shown


class CaseRecords:
    """Records of the shipped cases, each made when it is first asked for: they never change."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._made: dict[str, Record] = {}

    def of(self, cases: Sequence[Case]) -> list[Record]:
        """Their records, in order. Raises `CoreFailed`."""
        new = [_post(case) for case in cases if case.id not in self._made]
        if new:
            made = self._recorder.records(new, triaged=True).records
            self._made |= {record.id: record for record in made}
        return [self._made[case.id] for case in cases]


def among_cases(
    record: Record, cases: Sequence[Case], records: CaseRecords, weights: Weights
) -> list[EarlierReport]:
    """Those of the shipped cases that show the same failure."""
    if not cases:
        return []
    try:
        made = records.of(cases)
    except CoreFailed:
        return []
    by_id = {case.id: case for case in cases}
    near = closest(record, made, case_words(), weights)
    return [_told(by_id[one.record.id], one) for one in near if one.shown]


def near_cases(name: str, neighbours: Sequence[Neighbour]) -> list[Case]:
    """The shipped cases among a report's neighbours that are worth a comparison; `name` is the report's own id.

    Only those with an error signature in common: without one, nothing would speak for them.
    """
    cases = _cases()
    return [cases[n.id] for n in neighbours if n.shared and n.id in cases and n.id != name][:MOST_CASES]


@lru_cache(maxsize=1)
def case_words() -> Rarities:
    """How rare words are among the shipped cases, whatever repository asks: a new one has no words of its own.

    Half a second of CPU time, once.
    """
    words = Postings()
    for case in _cases().values():
        words.add(counted_together(counted(case.title), counted(case.body)))
    return words


def _post(case: Case) -> Post:
    opened = datetime.fromisoformat(case.opened).replace(tzinfo=UTC) if case.opened else None
    return Post(case.id, case.title, case.body, opened)


def _told(case: Case, near: Near) -> EarlierReport:
    return EarlierReport(
        id=case.id,
        url=case.url,
        title=case.title,
        opened=case.opened,
        why=why(near.shared, component_of_tracker(case.id.partition("#")[0])),
        is_open=False,
        ended=f"answered: {case.resolution.rstrip('.')}" if case.resolution else "",
    )


@lru_cache(maxsize=1)
def _cases() -> dict[str, Case]:
    return {case.id: case for case in load_cases()}
