"""How an issue stands or ended, from GitHub's own record of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import re2

from bot.github.ports import MAINTAINERS
from bot.history.records import Outcome

_PERSON = frozenset({"User", "Mannequin", "EnterpriseUserAccount"})
_BOT_NAME = re2.compile(r"(?i)(?:bot|\[bot\])$")
"""Some projects run their bots as ordinary users ("pytorchmergebot")."""
_SAME = re2.compile(
    r"(?i)^\W{0,3}(?:closing (?:this )?as (?:a )?)?duplicate of\s+(?:\S+/issues/|#)(\d{1,9})\b"
)
_LATE = timedelta(days=1)
"""By how much a pull request that is linked may have been merged after the issue was closed."""


def people_of(actor: Mapping[str, Any] | None) -> tuple[str, bool]:
    """Login, and whether that is a person; of a deleted account nobody can say, so it counts as none."""
    if not actor:
        return "ghost", False
    login = str(actor.get("login", "ghost"))
    return login, actor.get("__typename") in _PERSON and is_person(login)


def is_person(login: str) -> bool:
    """Whether a login is that of a person, as far as its name tells; an App's ends in "[bot]"."""
    return login != "ghost" and not _BOT_NAME.search(login)


def outcome_of(node: Mapping[str, Any], events: Sequence[Mapping[str, Any]], full_name: str) -> Outcome:
    """The outcome of an issue of the queries in bot/github/past_issues.py; `events` are its timeline's."""
    is_open = str(node["state"]) != "CLOSED"
    closed_at = _time(node.get("closedAt"))
    reason = "" if is_open else str(node.get("stateReason") or "completed").lower()
    by, commit, at = ("", "", None) if is_open else _fix(node, events, reason, closed_at, full_name)
    return Outcome(
        is_open=is_open,
        state="open" if is_open else "closed",
        reason=reason,
        closed_at=None if is_open else closed_at,
        closed_by=by,
        fix_commit=commit,
        fixed_at=at,
        others=_others(node),
        duplicates=tuple(_duplicates(node, events, full_name)),
    )


Fix = tuple[str, str, datetime | None]
"""What closed the issue, the commit that fixed it, and when that was made."""


def _fix(
    node: Mapping[str, Any],
    events: Sequence[Mapping[str, Any]],
    reason: str,
    closed_at: datetime | None,
    full_name: str,
) -> Fix:
    if reason != "completed":
        return "", "", None
    closings = [event for event in events if event["__typename"] == "ClosedEvent"]
    closer = closings[-1].get("closer") if closings else None
    if closer and closer["__typename"] == "Commit":
        sha = str(closer["oid"])
        ours = _repository(closer) == full_name.lower()
        return sha[:10], sha if ours else "", _time(closer.get("committedDate"))
    if closer and closer["__typename"] == "PullRequest":
        return _pull(closer, full_name)
    linked = (node.get("closedByPullRequestsReferences") or {}).get("nodes") or []
    merged = [pull for pull in linked if pull and pull.get("merged") and (at := _time(pull.get("mergedAt")))
              and (closed_at is None or at <= closed_at + _LATE)]  # fmt: skip
    return _pull(merged[-1], full_name) if merged else ("", "", None)


def _pull(pull: Mapping[str, Any], full_name: str) -> Fix:
    name = _repository(pull)
    ours = name == full_name.lower()
    shown = f"#{pull['number']}" if ours else f"{name}#{pull['number']}"
    commit = str((pull.get("mergeCommit") or {}).get("oid", "")) if pull.get("merged") and ours else ""
    return shown, commit, _time(pull.get("mergedAt"))


def _duplicates(node: Mapping[str, Any], events: Sequence[Mapping[str, Any]], full_name: str) -> list[str]:
    """Numbers of this repository that people marked as the same, the newest mark first."""
    marked: dict[str, None] = {}
    for comment in (node.get("comments") or {}).get("nodes") or []:
        said = comment and comment.get("authorAssociation") in MAINTAINERS
        if (
            said
            and people_of(comment.get("author"))[1]
            and (at := _SAME.search(comment.get("bodyText") or ""))
        ):
            marked[at.group(1)] = None
    for event in events:
        kind = event["__typename"]
        if kind not in ("MarkedAsDuplicateEvent", "UnmarkedAsDuplicateEvent"):
            continue
        first = event.get("canonical") or {}
        if not people_of(event.get("actor"))[1] or _repository(first) != full_name.lower():
            continue
        marked.pop(str(first["number"]), None)
        if kind == "MarkedAsDuplicateEvent":
            marked[str(first["number"])] = None
    return [number for number in reversed(marked) if number != str(node["number"])]


def _others(node: Mapping[str, Any]) -> int:
    """People besides the author and the project's own in the newest comments."""
    author = str((node.get("author") or {}).get("login", ""))
    people = set()
    for comment in (node.get("comments") or {}).get("nodes") or []:
        if comment and comment.get("authorAssociation") not in MAINTAINERS:
            login, person = people_of(comment.get("author"))
            people |= {login} if person and login != author else set()
    return len(people)


def _repository(value: Mapping[str, Any]) -> str:
    return str((value.get("repository") or {}).get("nameWithOwner", "")).lower()


def _time(text: object) -> datetime | None:
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None
