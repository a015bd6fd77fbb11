"""From an installation to shadow mode and a first comment by the commands of docs/github.md; GitHub is a stand-in."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import unescape
from typing import Any

import httpx2

from tests.bot.fake_github import FakeGitHub, serve
from tests.package.conftest import ROOT, Installed

REPO = "acme/train"
HANG = """Training with DistributedDataParallel dies in the second step on 2 GPUs, torch 2.1.

```
RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error \
indicates that your module has parameters that were not used in producing loss.
```
"""
MOST_SECONDS = 600


def documented(step: str) -> list[str]:
    """The commands of a numbered step's shell block in docs/github.md."""
    text = (ROOT / "docs" / "github.md").read_text("utf-8").split(f"**{step}**")[1]
    return [line.strip() for line in text.split("```sh\n")[1].split("```")[0].splitlines() if line.strip()]


def eventually(done: Callable[[], Any], seconds: float = 240) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := done()):
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.3)
    return found


class Walk:
    """A person at a shell: `export` lines are kept, other commands run with them."""

    def __init__(self, installed: Installed, port: int, api_url: str) -> None:
        self.installed = installed
        self.port = port
        self.exported = {"DISTRIAGE_GITHUB_API_URL": api_url}
        self.url = f"http://127.0.0.1:{port}"

    def here(self, command: str) -> str:
        """The documented command with this machine's addresses."""
        for theirs, ours in (
            ("https://YOUR-HOST", self.url),
            ("0.0.0.0", "127.0.0.1"),
            ("8000", str(self.port)),
        ):
            command = command.replace(theirs, ours)
        return command

    def bot(self, *arguments: str) -> str:
        return self.installed.run("bot", *arguments, **self.exported)

    @contextmanager
    def service(self) -> Iterator[None]:
        """Step 1: the exports, then `bot serve` until the block ends; it stops on SIGTERM."""
        *exports, command = [self.here(line) for line in documented("Start the service")]
        for line in exports:
            name, _, value = line.removeprefix("export ").partition("=")
            self.exported[name] = value
        program, *arguments = shlex.split(command)
        with (self.installed.folder / "serve.log").open("a") as log:
            running = subprocess.Popen(
                [self.installed.bin / program, *arguments],
                env=self.installed.environment(**self.exported),
                cwd=self.installed.folder,
                stderr=log,
            )
        try:
            eventually(self._answers)
            yield
        finally:
            running.send_signal(signal.SIGTERM)
            assert running.wait(60) == 0

    def _answers(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/healthz").status_code == 200
        except httpx2.HTTPError:
            return False

    def deliver(self, fake: FakeGitHub, payload: dict[str, Any], delivery: str) -> None:
        """A webhook as GitHub sends it to the address of the manifest, signed with the secret that it chose."""
        body = json.dumps(payload).encode()
        signature = hmac.new(b"chosen by GitHub", body, hashlib.sha256).hexdigest()
        headers = {
            "content-type": "application/json",
            "x-github-event": "issues",
            "x-github-delivery": delivery,
            "x-hub-signature-256": f"sha256={signature}",
        }
        answer = httpx2.post(fake.manifest["hook_attributes"]["url"], content=body, headers=headers)
        assert answer.status_code == 202, answer.text

    def ended(self, delivery: str) -> str:
        """Its line in `bot deliveries list`, once it is done."""

        def line() -> str:
            lines = self.bot("deliveries", "list").splitlines()
            return next((one for one in lines if one.startswith(delivery) and " done " in one), "")

        return str(eventually(line))


def test_from_an_installation_to_shadow_mode_and_a_comment(installed: Installed, port: int) -> None:
    started = time.monotonic()
    fake = FakeGitHub()
    issue = fake.open_issue(REPO, "DDP: error in the second iteration", HANG)
    with serve(fake) as github:
        walk = Walk(installed, port, github)
        with walk.service(), httpx2.Client(base_url=walk.url, follow_redirects=True) as browser:
            missing = browser.get("/readyz").json()["missing"]
            assert "DISTRIAGE_GITHUB_APP_ID" in missing
            link = walk.bot("admin", "link").strip().splitlines()[-1]
            assert browser.get(link).status_code == 200
            form = browser.get("/github/new").text
            action, manifest = (
                unescape(re.findall(pattern, form)[0])
                for pattern in (
                    r'action="([^"]+/settings/apps/new[^"]+)"',
                    r'name="manifest" value="([^"]+)"',
                )
            )
            created = browser.post(action, data={"manifest": manifest})
            assert "was created" in created.text
        # Step 3: restarted, it has its key.
        with walk.service(), httpx2.Client(base_url=walk.url, follow_redirects=True) as browser:
            assert browser.get("/readyz").json()["missing"] == []
            assert "broken" not in walk.bot("doctor")
            walk.deliver(fake, fake.payload(REPO, issue, "opened"), "first-delivery")
            assert "shadow" in walk.ended("first-delivery")
            assert [path for _, path in fake.writes() if path.startswith("/repos/")] == []
            shadow_after = installed.seconds + time.monotonic() - started
            browser.get(walk.bot("admin", "link").strip().splitlines()[-1])
            assert "DDP: error in the second iteration" in browser.get("/").text
            # Posting is switched on by one file.
            fake.repo(REPO).files[".github/distriage.yml"] = "mode: comment\n"
            walk.deliver(fake, fake.payload(REPO, issue, "reopened"), "second-delivery")
            assert "written" in walk.ended("second-delivery")
            [comment] = issue.comments
            assert "find_unused_parameters" in comment.body
    print(f"shadow mode after {shadow_after:.0f} s, {installed.seconds:.0f} s of them for the installation")
    assert shadow_after < MOST_SECONDS


def test_the_walk_reads_the_documentation() -> None:
    assert documented("Start the service")[-1].startswith("bot serve")
