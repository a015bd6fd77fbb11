"""The App across its installations, authenticated by its private key.

https://docs.github.com/rest/apps/apps and https://docs.github.com/rest/apps/webhooks
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cached_property, partial
from urllib.parse import quote

from github import Auth, GithubIntegration
from github.Requester import Requester

from bot.github.calls import Caller, GraphQl, Pause
from bot.github.client import InstallationGitHub, install, read_retries
from bot.github.past_issues import TRIES, GitHubPast
from bot.github.ports import FailedDelivery, GitHub, GitHubApp
from bot.github.records import InstallationNote, RepoRef

_PER_SWEEP = 200


class App(GitHubApp):
    """The GitHub App `app_id`; `private_key` is PEM text, `api_url` the root of the REST API.

    `seconds_between_writes` is kept by each thread for itself, besides the shared budget in the store. `clock`
    (seconds) times the pauses after rate limits.
    """

    def __init__(
        self,
        app_id: int,
        private_key: str,
        api_url: str = "https://api.github.com",
        seconds_between_writes: float = 1.0,
        timeout: int = 15,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        install()
        self._auth = Auth.AppAuth(app_id, private_key)
        self._api_url = api_url.rstrip("/")
        self._pause = seconds_between_writes
        self._timeout = timeout
        self._clock = clock
        self._caller = Caller(lambda: self._integration().requester, self._api_url, Pause(clock))
        self._lock = threading.Lock()
        self._installations: dict[int, InstallationGitHub] = {}
        self._read: Counter[str] = Counter()
        """How often each failed delivery's payload was read."""

    @cached_property
    def login(self) -> str:
        """The bot's login, "slug[bot]", asked once; a wrong key raises `GitHubError` with status 401."""
        return f"{self._caller.call('GET', '/app')['slug']}[bot]"

    def permissions(self) -> dict[str, str]:
        """What the App may do in repositories, by name ("issues": "write")."""
        found = self._caller.call("GET", "/app").get("permissions") or {}
        return {str(name): str(level) for name, level in found.items()}

    def installation(self, installation_id: int) -> GitHub:
        """The view of one installation."""
        login = self.login
        with self._lock:
            if installation_id not in self._installations:
                self._installations[installation_id] = InstallationGitHub(
                    self._caller_of(installation_id), login
                )
            return self._installations[installation_id]

    def past(self, installation_id: int, repo: RepoRef) -> GitHubPast:
        """Its own caller: a rate limit met here does not hold up the service's other calls. It never waits."""
        return self.history_of(installation_id, repo, tries=1)

    def find_repository(self, full_name: str) -> tuple[int, RepoRef]:
        """The installation that covers a repository, and the repository. Raises `Gone` where there is none."""
        place = f"/repos/{quote(full_name)}"
        installation = int(self._caller.call("GET", f"{place}/installation")["id"])
        found = self._caller_of(installation).call("GET", place)
        return installation, RepoRef(found["id"], found["full_name"])

    def history_of(
        self,
        installation_id: int,
        repo: RepoRef,
        since: datetime | None = None,
        most: int = 0,
        tries: int = TRIES,
        sleep: Callable[[float], None] = time.sleep,
    ) -> GitHubPast:
        """The repository's issues for a back-fill; see `GitHubPast`."""
        graphql = GraphQl(self._caller_of(installation_id), self._api_url)
        return GitHubPast(graphql, repo, since, most, tries=tries, sleep=sleep)

    def installations(self) -> list[InstallationNote]:
        """GET all installations."""
        return [
            InstallationNote(
                item["id"],
                str((item.get("account") or {}).get("login", "ghost")),
                "suspended" if item.get("suspended_at") else "active",
            )
            for item in self._caller.pages("/app/installations")
        ]

    def failed_deliveries(self, since: datetime) -> list[FailedDelivery]:
        """GET the deliveries since then, and the payloads of those that never got through.

        At most 200, those read least often: GitHub goes on listing as failed what was accepted from here.
        """
        failed: dict[str, tuple[int, datetime, str, str | None]] = {}
        through: set[str] = set()
        for item in self._caller.after_cursor("/app/hook/deliveries"):
            at = datetime.fromisoformat(item["delivered_at"]).astimezone(UTC)
            if at < since:
                break
            if 200 <= item["status_code"] < 300:
                through.add(item["guid"])
            failed.setdefault(item["guid"], (item["id"], at, item["event"], item.get("action")))
        lost = [guid for guid in failed if guid not in through]
        self._read = Counter({guid: self._read[guid] for guid in lost})
        turn = sorted(lost, key=lambda guid: (self._read[guid], failed[guid][1], guid))[:_PER_SWEEP]
        self._read.update(turn)
        return [self._lost(guid, *failed[guid]) for guid in sorted(turn, key=lambda guid: failed[guid][1])]

    def _lost(self, guid: str, id_: int, at: datetime, event: str, action: str | None) -> FailedDelivery:
        request = self._caller.call("GET", f"/app/hook/deliveries/{id_}").get("request") or {}
        return FailedDelivery(guid, event, action, request.get("payload") or {}, at)

    def _integration(self) -> GithubIntegration:
        return GithubIntegration(
            auth=self._auth,
            base_url=self._api_url,
            timeout=self._timeout,
            user_agent="distriage",
            retry=read_retries(),
            seconds_between_requests=0,
            seconds_between_writes=self._pause,
        )

    def _caller_of(self, installation_id: int) -> Caller:
        """A caller of its own for an installation, with pauses of its own."""
        return Caller(partial(self._for_installation, installation_id), self._api_url, Pause(self._clock))

    def _for_installation(self, installation_id: int) -> Requester:
        return self._integration().get_github_for_installation(installation_id).requester
