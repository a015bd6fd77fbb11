"""Study 1's labels and the texts they are about, into a folder of the user's: sheets first, then issues."""

from __future__ import annotations

import hashlib
import json
import time
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import httpx2

from knowledge.errors import UserError
from knowledge.taxonomy.study1 import Fault, HowTo, ImportedStudy, import_labels

API = "https://api.github.com"
TRIES = 6
_LONGEST = 3700.0
"""GitHub's primary limit resets within the hour."""
_BETWEEN = 0.2
"""Seconds between requests that succeed."""


class FetchError(UserError):
    """GitHub could not be asked, or refused for good."""


@dataclass(frozen=True, slots=True)
class Gone:
    """What cannot be read any more: HTTP 404, 410 or 451."""

    status: int


class PoliteGitHub:
    """GET requests only; close it at the end. `wait` is what sleeps, `said` hears of long waits."""

    def __init__(
        self,
        token: str | None,
        api: str = API,
        wait: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
        said: Callable[[str], None] = lambda _: None,
    ) -> None:
        headers = {"X-GitHub-Api-Version": "2022-11-28", "User-Agent": "distriage-eval"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx2.Client(base_url=api, headers=headers, timeout=30, follow_redirects=True)
        self._wait, self._now, self._said = wait, now, said

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.close()

    def file(self, repository: str, path: str, commit: str) -> bytes | Gone:
        """A file's bytes at a commit."""
        reply = self._get(
            f"/repos/{repository}/contents/{path}", {"ref": commit}, "application/vnd.github.raw+json"
        )
        return reply if isinstance(reply, Gone) else reply.content

    def issue(self, repository: str, number: int) -> dict[str, Any] | Gone:
        """An issue as the API gives it; FetchError when it is no JSON object."""
        reply = self._get(f"/repos/{repository}/issues/{number}", {}, "application/vnd.github+json")
        if isinstance(reply, Gone):
            return reply
        value = reply.json()
        if not isinstance(value, dict):
            raise FetchError(
                f"GitHub's reply about {repository}#{number} isn't an issue.", "Try again later."
            )
        return value

    def _get(self, path: str, query: dict[str, str], accept: str) -> httpx2.Response | Gone:
        backoff = 60.0
        for attempt in range(TRIES):
            try:
                reply = self._http.get(path, params=query, headers={"Accept": accept})
            except httpx2.TransportError as error:
                if attempt == TRIES - 1:
                    raise FetchError(
                        f"Can't reach GitHub: {type(error).__name__}.",
                        "Check the network connection and run it again.",
                    ) from error
                self._wait(2.0**attempt)
                continue
            if reply.status_code == 200:
                self._wait(_BETWEEN)
                return reply
            if reply.status_code in (404, 410, 451):
                return Gone(reply.status_code)
            pause = self._pause(reply, attempt, backoff)
            if pause is None:
                raise FetchError(
                    f"GitHub returned HTTP {reply.status_code} for {path}.",
                    "Use a token that can read public repositories (--token or GITHUB_TOKEN).",
                )
            backoff *= 2
            if pause > 5:
                self._said(f"GitHub asks to wait {pause:.0f} s")
            self._wait(pause)
        raise FetchError(
            f"GitHub didn't answer {path} in {TRIES} tries.",
            "Run it again later; it resumes where it stopped.",
        )

    def _pause(self, reply: httpx2.Response, attempt: int, backoff: float) -> float | None:
        """Seconds until the next try; None when trying again is of no use."""
        if reply.status_code >= 500:
            return 2.0**attempt
        asked = reply.headers.get("retry-after", "")
        remaining, reset = (
            reply.headers.get("x-ratelimit-remaining"),
            reply.headers.get("x-ratelimit-reset", ""),
        )
        if reply.status_code not in (403, 429):
            return None
        if asked.isdigit():
            return min(_LONGEST, float(asked))
        if remaining == "0" and reset.isdigit():
            return min(_LONGEST, max(1.0, float(reset) - self._now() + 1))
        return backoff if reply.status_code == 429 or "secondary" in reply.text.lower() else None


MANIFEST = Path(__file__).with_name("study1_package.toml")
RECORDS = "study1.jsonl"
SOURCE = "human: Liu et al., TOSEM 2023"


@dataclass(frozen=True, slots=True)
class Package:
    """A pinned replication package: each file's path there, name here and SHA-256."""

    repository: str
    commit: str
    files: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a run left behind: records written, issues gone, posts that are no GitHub issue."""

    records: int
    gone: int
    elsewhere: int


def pinned(file: Path = MANIFEST) -> Package:
    """The package as it is pinned."""
    made = tomllib.loads(file.read_text("utf-8"))
    files = tuple((one["path"], one["name"], one["sha256"]) for one in made["file"])
    return Package(made["repository"], made["commit"], files)


def fetch_sheets(package: Package, github: PoliteGitHub, out: Path) -> None:
    """Download each sheet that is not there yet. FetchError when one is gone or its checksum differs."""
    out.mkdir(parents=True, exist_ok=True)
    for path, name, wanted in package.files:
        target = out / name
        if target.exists() and _sha256(target.read_bytes()) == wanted:
            continue
        content = github.file(package.repository, path, package.commit)
        if isinstance(content, Gone):
            raise FetchError(
                f"{package.repository} has no {path} at {package.commit[:12]} (HTTP {content.status}).",
                "Use another commit with --commit; the checksums still apply.",
            )
        if _sha256(content) != wanted:
            raise FetchError(
                f"{name} at {package.commit[:12]} does not match the pinned checksum.",
                "Pass the commit of the published sheets with --commit.",
            )
        _write(target, content)


def fetch_issues(out: Path, github: PoliteGitHub, tick: Callable[[int, int], None]) -> Fetched:
    """Fetch each labelled issue once (a run cut short goes on where it was) and write the records.

    `tick` hears (done, all) after each issue. Stack Overflow posts are left out: the API of GitHub has none.
    """
    study = import_labels(out / "final_categories.xlsx")
    urls = _urls(study)
    ids = list(urls)
    issues = [id for id in ids if not id.startswith("stackoverflow#")]
    folder = out / "issues"
    folder.mkdir(parents=True, exist_ok=True)
    for done, id in enumerate(issues, start=1):
        file = folder / f"{id.replace('/', '__').replace('#', '__')}.json"
        if not file.exists():
            repository, _, number = id.rpartition("#")
            _write(file, json.dumps(_kept(github.issue(repository, int(number)))).encode())
        tick(done, len(issues))
    texts = {id: _stored(folder, id) for id in issues}
    records = [_record(id, urls[id], text, study) for id, text in texts.items() if "gone" not in text]
    lines = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    _write(out / RECORDS, lines.encode())
    return Fetched(len(records), len(texts) - len(records), len(ids) - len(issues))


def _kept(issue: dict[str, Any] | Gone) -> dict[str, Any]:
    """Of an issue only what is needed: nobody's name is stored."""
    if isinstance(issue, Gone):
        return {"gone": issue.status}
    return {
        "title": str(issue.get("title") or ""),
        "body": str(issue.get("body") or ""),
        "opened": str(issue.get("created_at") or "")[:10] or None,
    }


def _stored(folder: Path, id: str) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(
        (folder / f"{id.replace('/', '__').replace('#', '__')}.json").read_bytes()
    )
    return text


def _urls(study: ImportedStudy) -> dict[str, str]:
    """The link of each post, in the order of the sheets."""
    return {one.id: one.url for one in study.faults} | {one.id: one.url for one in study.howtos}


def _record(id: str, url: str, text: dict[str, Any], study: ImportedStudy) -> dict[str, Any]:
    return {"id": id, "url": url, **text, "labels": _labels(id, study), "label_source": SOURCE}


def _labels(id: str, study: ImportedStudy) -> dict[str, Any]:
    faults = [fault for fault in study.faults if fault.id == id]
    howto = next((one for one in study.howtos if one.id == id), None)
    return labels_of_faults(faults) if faults else _labels_of_howto(howto)


def labels_of_faults(faults: Iterable[Fault]) -> dict[str, Any]:
    """Labels of a post with one or several faults, in their order, each id once."""
    gathered: dict[str, list[str]] = defaultdict(list)
    listed = list(faults)
    for fault in listed:
        gathered["stage"].append(fault.stage)
        gathered["symptom"].append(fault.symptom)
        gathered["fix"] += fault.fix
        gathered["cause"] += fault.cause
    return {
        "type": "fault",
        "distributed": any(fault.distributed for fault in listed),
        **{axis: list(dict.fromkeys(ids)) for axis, ids in gathered.items()},
    }


def _labels_of_howto(howto: HowTo | None) -> dict[str, Any]:
    return {"type": "howto"} | ({"topic": howto.topic, "subtopic": howto.subtopic} if howto else {})


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _write(file: Path, content: bytes) -> None:
    part = file.with_suffix(".part")
    part.write_bytes(content)
    part.replace(file)
