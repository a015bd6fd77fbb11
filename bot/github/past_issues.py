"""A repository's issues as GitHub has them, with how they ended, for its history. Reads only.

Every name in the queries was checked against GitHub's public schema; tests/bot/history/test_github_past.py knows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import re2
import structlog

from bot.github.calls import GraphQl, seconds_until
from bot.github.payload import sound
from bot.github.ports import MAINTAINERS
from bot.github.records import Outage, RepoRef, TryAgain
from bot.history.backfill import PAGE, Page
from bot.history.records import LabelChange, Outcome, PastIssue, Progress
from knowledge.history.record import Post

# How an issue stands or ended, from GitHub's own record of it. Pure.

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


def _time_or_none(text: object) -> datetime | None:
    return datetime.fromisoformat(str(text)).astimezone(UTC) if text else None


log = structlog.get_logger(__name__)

_PULL = "number url merged mergedAt mergeCommit { oid } repository { nameWithOwner }"
_WHO = "{ __typename login }"
_CANONICAL = "canonical { __typename ... on Issue { number repository { nameWithOwner } } }"
_ISSUE = f"""
  number title body url createdAt updatedAt closedAt state
  stateReason(enableDuplicate: true)
  author {_WHO}
  comments(last: 50) {{ nodes {{ author {_WHO} authorAssociation bodyText }} }}
  closedByPullRequestsReferences(first: 5, includeClosedPrs: true) {{ nodes {{ {_PULL} }} }}
  timelineItems(last: 100, itemTypes: [
    LABELED_EVENT, UNLABELED_EVENT, CLOSED_EVENT, MARKED_AS_DUPLICATE_EVENT, UNMARKED_AS_DUPLICATE_EVENT
  ]) {{
    nodes {{
      __typename
      ... on LabeledEvent {{ createdAt actor {_WHO} label {{ name }} }}
      ... on UnlabeledEvent {{ createdAt actor {_WHO} label {{ name }} }}
      ... on ClosedEvent {{
        createdAt
        closer {{
          __typename
          ... on PullRequest {{ {_PULL} }}
          ... on Commit {{ oid url committedDate repository {{ nameWithOwner }} }}
        }}
      }}
      ... on MarkedAsDuplicateEvent {{ actor {_WHO} {_CANONICAL} }}
      ... on UnmarkedAsDuplicateEvent {{ actor {_WHO} {_CANONICAL} }}
    }}
  }}
"""
PAGE_QUERY = f"""query($owner: String!, $name: String!, $first: Int!, $after: String, $order: IssueOrder!,
  $filter: IssueFilters) {{
  rateLimit {{ remaining resetAt }}
  repository(owner: $owner, name: $name) {{
    issues(first: $first, after: $after, orderBy: $order, filterBy: $filter) {{
      totalCount
      pageInfo {{ endCursor hasNextPage }}
      nodes {{ {_ISSUE} }}
    }}
  }}
}}"""
ONE_QUERY = f"""query($owner: String!, $name: String!, $number: Int!) {{
  repository(owner: $owner, name: $name) {{ issue(number: $number) {{ {_ISSUE} }} }}
}}"""
RELEASES_QUERY = """query($owner: String!, $name: String!, $after: String) {
  repository(owner: $owner, name: $name) {
    releases(first: 100, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) {
      pageInfo { endCursor hasNextPage }
      nodes { tagName publishedAt isDraft isPrerelease }
    }
  }
}"""

VISIBILITY_QUERY = """query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { databaseId visibility }
}"""

RESERVE = 200
"""Points of the GraphQL budget left to the service itself; a back-fill waits for the next hour then."""
SMALLEST = 5
"""Issues of the smallest page tried when GitHub does not finish a larger one."""
TRIES = 8
_RELEASE_PAGES = 5
_AT_ONCE = 20
"""Comparisons of a commit with a release in one query."""
_LOOKED_AT = 6
"""Releases after a fix that are tried: patch releases of older lines may come before the one that holds it."""
_FILL, _UPDATE = "github", "github update"


class GitHubPast:
    """One repository's issues and releases. Also the source of a back-fill (bot/history/backfill.py)."""

    def __init__(
        self,
        graphql: GraphQl,
        repo: RepoRef,
        since: datetime | None = None,
        most: int = 0,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """`since`: issues opened before it are left out; `most`: issues read at most, 0 = all; `tries`: of a query."""
        self._graphql = graphql
        self._repo = repo
        self._since = since.replace(tzinfo=since.tzinfo or UTC) if since else None
        self._most = most
        self._tries = tries
        self._sleep = sleep

    def one(self, number: int) -> PastIssue:
        """One issue. Raises the errors of bot/github/records.py, `Gone` when it is not there."""
        data = self._graphql.query(ONE_QUERY, {**self._names(), "number": number})
        return past_issue(data["repository"]["issue"], self._repo.full_name)

    def visibility(self) -> str:
        """See `PastIssues`. Raises the errors of bot/github/records.py."""
        found = self._graphql.query(VISIBILITY_QUERY, self._names())["repository"]
        return str(found["visibility"]) if found["databaseId"] == self._repo.id else ""

    def start(self, progress: Progress) -> Progress:
        """Go on where a run of the same scope was cut off; after one that got through read what changed since."""
        since = self._since.isoformat() if self._since else ""
        ours = progress.source in (_FILL, _UPDATE) and (progress.since, progress.most) == (since, self._most)
        if ours and progress.cursor:
            return progress
        return Progress(
            source=_UPDATE if ours and progress.through else _FILL,
            since=since,
            most=self._most,
            began=datetime.now(UTC).isoformat(),
            through=progress.through if ours else "",
        )

    def pages(self, progress: Progress) -> Iterator[Page]:
        """The pages, newest issues first; of an update the longest unchanged first."""
        size = PAGE
        while True:
            found, size = self._page(progress, size)
            nodes = [node for node in found.get("nodes") or [] if node]
            issues = [past_issue(node, self._repo.full_name) for node in nodes]
            if self._since is not None:
                issues = [i for i in issues if i.post.opened is not None and i.post.opened >= self._since]
            info = found.get("pageInfo") or {}
            last = not info.get("hasNextPage")
            if progress.source == _FILL:
                last = last or len(issues) < len(nodes)
                if self._most:
                    left = self._most - progress.read
                    last = last or len(issues) >= left
                    issues = issues[:left]
            total = int(found.get("totalCount") or 0)
            progress = replace(
                progress,
                cursor="" if last else str(info["endCursor"]),
                read=progress.read + len(issues),
                total=min(total, self._most) if self._most else total,
                through=progress.began if last else progress.through,
            )
            yield Page(tuple(issues), progress)
            if last:
                return

    def first_holding(self, commits: Sequence[tuple[str, datetime]]) -> dict[str, str]:
        """The tag of the first release that holds each commit, for those that one holds.

        `commits` with when they were made. A release is tried only when it was published after the commit.
        """
        if not commits:
            return {}
        releases = self._releases()
        waiting = {
            sha: [tag for at, tag in releases if at > made - timedelta(days=1)] for sha, made in commits
        }
        found: dict[str, str] = {}
        for turn in range(_LOOKED_AT):
            asked = [
                (sha, tags[turn]) for sha, tags in waiting.items() if sha not in found and len(tags) > turn
            ]
            for start in range(0, len(asked), _AT_ONCE):
                part = asked[start : start + _AT_ONCE]
                holds = self._holding(part)
                found |= {sha: tag for (sha, tag), held in zip(part, holds, strict=True) if held}
        return found

    def _releases(self) -> list[tuple[datetime, str]]:
        """Published releases, oldest first; prereleases only where there are no others."""
        nodes: list[Mapping[str, Any]] = []
        after = None
        for _ in range(_RELEASE_PAGES):
            data = self._patiently(RELEASES_QUERY, {**self._names(), "after": after})
            found = data["repository"]["releases"]
            nodes += [n for n in found["nodes"] if n and not n["isDraft"] and n["publishedAt"]]
            after = found["pageInfo"]["endCursor"]
            if not found["pageInfo"]["hasNextPage"]:
                break
        stable = [n for n in nodes if not n["isPrerelease"]]
        return sorted((_time(n["publishedAt"]), str(n["tagName"])) for n in stable or nodes)

    def _holding(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        names = "".join(f", $t{n}: String!, $s{n}: String!" for n in range(len(pairs)))
        fields = " ".join(
            f"c{n}: ref(qualifiedName: $t{n}) {{ compare(headRef: $s{n}) {{ status }} }}"
            for n in range(len(pairs))
        )
        repository = f"repository(owner: $owner, name: $name) {{ {fields} }}"
        text = f"query($owner: String!, $name: String!{names}) {{ {repository} }}"
        variables = self._names()
        for n, (sha, tag) in enumerate(pairs):
            variables |= {f"t{n}": f"refs/tags/{tag}", f"s{n}": sha}
        data = self._patiently(text, variables)["repository"]
        states = [((data.get(f"c{n}") or {}).get("compare") or {}).get("status") for n in range(len(pairs))]
        # The commit compared with the tag: behind it, or the very commit that is tagged.
        return [state in ("BEHIND", "IDENTICAL") for state in states]

    def _page(self, progress: Progress, size: int) -> tuple[dict[str, Any], int]:
        """The issues after the cursor, and the size of page that GitHub managed."""
        update = progress.source == _UPDATE
        order = (
            {"field": "UPDATED_AT", "direction": "ASC"}
            if update
            else {"field": "CREATED_AT", "direction": "DESC"}
        )
        variables = {
            **self._names(),
            "after": progress.cursor or None,
            "order": order,
            "filter": {"since": progress.through} if update else None,
        }
        left = self._tries
        while True:
            left -= 1
            try:
                data = self._graphql.query(PAGE_QUERY, {**variables, "first": size})
                break
            except TryAgain as error:
                if not left:
                    raise
                if isinstance(error, Outage):
                    size = max(SMALLEST, size // 2)
                    self._wait(error.after, "GitHub did not answer in time")
                else:
                    self._wait(error.after, "rate limit")
        limit = data.get("rateLimit") or {}
        if limit and limit["remaining"] < RESERVE:
            self._wait(seconds_until(limit["resetAt"]), "most of this hour's budget is used")
        found: dict[str, Any] = data["repository"]["issues"]
        return found, size

    def _patiently(self, text: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        for _ in range(self._tries - 1):
            try:
                return self._graphql.query(text, variables)
            except TryAgain as error:
                self._wait(error.after, "GitHub asked to wait")
        return self._graphql.query(text, variables)

    def _wait(self, seconds: float, why: str) -> None:
        log.info("waiting for GitHub", seconds=round(seconds), why=why, repository=self._repo.full_name)
        self._sleep(seconds)

    def _names(self) -> dict[str, Any]:
        owner, _, name = self._repo.full_name.partition("/")
        return {"owner": owner, "name": name}


def past_issue(node: Mapping[str, Any], full_name: str) -> PastIssue:
    """An issue of the queries above. Fields that could not be read are null there."""
    opened = _time(node["createdAt"])
    state = str(node["state"]).lower()
    post = Post(
        id=str(node["number"]),
        title=sound(node.get("title") or ""),
        body=sound(node.get("body") or ""),
        opened=opened,
        state=state,
        resolution=str(node.get("stateReason") or "").lower(),
        tracker=full_name,
    )
    events = [event for event in (node.get("timelineItems") or {}).get("nodes") or [] if event]
    labels = tuple(
        LabelChange(
            str((event.get("label") or {}).get("name", "")),
            event["__typename"] == "LabeledEvent",
            *people_of(event.get("actor")),
            _time(event["createdAt"]),
        )
        for event in events
        if event["__typename"] in ("LabeledEvent", "UnlabeledEvent")
    )
    return PastIssue(post, outcome_of(node, events, full_name), str(node.get("url") or ""), labels)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
