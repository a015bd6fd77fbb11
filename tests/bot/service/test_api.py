"""`POST /api/triage` on a real socket: who gets an answer, what it holds, and that nothing else is reachable."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import httpx2
import jsonschema
import psycopg
import pytest
import uvicorn
from fastapi import FastAPI
from prometheus_client import generate_latest
from pydantic import SecretStr, ValidationError

from bot.api.routes import PREFIX, WAITING, Api, RateLimit, api_app, token_of
from bot.http.body import BODY_LIMIT, Connection
from bot.ports import CoreFailed
from bot.runtime.metrics import Metrics
from bot.settings import Settings
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage, schema_text
from tests.bot.fake_core import a_triage
from tests.bot.service.test_connections import served
from tests.conftest import CACHE

ROOT = Path(__file__).parents[3]
TOKEN = "a-token-of-thirty-two-characters"
OTHER = "another-token-of-32-characters--"


class Core:
    """Answers every report with the same triage, once it may."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.reports: list[Report] = []
        self.failure = failure
        self.may = threading.Event()
        self.may.set()

    def triage(self, report: Report) -> Triage:
        self.reports.append(report)
        self.may.wait(30)
        if self.failure:
            raise self.failure
        return a_triage(report)


@contextmanager
def listening(core: object, limit: int = 100, metrics: Metrics | None = None) -> Iterator[str]:
    """The API on a port of the loopback."""
    api = Api(
        (TOKEN.encode(), OTHER.encode()),
        core,  # type: ignore[arg-type]
        load_taxonomy(),
        metrics or Metrics(),
        RateLimit(limit),
    )
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    app.mount(PREFIX, api_app(api))
    config = uvicorn.Config(app, http=Connection, log_config=None, access_log=False, lifespan="off")
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as one:
        thread = threading.Thread(target=server.run, args=[[one]])
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{one.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


def post(
    url: str,
    body: bytes = b'{"body": "It hangs."}',
    token: str | None = TOKEN,
    kind: str = "application/json",
    scheme: str = "Bearer",
) -> httpx2.Response:
    headers = {"content-type": kind} | (
        {"authorization": f"{scheme} {token}".strip()} if token is not None else {}
    )
    return httpx2.post(f"{url}/api/triage", content=body, headers=headers, timeout=60)


@pytest.mark.parametrize(
    ("token", "scheme"),
    [(None, ""), ("", "Bearer"), ("wrong", "Bearer"), (TOKEN[:-1], "Bearer"), (TOKEN, "Basic"), (TOKEN, "")],
)
def test_without_a_valid_token_nothing_is_read(token: str | None, scheme: str) -> None:
    core = Core()
    with listening(core) as url:
        answer = post(url, token=token, scheme=scheme)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert not core.reports


def test_a_header_that_is_no_ascii_is_no_token() -> None:
    for header in ("Bearer ä\udcff", "bearer", "Bearer", " ", "Bearer\t" + TOKEN):
        assert token_of(header, [TOKEN.encode()]) is None
    assert [token_of(f"bearer {one} ", [TOKEN.encode(), OTHER.encode()]) for one in (TOKEN, OTHER)] == [0, 1]


def test_an_oversized_body_is_refused() -> None:
    core = Core()
    with listening(core) as url:
        assert post(url, b"x" * (BODY_LIMIT + 1), kind="text/plain").status_code == 413
        assert post(url, b"x" * (BODY_LIMIT + 1), token="wrong").status_code == 401
    assert not core.reports


def test_a_flood_of_one_token_leaves_the_others_alone() -> None:
    with listening(Core(), limit=3) as url:
        answers = [post(url) for _ in range(5)]
        assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
        assert 1 <= int(answers[-1].headers["retry-after"]) <= 60
        assert post(url, token=OTHER).status_code == 200


def test_calls_of_a_minute_count_and_older_ones_do_not() -> None:
    now = [0.0]
    limit = RateLimit(2, lambda: now[0])
    waits = []
    for at in (0, 10, 20, 60, 61, 70):
        now[0] = at
        waits.append(limit.wait(1))
    assert waits == [0.0, 0.0, 40.0, 0.0, 9.0, 0.0]


@pytest.mark.parametrize(
    ("body", "kind", "status", "word"),
    [
        (b"", "application/json", 400, "JSON object"),
        (b"[]", "application/json", 400, "JSON object"),
        (b"{" * 100_000, "application/json", 400, "JSON object"),
        (b'{"title": "x"}', "application/json", 400, "body: "),
        (b'{"body": ""}', "application/json", 400, "body: "),
        (b'{"body": 3}', "application/json", 400, "body: "),
        (b'{"body": "x", "bodi": "y"}', "application/json", 400, "bodi: "),
        (b" \n", "text/plain", 400, "empty"),
        (b"x", "application/xml", 415, "text/plain"),
        (b"x", "", 415, "text/plain"),
    ],
)
def test_a_body_that_is_no_report_is_named(body: bytes, kind: str, status: int, word: str) -> None:
    with listening(Core()) as url:
        answer = post(url, body, kind=kind)
    assert answer.status_code == status
    assert word in answer.json()["error"]


def test_an_issue_and_a_log_become_reports() -> None:
    core = Core()
    with listening(core) as url:
        assert post(url, json.dumps({"title": "Hang", "body": "It hangs."}).encode()).status_code == 200
        assert post(url, b'{"body": "a\\nb", "is_log": true}').status_code == 200
        log = b"[rank0]: RuntimeError: NCCL error\nmore"
        assert post(url, log, kind="text/plain; charset=utf-8").status_code == 200
        assert post(url, b"\xff\xfe odd", kind="text/plain").status_code == 200
    issue, as_log, plain, _ = core.reports
    assert (issue.title, issue.body, issue.is_log) == ("Hang", "It hangs.", False)
    assert (as_log.body, as_log.is_log) == ("a\nb", True)
    assert (plain.title, plain.is_log) == ("", True)


def test_the_answer_is_the_triage_and_its_markdown_redacted(knowledge: Knowledge) -> None:
    secret = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"

    class Engine:
        def triage(self, report: Report) -> Triage:
            return triage(report, knowledge)

    body = (ROOT / "examples" / "hang.md").read_text("utf-8") + f"\nexport GITHUB_TOKEN={secret}\n"
    with listening(Engine()) as url:
        answer = post(url, json.dumps({"title": f"Hang {secret}", "body": body}).encode())
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    value = answer.json()
    assert set(value) == {"triage", "markdown"}
    jsonschema.validate(value["triage"], json.loads(schema_text()))
    assert "NCCL" in value["markdown"]
    assert secret not in answer.text


def test_a_report_that_breaks_the_engine_costs_its_caller_alone() -> None:
    core = Core(CoreFailed("ValueError in the core"))
    with listening(core) as url:
        answer = post(url)
        assert (answer.status_code, "ValueError" in answer.text) == (500, False)
        core.failure = None
        assert post(url).status_code == 200


def test_more_callers_than_can_wait_are_sent_away() -> None:
    core = Core()
    core.may.clear()
    with listening(core) as url, ThreadPoolExecutor(20) as callers:
        calls = [callers.submit(post, url) for _ in range(20)]
        turned_away = [call.result() for call in islice(as_completed(calls), 20 - WAITING)]
        core.may.set()
        assert {answer.status_code for answer in turned_away} == {503}
        assert {answer.headers["retry-after"] for answer in turned_away} == {"5"}
        assert sorted(call.result().status_code for call in calls) == [200] * WAITING + [503] * (20 - WAITING)


def test_its_description_holds_its_routes_and_the_page_loads_nothing() -> None:
    with listening(Core()) as url:
        description = httpx2.get(f"{url}/api/openapi.json").json()
        page = httpx2.get(f"{url}/api/")
    assert list(description["paths"]) == ["/triage"]
    operation = description["paths"]["/triage"]["post"]
    assert set(operation["responses"]) >= {"200", "400", "401", "413", "415", "429", "503"}
    assert operation["security"] == [{"HTTPBearer": []}]
    assert set(operation["requestBody"]["content"]) == {"application/json", "text/plain"}
    assert page.status_code == 200
    assert "POST /api/triage" in page.text
    assert "<script" not in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]


def test_calls_are_counted_by_status() -> None:
    metrics = Metrics()
    with listening(Core(), metrics=metrics) as url:
        post(url)
        post(url, token="wrong")
    text = generate_latest(metrics.registry).decode()
    for status in (200, 401):
        assert f'distriage_api_seconds_count{{status="{status}"}} 1.0' in text


@pytest.mark.parametrize("token", ["short", f"{TOKEN},short"])
def test_a_token_that_could_be_guessed_is_refused(token: str) -> None:
    with pytest.raises(ValidationError, match="shorter than 20 characters"):
        Settings(api_token=SecretStr(token))


def test_the_service_answers_it_from_processes_of_its_own_and_stores_nothing(
    database: str,
    port: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    knowledge: Knowledge,
) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        metrics = one.getsockname()[1]
    for name, value in (
        ("API_TOKEN", TOKEN),
        ("METRICS_PORT", str(metrics)),
        ("DATA_DIR", str(CACHE.parent)),
    ):
        monkeypatch.setenv(f"DISTRIAGE_{name}", value)
    url = f"http://127.0.0.1:{port}"
    report = json.dumps({"body": (ROOT / "examples" / "hang.md").read_text("utf-8")}).encode()
    with served(database, port, tmp_path / "log", files=1024):
        headers = {"content-type": "application/json", "authorization": f"Bearer {TOKEN}"}
        answer = httpx2.post(f"{url}/api/triage", content=report, headers=headers, timeout=120)
        assert answer.status_code == 200, answer.text
        assert answer.json()["triage"]["findings"]
        assert httpx2.get(f"{url}/metrics").status_code == 404
        there = f"http://127.0.0.1:{metrics}"
        assert 'distriage_api_seconds_count{status="200"} 1.0' in httpx2.get(f"{there}/metrics").text
        for path in ("/", "/readyz", "/api/triage", "/webhooks/github"):
            assert httpx2.get(f"{there}{path}").status_code == 404
    with psycopg.connect(database) as connection:
        tables = connection.execute(
            "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'"
            " AND table_name IN ('deliveries', 'triages', 'slack_triages')"
        ).fetchall()
        counts = [connection.execute(f"SELECT count(*) FROM {t}".encode()).fetchone() for (t,) in tables]
    assert counts == [(0,)] * 3
    assert "docker0" not in (tmp_path / "log").read_text("utf-8")


def test_without_a_token_there_is_no_api(database: str, port: int, tmp_path: Path) -> None:
    with served(database, port, tmp_path / "log"):
        statuses: Sequence[int] = [
            httpx2.post(f"http://127.0.0.1:{port}/api/triage").status_code,
            httpx2.get(f"http://127.0.0.1:{port}/api/openapi.json").status_code,
            httpx2.get(f"http://127.0.0.1:{port}/metrics").status_code,
        ]
    assert statuses == [404, 404, 200]
