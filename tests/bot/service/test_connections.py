"""The service under connections that never finish, with few files to open, on a real socket."""

from __future__ import annotations

import asyncio
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest

from bot.http import body as connections
from tests.bot.service.calls import headers, issue_payload

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[3]
FILES = 200


@contextmanager
def served(database: str, port: int, log: Path, files: int = FILES) -> Iterator[subprocess.Popen[bytes]]:
    settings = {
        "DISTRIAGE_DATABASE_URL": database,
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET": "s1",
        "DISTRIAGE_ADMIN_SECRET": "x",
        "PYTHONPATH": str(ROOT),
    }
    python = shlex.quote(sys.executable)
    command = f"ulimit -n {files}; exec {python} -m tests.bot.service.quick_bot serve {port}"
    with log.open("wb") as out:
        process = subprocess.Popen(["bash", "-c", command], cwd=ROOT, env=os.environ | settings, stderr=out)
        try:
            until_up(port)
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(40)


def until_up(port: int) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            httpx2.get(f"http://127.0.0.1:{port}/readyz")
            return
        except httpx2.TransportError:
            assert time.monotonic() < deadline
            time.sleep(0.1)


async def half_open(port: int, start: bytes, count: int) -> list[asyncio.StreamWriter]:
    writers = []
    for _ in range(count):
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(start)
        writers.append(writer)
    return writers


HALVES = {
    "nothing at all": b"",
    "half a head": b"POST /webhooks/github HTTP/1.1\r\nhost: bot\r\n",
    "half a body": b"POST /webhooks/github HTTP/1.1\r\nhost: bot\r\ncontent-length: 1000\r\n\r\n{",
    "an answered request, kept alive": b"GET /healthz HTTP/1.1\r\nhost: bot\r\n\r\n",
}


@pytest.mark.parametrize("kind", HALVES)
def test_half_open_requests_do_not_keep_anybody_out(
    database: str, port: int, tmp_path: Path, kind: str
) -> None:
    log = tmp_path / "log"

    async def go() -> None:
        writers = await half_open(port, HALVES[kind], 2 * FILES)
        async with httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=5) as client:
            for number in range(5):
                assert (await client.get("/healthz")).status_code == 200
                body = httpx2.Request("POST", "http://x", json=issue_payload(number)).content
                call = headers(body, delivery=f"{kind}-{number}")
                answer = await client.post("/webhooks/github", content=body, headers=call)
                assert answer.status_code == 202
        for writer in writers:
            writer.close()

    resource_limit(4 * FILES)
    with served(database, port, log):
        asyncio.run(go())
    assert log.read_bytes().count(b"out of system resource") <= 2
    assert log.stat().st_size < 100_000


def resource_limit(files: int) -> None:
    """Let this process, the attacker, open so many."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < files <= hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))


def test_a_request_that_does_not_arrive_is_given_up_and_a_slow_one_in_time_is_answered(
    database: str, port: int, tmp_path: Path
) -> None:
    async def go() -> None:
        began = time.monotonic()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        slow_reader, slow = await asyncio.open_connection("127.0.0.1", port)
        writer.write(HALVES["half a body"])
        for part in (b"GET /heal", b"thz HTTP/1.1\r\n", b"host: bot\r\n\r\n"):
            await asyncio.sleep(0.5)
            slow.write(part)
        assert b"200 OK" in await slow_reader.readline()
        while time.monotonic() - began < connections.REQUEST_SECONDS + 5:
            writer.write(b"x")
            try:
                if not await asyncio.wait_for(reader.read(1), 0.5):
                    break
            except TimeoutError:
                continue
            except ConnectionError:
                break
        assert time.monotonic() - began < connections.REQUEST_SECONDS + 3
        for one in (writer, slow):
            one.close()

    with served(database, port, tmp_path / "log"):
        asyncio.run(go())


def test_the_number_of_connections_follows_the_files_that_may_be_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for files, most in ((64, 32), (1024, 512), (20_000, 1000), (-1, 1000)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert connections.most_connections() == most
        assert connections.backlog() <= max(16, most // 4)
