"""The one comment of an issue: found, written or edited, never a second one.

Interleavings this excludes, given that jobs of one issue never run side by side:
- killed between writing and noting it: the next run finds the comment by marker and author;
- the connection dropped after the write: the note holds `intended_at`, the next run looks again, and
  where the list does not show it yet waits until `settle_seconds` have passed;
- removed by a person: the note holds an id that GitHub no longer knows, so nothing is written again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Literal

import re2

from bot.gate.rules import PassedMarkdown
from bot.github.ports import Comment, GitHub, Ports
from bot.github.records import CommentNote, Dismissal, DraftDecision, Gone, IssueRef, TryAgain
from knowledge.triage import AnswerSentence, Triage, WrittenAnswer

# An answer that an LLM drafted, as a maintainer left it: posted, edited, or rejected.

MOST_SENTENCES = 12
MOST_CHARS = 420
"""Of a sentence, as `AnswerSentence` allows it."""


def edited(draft: WrittenAnswer, sentences: tuple[str, ...]) -> WrittenAnswer:
    """The answer with these sentences; those that the LLM wrote keep what they rest on."""
    known = {sentence.text: sentence for sentence in draft.sentences}
    roles = [sentence.role for sentence in draft.sentences]
    told = [
        known.get(text) or AnswerSentence(text=text, role=roles[min(n, len(roles) - 1)], confidence=1.0)
        for n, text in enumerate(sentences)
    ]
    return draft.model_copy(update={"sentences": told})


def fault(sentences: tuple[str, ...]) -> str | None:
    """Why an edited answer cannot be posted, a sentence; None when it can. The gate has its word when it is written."""
    if not sentences:
        return "It has no sentence."
    if len(sentences) > MOST_SENTENCES or max(map(len, sentences)) > MOST_CHARS:
        return f"At most {MOST_SENTENCES} lines of {MOST_CHARS} characters."
    return None


def as_decided(triage: Triage, decision: DraftDecision | None) -> Triage:
    """The triage with its draft as the maintainer left it; a rejected one stays, for the page to show."""
    if decision is None or decision.decision == "reject" or triage.answer is None:
        return triage
    return triage.model_copy(update={"answer": edited(triage.answer, decision.sentences)})


Kind = Literal["triage", "config"]
_MARKER = re2.compile(r"^<!-- distriage v1 kind=(triage|config) input=([0-9a-f]{64}) body=([0-9a-f]{16}) -->")


@dataclass(frozen=True, slots=True)
class Marker:
    """What a marker says."""

    kind: str
    input_hash: str
    body_hash: str


def with_marker(kind: Kind, input_hash: str, body: str) -> str:
    """The body with its marker in front."""
    return f"<!-- distriage v1 kind={kind} input={input_hash} body={_hash(body)} -->\n{body}"


def read_marker(text: str) -> Marker | None:
    """The marker that a text begins with."""
    found = _MARKER.match(text)
    return Marker(found.group(1), found.group(2), found.group(3)) if found else None


def edited_by_person(text: str) -> bool:
    """Whether a marked text is no longer what its marker says was written."""
    marker = read_marker(text)
    return marker is not None and _hash(text.partition("\n")[2]) != marker.body_hash


def own_comments(comments: list[Comment], login: str, kind: Kind) -> list[Comment]:
    """The comments that are ours by author **and** by marker, oldest first.

    Anybody can copy a marker, and another program may write under the same account: neither alone counts.
    """
    mine = [c for c in comments if c.author == login]
    return [c for c in mine if (m := read_marker(c.body)) is not None and m.kind == kind]


def _hash(body: str) -> str:
    # Blank space aside: GitHub may change line ends and trailing blanks.
    return hashlib.sha256(" ".join(body.split()).encode("utf-8", "replace")).hexdigest()[:16]


def spend(ports: Ports, installation_id: int, count: int) -> None:
    """Take `count` writes, or `TryAgain` with the seconds until there are so many."""
    wait = ports.store.take_writes(installation_id, count, ports.clock.now())
    if wait > 0:
        raise TryAgain("the installation's write budget is spent", after=wait)


# A rate limit refuses before anything is written; a 5xx or a dropped connection leaves it open.
_REFUSED = frozenset({403, 429})

Did = Literal["created", "edited", "unchanged", "deleted_by_person", "edited_by_person", "dismissed"]


@dataclass(frozen=True, slots=True)
class Posted:
    """What was done about the comment."""

    did: Did
    comment_id: int | None

    @property
    def writes(self) -> int:
        """Calls that changed something."""
        return 1 if self.did in {"created", "edited"} else 0


def find_own(github: GitHub, ports: Ports, ref: IssueRef, comments: list[Comment]) -> Comment | None:
    """The bot's comment: from the list, else by the id in the note (the list may lag behind)."""
    mine = own_comments(comments, github.login, "triage")
    if mine:
        return mine[0]
    note = ports.store.comment_note(ref)
    if note is None or note.comment_id is None:
        return None
    try:
        noted = github.comment(ref, note.comment_id)
    except Gone:
        return None
    return noted if noted.author == github.login else None


def hold_back(ports: Ports, ref: IssueRef, own: Comment | None, force: bool) -> Did | None:
    """Why people's doings forbid a comment; None when they do not, or a maintainer asked for it (`force`)."""
    note = ports.store.comment_note(ref)
    if force:
        return None
    if own is None and note is not None and note.comment_id is not None:
        if note.state == "live":
            # Only who may write to the repository can remove another's comment; GitHub does not say who it was.
            ports.store.save_dismissal(Dismissal(ref, "?", "deleted", ports.clock.now(), by_maintainer=True))
            ports.store.save_comment_note(ref, replace(note, state="deleted"))
        return "deleted_by_person"
    if note is not None and note.state != "live":
        return "dismissed"
    if own is not None and edited_by_person(own.body):
        return "edited_by_person"
    return None


def post(github: GitHub, ports: Ports, ref: IssueRef, own: Comment | None, body: PassedMarkdown) -> Posted:
    """Write the body as the issue's one comment; `own` is what `find_own` found a moment ago."""
    note = ports.store.comment_note(ref) or CommentNote(None, None)
    if own is not None:
        if own.body.split() != body.split():
            spend(ports, ref.installation_id, 1)
            github.edit_comment(ref, own.id, body)
            did: Did = "edited"
        else:
            did = "unchanged"
        ports.store.save_comment_note(ref, replace(note, comment_id=own.id, intended_at=None, state="live"))
        return Posted(did, own.id)
    now = ports.clock.now()
    if note.intended_at is not None:
        left = note.intended_at + timedelta(seconds=ports.settle_seconds) - now
        if left > timedelta(0):
            raise TryAgain("an earlier write may still show up", after=left.total_seconds())
    spend(ports, ref.installation_id, 1)
    ports.store.save_comment_note(ref, replace(note, comment_id=None, intended_at=now, state="live"))
    try:
        comment = github.create_comment(ref, body)
    except TryAgain as error:
        if error.status in _REFUSED:
            ports.store.save_comment_note(ref, replace(note, intended_at=None))
        raise
    ports.store.save_comment_note(ref, replace(note, comment_id=comment.id, intended_at=None, state="live"))
    return Posted("created", comment.id)
