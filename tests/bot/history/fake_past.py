"""A repository's past as GitHub's GraphQL API answers it, for the queries of bot/github/past_issues.py."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from bot.github.past_issues import ONE_QUERY, PAGE_QUERY, TIMELINE_QUERY
from bot.github.releases import RELEASES_QUERY, TAGS_QUERY

DAY_ONE = datetime(2024, 5, 1, tzinfo=UTC)
NAME = "acme/train"


def at(day: float) -> str:
    return (DAY_ONE + timedelta(days=day)).strftime("%Y-%m-%dT%H:%M:%SZ")


def who(login: str, kind: str = "User") -> dict[str, str]:
    return {"__typename": kind, "login": login}


def pull(number: int, oid: str = "a" * 40, day: float = 3, repo: str = NAME) -> dict[str, Any]:
    return {
        "__typename": "PullRequest",
        "number": number,
        "url": f"https://github.com/{repo}/pull/{number}",
        "merged": True,
        "mergedAt": at(day),
        "mergeCommit": {"oid": oid},
        "repository": {"nameWithOwner": repo},
    }


def closed(closer: Any, day: float = 3) -> dict[str, Any]:
    return {"__typename": "ClosedEvent", "createdAt": at(day), "closer": closer}


def labeled(label: str, actor: Any, day: float = 1, kind: str = "LabeledEvent") -> dict[str, Any]:
    return {"__typename": kind, "createdAt": at(day), "actor": actor, "label": {"name": label}}


def marked(number: int, actor: Any, kind: str = "MarkedAsDuplicateEvent", repo: str = NAME) -> dict[str, Any]:
    canonical = {"__typename": "Issue", "number": number, "repository": {"nameWithOwner": repo}}
    return {"__typename": kind, "actor": actor, "canonical": canonical}


def said(
    login: str, text: str, association: str = "NONE", kind: str = "User", day: float = 2
) -> dict[str, Any]:
    author = who(login, kind)
    return {"author": author, "authorAssociation": association, "createdAt": at(day), "bodyText": text}


def node(
    number: int, title: str = "", body: str = "", day: float | None = None, **more: Any
) -> dict[str, Any]:
    """An open issue; `events` and `comments` are its timeline and thread."""
    events, comments = more.pop("events", []), more.pop("comments", [])
    linked = more.pop("linked", [])
    opened = at(number if day is None else day)
    return {
        "number": number,
        "title": title or f"Title {number}",
        "body": body,
        "url": f"https://github.com/{NAME}/issues/{number}",
        "createdAt": opened,
        "updatedAt": opened,
        "closedAt": None,
        "state": "OPEN",
        "stateReason": None,
        "author": who("reporter"),
        "comments": {"nodes": comments},
        "closedByPullRequestsReferences": {"nodes": linked},
        "timelineItems": {"nodes": events},
        **more,
    }


def _release(tag: str, day: float) -> dict[str, Any]:
    draft = "draft" in tag
    published = None if draft else at(day)
    return {
        "tagName": tag,
        "createdAt": at(day),
        "publishedAt": published,
        "isDraft": draft,
        "isPrerelease": "rc" in tag,
    }


def _tag(tag: str, day: float) -> dict[str, Any]:
    commit = {"__typename": "Commit", "committedDate": at(day)}
    if "tree" in tag:
        commit = {"__typename": "Tree"}
    return {"name": tag, "target": {"__typename": "Tag", "target": commit} if "a" in tag else commit}


@dataclass
class FakePast:
    """Answers the queries; whatever else is asked is an error of the test."""

    issues: list[dict[str, Any]] = field(default_factory=list)
    releases: list[tuple[str, float]] = field(default_factory=list)
    """Tag and day."""
    holds: dict[str, set[str]] = field(default_factory=dict)
    """Commits by tag."""
    tags: list[tuple[str, float]] = field(default_factory=list)
    compared: list[str] = field(default_factory=list)
    """The tags that were asked about."""
    page: int = 100
    """Releases, tags and events of a page."""
    remaining: int = 5000
    too_large: int = 10_000
    """From which page size on GitHub does not finish a query."""

    def __call__(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        assert f"{variables['owner']}/{variables['name']}" == NAME
        if query == PAGE_QUERY:
            return self._page(variables)
        if query == ONE_QUERY:
            found = next((self._cut(i) for i in self.issues if i["number"] == variables["number"]), None)
            errors = [] if found else [{"type": "NOT_FOUND", "message": "Could not resolve to an Issue"}]
            return {"data": {"repository": {"issue": found} if found else None}, "errors": errors}
        if query == TIMELINE_QUERY:
            [found] = [i for i in self.issues if i["number"] == variables["number"]]
            issue = self._cut(found, int(variables["before"]))
            return {"data": {"repository": {"issue": {"timelineItems": issue["timelineItems"]}}}}
        if query == RELEASES_QUERY:
            return self._listed("releases", self.releases, _release, variables)
        if query == TAGS_QUERY:
            return self._listed("refs", self.tags, _tag, variables)
        return {"data": {"repository": self._compared(variables)}}

    def _listed(
        self, name: str, rows: list[tuple[str, float]], made: Any, variables: dict[str, Any]
    ) -> dict[str, Any]:
        start = int(variables["after"] or 0)
        newest = sorted(rows, key=lambda row: -row[1])
        end = start + self.page
        info = {"endCursor": str(end), "hasNextPage": end < len(rows)}
        nodes = [*[made(*row) for row in newest[start:end]], None]
        return {
            "data": {
                "rateLimit": {"remaining": self.remaining, "resetAt": "2020-01-01T00:00:00Z"},
                "repository": {name: {"nodes": nodes, "pageInfo": info}},
            }
        }

    def _cut(self, issue: dict[str, Any], before: int | None = None) -> dict[str, Any]:
        """The issue with the last page of its events, or of those before one."""
        events = issue["timelineItems"]["nodes"][:before]
        start = max(0, len(events) - self.page)
        info = {"startCursor": str(start), "hasPreviousPage": start > 0}
        return {**issue, "timelineItems": {"nodes": events[start:], "pageInfo": info}}

    def _page(self, variables: dict[str, Any]) -> dict[str, Any]:
        if variables["first"] >= self.too_large:
            message = "Something went wrong while executing your query. This may be the result of a timeout."
            return {"data": None, "errors": [{"message": message}]}
        field_, direction = variables["order"]["field"], variables["order"]["direction"]
        key = {"CREATED_AT": "createdAt", "UPDATED_AT": "updatedAt"}[field_]
        since = (variables["filter"] or {}).get("since", "")
        rows = sorted(
            (i for i in self.issues if not since or i["updatedAt"] >= since[:19]),
            key=lambda i: (i[key], i["number"]),
            reverse=direction == "DESC",
        )
        start = int(variables["after"] or 0)
        rows_here = [self._cut(row) for row in rows[start : start + variables["first"]]]
        end = start + len(rows_here)
        return {
            "data": {
                "rateLimit": {"remaining": self.remaining, "resetAt": "2020-01-01T00:00:00Z"},
                "repository": {
                    "issues": {
                        "totalCount": len(rows),
                        "pageInfo": {"endCursor": str(end), "hasNextPage": end < len(rows)},
                        "nodes": rows_here,
                    }
                },
            }
        }

    def _compared(self, variables: dict[str, Any]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for n in range(sum(name.startswith("t") for name in variables)):
            tag, commit = variables[f"t{n}"].removeprefix("refs/tags/"), variables[f"s{n}"]
            self.compared.append(tag)
            held = commit in self.holds.get(tag, set())
            out[f"c{n}"] = {"compare": {"status": "BEHIND" if held else "AHEAD"}}
        return out
