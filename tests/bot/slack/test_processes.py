"""The service as it runs: acknowledged in time over a socket under load, and killed between call and answer."""

from __future__ import annotations

import asyncio
import http.client
import random
import signal
import socket
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import count
from urllib.parse import urlencode

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.bot.slack.bench import signed
from tests.bot.slack.fake_slack import ROOM, FakeSlack
from tests.bot.slack.limits import shown
from tests.bot.slack.slack_process import SLOW, free_port, running, until_answering
from tests.soak.quick_client import post_at_rate

pytestmark = pytest.mark.long

RATE, SECONDS = 25, 8
IN_TIME = 0.3
SLACKS_LIMIT = 3.0
_numbers = count(1)


def call(fake: FakeSlack, text: str, user: str = "U1") -> tuple[bytes, dict[str, str]]:
    form = {
        "command": "/triage",
        "text": text,
        "team_id": "T1",
        "user_id": user,
        "channel_id": ROOM,
        "response_url": fake.reply_url(user),
        "trigger_id": f"p{next(_numbers)}",
    }
    body = urlencode(form)
    return body.encode(), signed(body)


def post(port: int, body: bytes, headers: dict[str, str]) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("POST", "/slack/commands", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def until(done: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def one(database: str, query: str) -> int:
    with psycopg.connect(database) as connection:
        row = connection.execute(query.encode()).fetchone()
    return int(row[0]) if row else 0


def waiting(database: str) -> int:
    return one(database, "SELECT count(*) FROM deliveries WHERE state = 'queued'")


def fewer_wait(database: str, before: int) -> bool:
    return waiting(database) < max(before, 1)


def test_calls_are_acknowledged_in_time_while_the_worker_triages(database: str, fake: FakeSlack) -> None:
    """25 commands a second, as many triages beside them in the worker of the same `bot serve`."""
    port = free_port()
    with running("serve", str(port), database=database, fake=fake):
        until_answering(port)
        calls = [call(fake, f"NCCL timeout {n} " + "x" * 3000, user=f"U{n}") for n in range(RATE * SECONDS)]
        statuses, times = asyncio.run(post_at_rate(port, "/slack/commands", calls, RATE, lines=10))
        until(lambda: waiting(database) == 0, 120)
    assert set(statuses) == {200}
    times = sorted(times[RATE:])
    p50, p95, p99 = (times[int(len(times) * share)] * 1e3 for share in (0.5, 0.95, 0.99))
    print(
        f"acknowledged: p50 {p50:.0f} ms, p95 {p95:.0f} ms, p99 {p99:.0f} ms, worst {times[-1] * 1e3:.0f} ms"
    )
    assert Counter(Counter(user for user, _ in fake.private).values()) == {1: RATE * SECONDS}
    # A machine that others share stalls now and then: the bar is held by 95 of 100, Slack's own by all.
    assert p95 <= IN_TIME * 1e3
    assert times[-1] < SLACKS_LIMIT


def test_a_worker_killed_between_acknowledgement_and_answer_leaves_exactly_one(
    database: str, fake: FakeSlack
) -> None:
    port = free_port()
    with running("web", str(port), database=database, fake=fake):
        until_answering(port)
        with running("worker", database=database, fake=fake) as worker:
            assert post(port, *call(fake, f"{SLOW} NCCL timeout")) == 200
            until(lambda: one(database, "SELECT max(attempts) FROM deliveries") == 1)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        assert fake.private == []
        with running("worker", database=database, fake=fake):
            until(lambda: waiting(database) == 0)
    assert ["NCCL timeout" in shown(message) for message in fake.to("U1")] == [True]


def test_a_worker_killed_while_its_answer_arrives_does_not_answer_twice(
    database: str, fake: FakeSlack
) -> None:
    port = free_port()
    fake.delays["respond"] = 5
    with running("web", str(port), database=database, fake=fake):
        until_answering(port)
        with running("worker", database=database, fake=fake) as worker:
            assert post(port, *call(fake, "NCCL timeout")) == 200
            until(lambda: len(fake.private) == 1)
            worker.send_signal(signal.SIGKILL)
            worker.wait()
        fake.delays.clear()
        with running("worker", database=database, fake=fake):
            until(lambda: waiting(database) == 0)
    assert len(fake.private) == 1
    assert one(database, "SELECT count(*) FROM deliveries WHERE reason = 'sent before'") == 1


def test_kills_at_any_moment_leave_at_most_one_answer_each_and_lose_none_before_it_was_sent(
    database: str, fake: FakeSlack
) -> None:
    port, dice = free_port(), random.Random(5)
    people = [f"U{n}" for n in range(40)]
    fake.delays["respond"] = 0.05
    with running("web", str(port), database=database, fake=fake):
        until_answering(port)
        for user in people:
            assert post(port, *call(fake, f"NCCL timeout of {user}", user)) == 200
        for _ in range(4):
            with running("worker", database=database, fake=fake) as worker:
                until(partial(fewer_wait, database, waiting(database)))
                time.sleep(dice.uniform(0, 0.3))
                worker.send_signal(signal.SIGKILL)
                worker.wait()
        with running("worker", database=database, fake=fake):
            until(lambda: waiting(database) == 0)
    answers = Counter(user for user, _ in fake.private)
    assert max(answers.values()) == 1
    unsure = one(database, "SELECT count(*) FROM slack_sends WHERE NOT sent")
    assert len(people) - len(answers) <= unsure
    assert len(answers) >= len(people) - 16, "of four kills each can hit four answers that are just going out"


def raw_status(port: int, head: bytes, body: bytes) -> int:
    """The status that a server answers to these very bytes."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as line:
        line.sendall(head + body)
        line.shutdown(socket.SHUT_WR)
        answer = b""
        while b"\r\n" not in answer:
            chunk = line.recv(4096)
            if not chunk:
                return 0
            answer += chunk
    return int(answer.split(b" ", 2)[1])


def test_no_bytes_in_the_headers_make_a_real_server_answer_500(database: str, fake: FakeSlack) -> None:
    port = free_port()
    header = st.binary(max_size=60)

    @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
    @given(stamp=header, signature=header, prefix=st.sampled_from([b"", b"v0="]), body=st.binary(max_size=40))
    def any_bytes(stamp: bytes, signature: bytes, prefix: bytes, body: bytes) -> None:
        head = (
            b"POST /slack/commands HTTP/1.1\r\nhost: bot\r\nconnection: close\r\ncontent-length: %d\r\n"
            b"x-slack-request-timestamp: %b\r\nx-slack-signature: %b%b\r\n\r\n"
        ) % (len(body), stamp, prefix, signature)
        # 401 by us; 400 by the HTTP server for what is no header; 0: it closed without a word.
        assert raw_status(port, head, body) in {401, 400, 413, 0}

    with running("web", str(port), database=database, fake=fake):
        until_answering(port)
        any_bytes()
        assert post(port, *call(fake, "still there")) == 200
