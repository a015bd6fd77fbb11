"""The whole corpus through `bot serve` as users run it, once: real engine, real PostgreSQL, a GitHub, an LLM."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2
import psycopg
from psycopg import sql

from tests.bot.fake_github import APP_ID, FakeGitHub, FakeIssue
from tests.bot.fake_github import serve as serve_github
from tests.bot.service.calls import headers
from tests.bot.service.databases import fresh_database, running_server
from tests.conftest import CACHE
from tests.hostile.corpus import Hostile, corpus
from tests.llm.fake_server import MODEL, FakeLlm
from tests.llm.fake_server import serve as serve_llm
from tests.llm.second_readers import obedient

ROOT = Path(__file__).parents[2]
REPOS = 24
"""GitHub's budget of 80 writes a minute holds for each installation."""
GITHUB_LIMIT = 65_536
"""Characters of an issue's text that GitHub accepts."""


@dataclass(frozen=True)
class Run:
    """What was left behind everywhere."""

    issues: dict[str, FakeIssue]
    """Issue by the hostile report's id."""
    statuses: dict[str, int]
    """Answer to the webhook that carries the report whole, by the report's id."""
    rows: list[str]
    """Every row of every table, as text."""
    ended: dict[str, tuple[str, str, str]]
    """State, outcome and reason by delivery."""
    asked: list[str]
    """Every request to the LLM."""
    log: str


def served_corpus(folder: Path) -> Run:
    """Deliver every report twice: to a service with the App's credentials, and to one without them.

    The first writes comments on what it reads from GitHub, the second keeps what the webhooks carry.
    """
    fake, mind = FakeGitHub(), FakeLlm(brain=obedient)
    with (
        serve_github(fake) as github,
        serve_llm(mind) as llm,
        running_server() as server,
        fresh_database(server) as database,
    ):
        issues = _open_issues(fake)
        key = folder / "app.pem"
        key.write_text(fake.private_key)
        app = {
            "GITHUB_APP_ID": str(APP_ID),
            "GITHUB_PRIVATE_KEY_FILE": str(key),
            "GITHUB_API_URL": github,
            "LLM_BASE_URL": llm,
            "LLM_MODEL": MODEL,
            "LLM_REASON": "plain",
            "LLM_USE": "always",
        }
        log = folder / "log"
        with _service(database, log, app) as port:
            _post(port, database, _payloads(fake, issues, whole=False), "a-")
        with _service(database, log, {}) as port:
            statuses = _post(port, database, _payloads(fake, issues, whole=True), "b-")
        with psycopg.connect(database) as connection:
            rows, ended = _rows(connection), _ended(connection)
        asked = [json.dumps(body, ensure_ascii=False) for body in mind.requests]
        return Run(issues, statuses, rows, ended, asked, log.read_text(encoding="utf-8"))


def _open_issues(fake: FakeGitHub) -> dict[str, FakeIssue]:
    found = {}
    for n, report in enumerate(corpus()):
        name, installation = f"acme/train{n % REPOS}", 1 + n % REPOS
        fake.installations[installation] = {"id": installation, "account": {"login": "acme", "type": "User"}}
        fake.repo(name).files[".github/distriage.yml"] = "mode: comment\ncomment_on: always\n"
        fake.repo(name).installation = installation
        title, body = report.title[:GITHUB_LIMIT], report.body[:GITHUB_LIMIT]
        found[report.id] = fake.open_issue(name, title, body, author="mallory")
    return found


def _payloads(fake: FakeGitHub, issues: dict[str, FakeIssue], whole: bool) -> Iterator[tuple[Hostile, bytes]]:
    for n, report in enumerate(corpus()):
        payload = fake.payload(f"acme/train{n % REPOS}", issues[report.id], "opened")
        payload["installation"] = {"id": 1 + n % REPOS}
        if whole:
            payload["issue"] |= {"title": report.title, "body": report.body}
        yield report, json.dumps(payload, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _post(port: int, database: str, payloads: Iterator[tuple[Hostile, bytes]], prefix: str) -> dict[str, int]:
    statuses = {}
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        for report, body in payloads:
            answer = client.post(
                "/webhooks/github",
                content=body,
                headers=headers(body, delivery=prefix + report.id, secret="s3"),
            )
            statuses[report.id] = answer.status_code
    deadline = time.monotonic() + 240
    with psycopg.connect(database, autocommit=True) as connection:
        while connection.execute("SELECT 1 FROM deliveries WHERE state = 'queued'").fetchone():
            assert time.monotonic() < deadline
            time.sleep(0.2)
    return statuses


@contextmanager
def _service(database: str, log: Path, settings: dict[str, str]) -> Iterator[int]:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    values = {
        "DATABASE_URL": database,
        "DATA_DIR": str(CACHE.parent),
        "ADMIN_SECRET": "hostile",
        "GITHUB_WEBHOOK_SECRET": "s3",
        "LOG_LEVEL": "DEBUG",
        "EDIT_DELAY": "0",
        "WORKER_CONCURRENCY": "8",
        **settings,
    }
    environment = os.environ | {f"DISTRIAGE_{name}": value for name, value in values.items()}
    with log.open("ab") as file:
        server = subprocess.Popen(
            [sys.executable, "-m", "bot", "serve", "--port", str(port)],
            cwd=ROOT,
            env=environment,
            stdout=file,
            stderr=file,
        )
    try:
        _await_ready(port)
        yield port
    finally:
        server.terminate()
        assert server.wait(60) == 0


def _await_ready(port: int) -> None:
    deadline = time.monotonic() + 120
    while True:
        try:
            if httpx2.get(f"http://127.0.0.1:{port}/readyz").json()["engine"] == "ready":
                return
        except httpx2.TransportError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.2)


def _rows(connection: psycopg.Connection) -> list[str]:
    tables = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
    rows = []
    for (table,) in tables:
        query = sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(str(table)))
        rows += [str(row[0]) for row in connection.execute(query)]
    return rows


def _ended(connection: psycopg.Connection) -> dict[str, tuple[str, str, str]]:
    found = connection.execute("SELECT id, state, outcome, reason FROM deliveries").fetchall()
    return {str(id_): (str(state), str(outcome), str(reason)) for id_, state, outcome, reason in found}
