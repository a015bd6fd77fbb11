"""A repository's issues as GitHub has them, with how they ended, for its history. Reads only.

Every name in the queries was checked against GitHub's public schema; tests/bot/history/test_github_past.py knows them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import structlog

from bot.github.calls import GraphQl, seconds_until
from bot.github.past_outcome import answered_at, outcome_of, people_of
from bot.github.payload import sound
from bot.github.records import Outage, RepoRef, TryAgain
from bot.github.releases import Releases
from bot.history.backfill import PAGE, Page
from bot.history.records import LabelChange, PastIssue, Progress
from knowledge.history.record import Post

log = structlog.get_logger(__name__)

_PULL = "number url merged mergedAt mergeCommit { oid } repository { nameWithOwner }"
_WHO = "{ __typename login }"
_CANONICAL = "canonical { __typename ... on Issue { number repository { nameWithOwner } } }"
_EVENTS = f"""itemTypes: [
    LABELED_EVENT, UNLABELED_EVENT, CLOSED_EVENT, MARKED_AS_DUPLICATE_EVENT, UNMARKED_AS_DUPLICATE_EVENT
  ]) {{
    pageInfo {{ startCursor hasPreviousPage }}
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
  }}"""
_ISSUE = f"""
  number title body url createdAt updatedAt closedAt state
  stateReason(enableDuplicate: true)
  author {_WHO}
  comments(last: 50) {{ nodes {{ author {_WHO} authorAssociation createdAt bodyText }} }}
  closedByPullRequestsReferences(first: 5, includeClosedPrs: true) {{ nodes {{ {_PULL} }} }}
  timelineItems(last: 100, {_EVENTS}
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
TIMELINE_QUERY = f"""query($owner: String!, $name: String!, $number: Int!, $before: String!) {{
  rateLimit {{ remaining resetAt }}
  repository(owner: $owner, name: $name) {{
    issue(number: $number) {{ timelineItems(last: 100, before: $before, {_EVENTS} }}
  }}
}}"""
VISIBILITY_QUERY = """query($owner: String!, $name: String!) {
  repository(owner: $owner, name: $name) { databaseId visibility }
}"""

RESERVE = 200
"""Points of the GraphQL budget left to the service itself; a back-fill waits for the next hour then."""
SMALLEST = 5
"""Issues of the smallest page tried when GitHub does not finish a larger one."""
TRIES = 8
_TIMELINE_PAGES = 20
"""Of a hundred events; an issue has more of them about as often as it has a thousand comments."""
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
        self._releases = Releases(lambda text, values: self._patiently(text, values)["repository"])

    def one(self, number: int) -> PastIssue:
        """One issue. Raises the errors of bot/github/records.py, `Gone` when it is not there."""
        data = self._graphql.query(ONE_QUERY, {**self._names(), "number": number})
        return self._past(data["repository"]["issue"])

    def _past(self, node: dict[str, Any]) -> PastIssue:
        """The issue of a page's node, with the events of its timeline that did not fit into the page."""
        listed = node.get("timelineItems") or {}
        events = listed.get("nodes") or []
        for _ in range(_TIMELINE_PAGES):
            info = listed.get("pageInfo") or {}
            if not info.get("hasPreviousPage"):
                break
            asked = {"number": node["number"], "before": info["startCursor"]}
            issue = self._patiently(TIMELINE_QUERY, asked)["repository"]["issue"]
            listed = issue["timelineItems"]
            events = [*(listed.get("nodes") or []), *events]
        return past_issue({**node, "timelineItems": {"nodes": events}}, self._repo.full_name)

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
            issues = [self._past(node) for node in nodes]
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
        """The tag of the first release that holds each commit, for those that one holds."""
        return self._releases.first_holding(commits)

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
        self._spare(data)
        found: dict[str, Any] = data["repository"]["issues"]
        return found, size

    def _patiently(self, text: str, values: Mapping[str, Any]) -> dict[str, Any]:
        variables = {**self._names(), **values}
        for _ in range(self._tries - 1):
            try:
                data = self._graphql.query(text, variables)
            except TryAgain as error:
                self._wait(error.after, "GitHub asked to wait")
                continue
            self._spare(data)
            return data
        return self._graphql.query(text, variables)

    def _spare(self, data: Mapping[str, Any]) -> None:
        """Wait for the next hour where most of the budget is used."""
        limit = data.get("rateLimit") or {}
        if limit and limit["remaining"] < RESERVE:
            self._wait(seconds_until(limit["resetAt"]), "most of this hour's budget is used")

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
    login, person = people_of(node.get("author"))
    return PastIssue(
        post,
        outcome_of(node, events, full_name),
        str(node.get("url") or ""),
        labels,
        author=login if person else "",
        answered_at=answered_at(node),
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
