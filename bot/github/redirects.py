"""Where GitHub says that something now is: a renamed repository is followed, a moved issue is not.

https://docs.github.com/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from bot.github.errors import GitHubError, Gone
from bot.github.records import RepoRef

STATUSES = frozenset({301, 302, 307, 308})
MOST = 3
_BY_ID = re.compile(r"/repositories/(\d+)(/.*)?")
_BY_NAME = re.compile(r"(/repos/[^/]+/[^/]+)(/.*)?")


@dataclass(frozen=True, slots=True)
class RepoPath:
    """A path below a repository; `rest` begins with "/" or is empty."""

    repo: RepoRef
    rest: str = ""

    def __str__(self) -> str:
        return f"/repos/{quote(self.repo.full_name)}{self.rest}"

    def __truediv__(self, rest: str) -> RepoPath:
        return RepoPath(self.repo, f"{self.rest}/{rest}")


def target(status: int, headers: Mapping[str, str], api_url: str) -> str:
    """The path under `api_url` that a redirect names; `GitHubError` when it leads to another host."""
    root, there = urlsplit(api_url), urlsplit(headers.get("location", ""))
    same = not there.netloc or (there.scheme, there.netloc) == (root.scheme, root.netloc)
    prefix = root.path.rstrip("/")
    if not there.path.startswith(f"{prefix}/") or not same:
        raise GitHubError(f"GitHub answered {status} with an address elsewhere", status)
    return there.path.removeprefix(prefix)


def repository_of(place: RepoPath, there: str) -> int | str:
    """The repository that the redirect's path names, as its id or as the path to ask for it.

    `Gone` when something else than the repository changed: an issue that was transferred has another number.
    """
    if (found := _BY_ID.fullmatch(there)) and (found[2] or "") == place.rest:
        return int(found[1])
    if (found := _BY_NAME.fullmatch(there)) and (found[2] or "") == place.rest:
        return found[1]
    raise Gone("moved elsewhere", 301)
