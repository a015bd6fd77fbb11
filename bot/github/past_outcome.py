"""How an issue stands or ended, from GitHub's own record of it, as the queries of past_issues.py read it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import re2

from bot.github.ports import MAINTAINERS
from bot.github.thread import is_command
from bot.history.records import Outcome, Why

_PERSON = frozenset({"User", "Mannequin", "EnterpriseUserAccount"})
_BOT_NAME = re2.compile(r"(?i)(?:\[bot\]|[-_](?:ro)?bot)$")
_BOTS = frozenset(
    {
        "claassistant",
        "codecov-commenter",
        "dependabot",
        "pytorchbot",
        "pytorchmergebot",
        "pytorchupdatebot",
        "tensorflow-copybara",
        "tensorflowbutler",
    }
)
"""Bots that run as ordinary users, under names that could be a person's."""
_SAME = re2.compile(
    r"(?i)^\W{0,3}(?:closing (?:this )?as (?:a )?)?duplicate of\s+(?:(\S+)/issues/|#)(\d{1,9})\b"
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
    return login != "ghost" and login.lower() not in _BOTS and not _BOT_NAME.search(login)


def outcome_of(node: Mapping[str, Any], events: Sequence[Mapping[str, Any]], full_name: str) -> Outcome:
    """The outcome of an issue of the queries in bot/github/past_issues.py; `events` are its timeline's."""
    is_open = str(node["state"]) != "CLOSED"
    closed_at = _time_or_none(node.get("closedAt"))
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
        why=_why(node, events, closed_at) if reason == "not_planned" else "",
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
        return sha[:10], sha if ours else "", _time_or_none(closer.get("committedDate"))
    if closer and closer["__typename"] == "PullRequest":
        return _pull(closer, full_name)
    linked = (node.get("closedByPullRequestsReferences") or {}).get("nodes") or []
    merged = [pull for pull in linked if pull and pull.get("merged") and (at := _time_or_none(pull.get("mergedAt")))
              and (closed_at is None or at <= closed_at + _LATE)]  # fmt: skip
    return _pull(merged[-1], full_name) if merged else ("", "", None)


def _pull(pull: Mapping[str, Any], full_name: str) -> Fix:
    name = _repository(pull)
    ours = name == full_name.lower()
    shown = f"#{pull['number']}" if ours else f"{name}#{pull['number']}"
    commit = str((pull.get("mergeCommit") or {}).get("oid", "")) if pull.get("merged") and ours else ""
    return shown, commit, _time_or_none(pull.get("mergedAt"))


def _duplicates(node: Mapping[str, Any], events: Sequence[Mapping[str, Any]], full_name: str) -> list[str]:
    """Numbers of this repository that people marked as the same, the newest mark first."""
    marked: dict[str, None] = {}
    for comment in _comments(node):
        if (
            comment.get("authorAssociation") in MAINTAINERS
            and people_of(comment.get("author"))[1]
            and (at := _SAME.search(comment.get("bodyText") or ""))
            and f"/{at.group(1) or full_name}".lower().endswith(f"/{full_name}".lower())
        ):
            marked[at.group(2)] = None
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


# Why an issue was closed as not planned: one of a few reasons, and none where it isn't plain.

_SHORT = 400
"""Characters of a comment that still says one thing."""
_WITH_CLOSING = timedelta(minutes=1)
"""By how much the comment that an issue was closed with may be younger than the closing."""
_REASONS: tuple[tuple[Why, str, frozenset[str]], ...] = (
    (
        "no_answer",
        r"\b(?:no|without (?:a |any )?|lack of (?:a )?) ?(?:response|reply|answer|feedback)\b|haven't heard back",
        frozenset({"no response", "no-response", "missing info"}),
    ),
    ("inactive", r"\bstale\b|\binactiv|\bno (?:recent )?activity\b", frozenset({"stale", "inactive"})),
    (
        "not_reproduced",
        r"\b(?:can ?not|can't|could not|couldn't|unable to|not able to)(?: be)? reproduc|\bnot reproducible\b",
        frozenset({"cannot reproduce", "can't reproduce", "cannot-reproduce", "not reproducible"}),
    ),
    (
        "intended",
        r"\bas (?:intended|expected|designed)\b|\b(?:expected|intended) behaviou?r\b|\bby design\b|\bnot a bug\b",
        frozenset(
            {"by design", "by-design", "not a bug", "not-a-bug", "working as intended", "works as intended"}
        ),
    ),
    (
        "wont_fix",
        r"\b(?:won't|will not|not going to)(?: be)? (?:fix|implement|support)|\bwontfix\b"
        r"|\bno plans? to\b|\bout of scope\b",
        frozenset({"wontfix", "won't fix", "wont-fix", "wont fix", "out of scope"}),
    ),
    (
        "unsupported",
        r"\bno longer (?:supported|maintained|support)\b|\bend of life\b|\bunsupported version\b",
        frozenset({"unsupported", "eol"}),
    ),
    (
        "elsewhere",
        r"\bupstream\b|\bthird[- ]party\b",
        frozenset({"upstream", "upstream issue", "third-party"}),
    ),
)
_SAID = tuple((why, re2.compile(f"(?i){pattern}")) for why, pattern, _ in _REASONS)
_LABELS: dict[str, Why] = {label: why for why, _, labels in _REASONS for label in labels}


def _why(node: Mapping[str, Any], events: Sequence[Mapping[str, Any]], closed_at: datetime | None) -> Why:
    """What the project's last short comment before the closing says, else a well-known label."""
    said = _last_word(node, closed_at)
    if len(said) <= _SHORT and "?" not in said:
        found = [why for why, pattern in _SAID if pattern.search(said)]
        # A bot that closes what nobody answered calls it inactive, too.
        if len(found) == 1 or found == ["no_answer", "inactive"]:
            return found[0]
    on: dict[str, None] = {}
    for event in events:
        if event["__typename"] in ("LabeledEvent", "UnlabeledEvent"):
            name = str((event.get("label") or {}).get("name", "")).lower()
            on.pop(name, None)
            if event["__typename"] == "LabeledEvent":
                on[name] = None
    named = {_LABELS[word] for name in on if (word := name.rpartition(":")[2].strip()) in _LABELS}
    return named.pop() if len(named) == 1 else ""


def _last_word(node: Mapping[str, Any], closed_at: datetime | None) -> str:
    """The last comment of the project or a bot before the closing."""
    for comment in reversed(_comments(node)):
        at = _time_or_none(comment.get("createdAt"))
        if closed_at is None or at is None or at > closed_at + _WITH_CLOSING:
            continue
        login, person = people_of(comment.get("author"))
        if comment.get("authorAssociation") in MAINTAINERS or not (person or login == "ghost"):
            return str(comment.get("bodyText") or "").replace("’", "'")
    return ""


def answered_at(node: Mapping[str, Any]) -> datetime | None:
    """When somebody of the project first wrote below the issue, as far as the newest comments tell."""
    author = people_of(node.get("author"))[0]
    for comment in _comments(node):
        login, person = people_of(comment.get("author"))
        ours = comment.get("authorAssociation") in MAINTAINERS and login != author
        if person and ours and not is_command(str(comment.get("bodyText") or "")):
            return _time_or_none(comment.get("createdAt"))
    return None


def _comments(node: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [comment for comment in (node.get("comments") or {}).get("nodes") or [] if comment]


def _others(node: Mapping[str, Any]) -> int:
    """People besides the author and the project's own in the newest comments."""
    author = str((node.get("author") or {}).get("login", ""))
    people = set()
    for comment in _comments(node):
        if comment.get("authorAssociation") not in MAINTAINERS:
            login, person = people_of(comment.get("author"))
            people |= {login} if person and login != author else set()
    return len(people)


def _repository(value: Mapping[str, Any]) -> str:
    return str((value.get("repository") or {}).get("nameWithOwner", "")).lower()


def _time_or_none(text: object) -> datetime | None:
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None
