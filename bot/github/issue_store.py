"""What one run without a database knows of one issue: its own comments are the record.

Commands stay in the issue, so what they asked for can be read again: corrections, results, dismissals. What leaves no
trace there (noise over many issues, a comment that somebody deleted, earlier configurations) is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from bot.github.command_run import with_whole_result
from bot.github.commands import Command, may, parse_command
from bot.github.ports import MAY_WRITE, Comment, Permission, Store
from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    DraftDecision,
    InstallationNote,
    IssueRef,
    LabelFact,
    Noise,
    PastedResult,
    RepoRef,
    Request,
    Resolution,
    TriageRecord,
)
from bot.ports import Clock, Core


class IssueStore(Store):
    """The store of a run that handles one event of one issue, in memory."""

    def __init__(self) -> None:
        self.triage: TriageRecord | None = None
        self.config_read: ConfigCache | None = None
        self._note: CommentNote | None = None
        self._corrections: dict[int, Correction] = {}
        self._results: dict[int, PastedResult] = {}
        self._facts: list[LabelFact] = []
        self._requests: dict[str, Request] = {}
        self._decided: dict[str, DraftDecision] = {}
        self._done: set[tuple[int, str]] = set()
        self._on = True

    def save_triage(self, record: TriageRecord) -> None:
        """Keep it for the summary."""
        self.triage = record

    def last_triage(self, issue: IssueRef) -> TriageRecord | None:
        """This run's."""
        return self.triage

    def triage_count(self, issue: IssueRef) -> int:
        """This run's alone."""
        return int(self.triage is not None)

    def save_request(self, issue: IssueRef, request: Request) -> None:
        """Keep it for this run."""
        self._requests[request.item] = request

    def requests(self, issue: IssueRef) -> list[Request]:
        """This run's."""
        return list(self._requests.values())

    def save_resolution(self, issue: IssueRef, resolution: Resolution) -> None:
        """Dropped: nothing would read it."""

    def resolution(self, issue: IssueRef) -> Resolution | None:
        """None is kept."""
        return None

    def forget_resolution(self, issue: IssueRef) -> None:
        """None is kept."""

    def comment_note(self, issue: IssueRef) -> CommentNote | None:
        """What the commands on the issue lead to."""
        return self._note

    def save_comment_note(self, issue: IssueRef, note: CommentNote) -> None:
        """Replace it."""
        self._note = note

    def recent_comments(self, repo_id: int, since: datetime) -> list[tuple[IssueRef, CommentNote]]:
        """None: no sweep runs here."""
        return []

    def save_label_fact(self, fact: LabelFact) -> None:
        """Keep it; GitHub's own record is what counts."""
        self._facts.append(fact)

    def label_facts(self, issue: IssueRef) -> list[LabelFact]:
        """This run's."""
        return self._facts

    def save_correction(self, correction: Correction) -> None:
        """Keep it; one of the same comment replaces the earlier one."""
        self._corrections[correction.comment_id] = correction

    def corrections(self, issue: IssueRef) -> list[Correction]:
        """Those given in comments of the issue, oldest first."""
        return list(self._corrections.values())

    def save_draft_decision(self, decision: DraftDecision) -> None:
        """Keep it."""
        self._decided[decision.input_hash] = decision

    def draft_decision(self, issue: IssueRef, input_hash: str) -> DraftDecision | None:
        """This run's."""
        return self._decided.get(input_hash)

    def save_result(self, issue: IssueRef, result: PastedResult, at: datetime) -> None:
        """Keep it; one of the same comment is replaced."""
        self._results.pop(result.comment_id, None)
        self._results[result.comment_id] = result

    def results(self, issue: IssueRef, newest: int) -> list[PastedResult]:
        """The newest ones, newest first."""
        return list(reversed(self._results.values()))[:newest]

    def forget_result(self, comment_id: int) -> None:
        """Drop it."""
        self._results.pop(comment_id, None)

    def command_done(self, comment_id: int, digest: str) -> bool:
        """Whether this run carried it out."""
        return (comment_id, digest) in self._done

    def mark_command(self, comment_id: int, digest: str) -> None:
        """Note it for this run."""
        self._done.add((comment_id, digest))

    def config(self, repo_id: int) -> ConfigCache | None:
        """What this run read."""
        return self.config_read

    def save_config(self, repo_id: int, cache: ConfigCache) -> None:
        """Keep it for this run."""
        self.config_read = cache

    def claim_config_note(self, repo_id: int, error: str | None) -> bool:
        """Never: errors in the file stand in the summary."""
        return False

    def repo_on(self, repo_id: int) -> bool:
        """False after `/triage off` on this issue."""
        return self._on

    def set_repo_on(self, repo_id: int, on: bool, by: str, at: datetime) -> None:
        """Switch this issue."""
        self._on = on

    def save_dismissal(self, dismissal: Dismissal) -> None:
        """Dropped: noise is not counted here."""

    def noise(self, repo_id: int, last: int) -> Noise:
        """Unknown."""
        return Noise(0, 0)

    def take_writes(self, installation_id: int, count: int, now: datetime) -> float:
        """One run makes a handful of writes."""
        return 0.0

    def save_installation(self, note: InstallationNote) -> None:
        """Dropped: a token has no installation."""

    def save_repos(self, installation_id: int, added: list[RepoRef], removed: list[RepoRef]) -> None:
        """Dropped likewise."""


def recall(
    store: Store,
    ref: IssueRef,
    author: str,
    given: Iterable[tuple[Comment, Permission]],
    core: Core,
    clock: Clock,
) -> None:
    """Bring the store to where the issue's earlier commands left it; `given` oldest first, `author` of the issue."""
    for comment, permission in given:
        command = parse_command(comment.body, core.ids)
        if not isinstance(command, Command) or not may(command, permission, comment.author == author):
            continue
        command = with_whole_result(command)
        if isinstance(command, Command):
            _apply(store, ref, comment, command, permission in MAY_WRITE, clock.now())


def _apply(
    store: Store, ref: IssueRef, comment: Comment, command: Command, by_maintainer: bool, now: datetime
) -> None:
    note = store.comment_note(ref) or CommentNote(None, None)
    if command.word in {"on", "off"}:
        store.set_repo_on(ref.repo.id, command.word == "on", comment.author, now)
    elif command.word == "correct":
        store.save_correction(
            Correction(ref, comment.id, comment.author, now, dict(command.labels), title="", body="")
        )
    elif command.word == "result":
        store.save_result(ref, PastedResult(comment.id, comment.author, by_maintainer, command.text), now)
    elif command.word == "dismiss":
        store.save_comment_note(ref, note.folded(by_maintainer))
    elif command.word in {"again", "explain"}:
        back = note.called_back(command.word == "explain", by_maintainer)
        if back is not None:
            store.save_comment_note(ref, back)
