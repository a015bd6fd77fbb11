"""Which release of a repository first holds a commit: its releases, or its tags where it has none. Reads only.

GitHub is asked whether a release holds a commit (`compare`). That is asked of few releases: the next ones after the
commit, then ever later ones, then those between, since a later release of a line holds what an earlier one holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from packaging.version import Version

from bot.history.explain import version_of

RELEASES_QUERY = """query($owner: String!, $name: String!, $after: String) {
  rateLimit { remaining resetAt }
  repository(owner: $owner, name: $name) {
    releases(first: 100, after: $after, orderBy: {field: CREATED_AT, direction: DESC}) {
      pageInfo { endCursor hasNextPage }
      nodes { tagName createdAt publishedAt isDraft isPrerelease }
    }
  }
}"""
TAGS_QUERY = """query($owner: String!, $name: String!, $after: String) {
  rateLimit { remaining resetAt }
  repository(owner: $owner, name: $name) {
    refs(first: 100, after: $after, refPrefix: "refs/tags/",
      orderBy: {field: TAG_COMMIT_DATE, direction: DESC}) {
      pageInfo { endCursor hasNextPage }
      nodes {
        name
        target {
          __typename
          ... on Commit { committedDate }
          ... on Tag { target { __typename ... on Commit { committedDate } } }
        }
      }
    }
  }
}"""
_PAGES = 10
"""Of a hundred; a fix that is older than what they hold is said to be in no release."""
_AT_ONCE = 20
"""Comparisons of a commit with a release in one query."""
_ONE_BY_ONE = 4
"""Releases after a fix that are tried one after the other, before steps double."""
_EARLY = timedelta(days=1)
"""By how much a release may seem older than a commit that it holds: clocks and time zones differ."""

_NEVER = datetime.max.replace(tzinfo=UTC)
Ask = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Sends a query about the repository and gives what the answer says of it."""


@dataclass(frozen=True, slots=True)
class _Release:
    listed: datetime
    """The date that the list is ordered by."""
    at: datetime
    """When it was published; of a tag, when its commit was made."""
    tag: str
    draft: bool
    early: bool
    """A prerelease."""


@dataclass
class _List:
    """Releases or tags, newest first, read as far back as was asked for."""

    ask: Ask
    query: str
    name: str
    read: Callable[[Mapping[str, Any]], _Release | None]
    found: list[_Release] = field(default_factory=list)
    after: str | None = None
    pages: int = 0
    whole: bool = False
    back_to: datetime = _NEVER
    """Everything newer was read."""

    def tags(self, since: datetime) -> list[tuple[datetime, str]]:
        """Published ones, the first to hold a fix first; prereleases only where there are no others."""
        while not self.whole and self.pages < _PAGES and self.back_to >= since:
            self._more()
        out = [one for one in self.found if not one.draft]
        return in_order([(one.at, one.tag) for one in [o for o in out if not o.early] or out])

    def covers(self, at: datetime) -> bool:
        """Whether no release since then can be missing."""
        return self.whole or self.back_to < at

    def _more(self) -> None:
        found = self.ask(self.query, {"after": self.after})[self.name]
        read = [one for node in found["nodes"] if node and (one := self.read(node))]
        self.found += read
        self.back_to = min([self.back_to, *(one.listed for one in read)])
        self.after, self.whole = found["pageInfo"]["endCursor"], not found["pageInfo"]["hasNextPage"]
        self.pages += 1


class Releases:
    """Those of one repository; what was read is kept as long as this is."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._lists = (
            _List(ask, RELEASES_QUERY, "releases", _release),
            _List(ask, TAGS_QUERY, "refs", _tag),
        )

    def first_holding(self, commits: Sequence[tuple[str, datetime]]) -> dict[str, str]:
        """The tag of the first release that holds each commit, for those that one holds.

        `commits` with when they were made. A release is tried only when it was published after the commit.
        """
        if not commits:
            return {}
        since = min(made for _, made in commits) - _EARLY
        listed = next((one for one in self._lists if one.tags(since)), None)
        if listed is None:
            return {}
        tags = listed.tags(since)
        searches = {
            sha: Search([tag for at, tag in tags if at > made - _EARLY])
            for sha, made in commits
            if listed.covers(made - _EARLY)
        }
        while asked := [(sha, tag) for sha, one in searches.items() if (tag := one.next())]:
            for start in range(0, len(asked), _AT_ONCE):
                part = asked[start : start + _AT_ONCE]
                for (sha, _), held in zip(part, self._holding(part), strict=True):
                    searches[sha].tell(held)
        return {sha: one.found for sha, one in searches.items() if one.found}

    def _holding(self, pairs: Sequence[tuple[str, str]]) -> list[bool]:
        names = "".join(f", $t{n}: String!, $s{n}: String!" for n in range(len(pairs)))
        fields = " ".join(
            f"c{n}: ref(qualifiedName: $t{n}) {{ compare(headRef: $s{n}) {{ status }} }}"
            for n in range(len(pairs))
        )
        repository = f"repository(owner: $owner, name: $name) {{ {fields} }}"
        text = f"query($owner: String!, $name: String!{names}) {{ rateLimit {{ remaining resetAt }} {repository} }}"
        variables: dict[str, str] = {}
        for n, (sha, tag) in enumerate(pairs):
            variables |= {f"t{n}": f"refs/tags/{tag}", f"s{n}": sha}
        data = self._ask(text, variables)
        states = [((data.get(f"c{n}") or {}).get("compare") or {}).get("status") for n in range(len(pairs))]
        # The commit compared with the tag: behind it, or the very commit that is tagged.
        return [state in ("BEHIND", "IDENTICAL") for state in states]


class Search:
    """The search for the first of these tags that holds a commit, from answer to answer."""

    def __init__(self, tags: Sequence[str]) -> None:
        self._tags = tags
        self._lacks = -1
        """The last one that is known not to hold it."""
        self._holds = len(tags)
        """The first one that is known to hold it."""
        self._asked = 0
        self._step = 1

    def next(self) -> str:
        """The tag to ask about; "" = the search is over."""
        return self._tags[self._place()] if self._holds - self._lacks > 1 else ""

    def tell(self, held: bool) -> None:
        """Whether the tag that was asked about holds the commit."""
        place = self._place()
        self._lacks, self._holds = (self._lacks, place) if held else (place, self._holds)
        self._asked += 1
        self._step *= 2 if self._asked >= _ONE_BY_ONE else 1

    @property
    def found(self) -> str:
        """The first tag that holds it; "" = none, or not known yet."""
        over = self._holds - self._lacks == 1
        return self._tags[self._holds] if over and self._holds < len(self._tags) else ""

    def _place(self) -> int:
        if self._holds == len(self._tags):
            return min(self._lacks + self._step, self._holds - 1)
        return (self._lacks + self._holds) // 2


def in_order(tags: Sequence[tuple[datetime, str]]) -> list[tuple[datetime, str]]:
    """By version where all tags are versions of one thing, else by date.

    A patch release of an older line is newer than a fix and doesn't hold it; by version it comes first. Of several
    packages in one repository, versions can't be compared.
    """
    versions = {tag: version_of(tag) for _, tag in tags}
    names = {tag.removesuffix(version).rstrip("v") for tag, version in versions.items()}
    if len(names) == 1 and all(versions.values()):
        return sorted(tags, key=lambda one: (Version(versions[one[1]]), one[0]))
    return sorted(tags)


def _release(node: Mapping[str, Any]) -> _Release | None:
    listed = _time(node["createdAt"])
    published = _time(node["publishedAt"]) if node["publishedAt"] else listed
    draft = bool(node["isDraft"]) or not node["publishedAt"]
    return _Release(listed, published, str(node["tagName"]), draft, bool(node["isPrerelease"]))


def _tag(node: Mapping[str, Any]) -> _Release | None:
    target = node["target"] or {}
    made = (target.get("target") or target).get("committedDate")
    if not made:
        return None
    at, version = _time(made), version_of(str(node["name"]))
    # Tags that are no versions ("nightly") are passed over as drafts are.
    early = bool(version) and Version(version).is_prerelease
    return _Release(at, at, str(node["name"]), not version, early)


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)
