"""From a call of Slack's to the one answer, on a real PostgreSQL and a Slack on a real socket."""

from __future__ import annotations

import asyncio
import json
import time
from datetime import timedelta
from typing import Any

import pytest
from starlette.responses import PlainTextResponse

from bot.jobs.runner import MAX_ATTEMPTS
from bot.ports import CoreFailed
from bot.slack import words
from bot.slack.answer import MORE
from bot.slack.asking import EACH_END
from bot.slack.inbound import message_text, typed
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore, a_triage, axis
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import bench, signed
from tests.bot.slack.fake_slack import ROOM, FakeSlack
from tests.bot.slack.limits import buttons, shown

HALF_AN_HOUR = timedelta(minutes=31)


def test_a_command_is_acknowledged_at_once_and_answered_to_the_asker_alone(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            await b.command("warm up")
            start = time.perf_counter()
            answer = await b.command("NCCL timeout on rank 3")
            took = time.perf_counter() - start
            assert (answer.status_code, answer.content) == (200, b"")
            assert took < 0.3
            assert fake.private == []
            async with b.worker():
                await b.settled()
            # The warm-up is answered, too, and nothing says which answer comes first.
            (message,) = [m for m in fake.to("U1") if "NCCL timeout on rank 3" in shown(m)]
            assert (message["response_type"], message["replace_original"]) == ("ephemeral", False)
            assert "Only you see this." in shown(message)
            assert fake.public == {}

    asyncio.run(go())


def test_a_greeting_gets_no_finding(opened: OpenService, fake: FakeSlack) -> None:
    def answer(report: Report) -> Triage:
        nothing = a_triage().evidence.model_copy(update={"lines": [], "framework": None})
        return a_triage(report, type=axis(("howto", 0.9)), evidence=nothing)

    async def go() -> None:
        async with bench(opened, fake, FakeCore(answer)) as b, b.worker():
            assert (await b.triaged("hello there, how are you?"))["text"] == words.TOO_LITTLE
            long = "How do I give each rank a shard of the data of its own here?"
            assert "text" in await b.triaged(long)
            assert fake.to("U1")[-1]["text"] != words.TOO_LITTLE

    asyncio.run(go())


def test_slacks_retries_of_a_call_make_one_answer(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            body = b.command_body("NCCL timeout")
            for number in ("", "1", "2"):
                assert (
                    await b.post("/slack/commands", body, **{"x-slack-retry-num": number})
                ).status_code == 200
            async with b.worker():
                await b.settled()
                assert (await b.post("/slack/commands", body)).status_code == 200
                await b.settled()
            assert b.core.calls == 1
            assert len(fake.private) == 1

    asyncio.run(go())


def test_a_lost_answer_is_not_sent_twice_and_a_refused_connection_is(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.faults["respond"] = ["after"]
            await b.triaged()
            assert len(fake.private) == 1
            fake.faults["respond"] = [lambda: PlainTextResponse("down", 503)] * 2
            await b.triaged()
            assert len(fake.private) == 2
            fake.faults["respond"] = [lambda: PlainTextResponse("slow", 429, {"Retry-After": "0"})]
            await b.triaged()
            assert len(fake.private) == 3
            assert [d.reason for d in await b.settled()] == ["perhaps sent", "sent", "sent"]

    asyncio.run(go())


def test_an_expired_response_url_is_replaced_by_a_direct_message(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            await b.command("NCCL timeout")
            fake.replies["r0"].expired = True
            await b.command("second", user="U2")
            b.clock.shift += HALF_AN_HOUR
            async with b.worker():
                ends = await b.settled()
            assert [d.reason for d in ends] == ["sent directly", "sent directly"]
            assert sorted(user for user, _ in fake.private) == ["U1", "U2"]
            assert fake.calls.count("respond") == 0, "too old to be tried"
            assert fake.public == {}

    asyncio.run(go())


def test_expired_by_slacks_word_and_no_right_to_post_is_logged(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            fake.scopes -= {"chat:write"}
            await b.command("NCCL timeout")
            fake.replies["r0"].expired = True
            async with b.worker():
                ends = await b.settled()
            assert [(d.state, d.reason) for d in ends] == [("done", "undeliverable")]
            assert fake.private == []

    asyncio.run(go())


def test_secrets_are_redacted_before_anything_is_stored_or_echoed(
    opened: OpenService, fake: FakeSlack
) -> None:
    secret = "ghp_" + "a1B2" * 9

    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            message = await b.triaged(f"NCCL timeout, export GITHUB_TOKEN={secret}")
            assert secret not in json.dumps(message)
            with b.service.threads.connection() as connection:
                for table in ("deliveries", "slack_triages", "procrastinate_jobs"):
                    rows = connection.execute(f"SELECT t::text FROM {table} AS t".encode()).fetchall()
                    assert not any(secret in str(row) for row in rows), table
                    assert not any("/respond/" in str(row) for row in rows), "response URLs are sealed"

    asyncio.run(go())


def test_a_bare_command_opens_a_box_whose_text_is_triaged(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            assert (await b.command("  ")).status_code == 200
            (view,) = fake.views
            assert [block["block_id"] for block in view["blocks"]] == ["text", "files"]
            empty = await b.submit(
                view, {"text": {"text": {"value": None}}, "files": {"files": {"files": []}}}
            )
            assert empty.json() == {"response_action": "errors", "errors": {"text": words.NOTHING_TO_READ}}
            done = await b.submit(view, {"text": {"text": {"value": "NCCL timeout \ud800 & <x>"}}})
            assert (done.status_code, done.content) == (200, b"")
            await b.settled()
            assert "NCCL timeout \ufffd &amp; &lt;x&gt;" in shown(fake.to("U1")[-1])

    asyncio.run(go())


def test_without_the_scope_for_files_the_box_has_no_upload(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            fake.scopes -= {"files:read"}
            await b.command("")
            assert [block["block_id"] for block in fake.views[0]["blocks"]] == ["text"]

    asyncio.run(go())


def test_a_box_that_cannot_be_opened_is_said_so(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            assert (await b.command("", trigger_id="expired1")).status_code == 200
            assert [m["text"] for m in fake.to("U1")] == [words.NOT_OPENED]

    asyncio.run(go())


def test_a_retry_of_the_call_that_opened_the_box_is_quiet(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            body = b.command_body("")
            for retry in ("0", "1"):
                assert (
                    await b.post("/slack/commands", body, **{"x-slack-retry-num": retry})
                ).status_code == 200
            assert len(fake.views) == 1
            assert fake.private == []

    asyncio.run(go())


def test_the_message_shortcut_reads_the_message_as_it_was_typed(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            message = {
                "text": "see <https://x.example|x.example> &lt;rank 3&gt; <@U9|bob> timeout",
                "ts": "1.1",
            }
            await b.interact("message_action", callback_id="triage_message", message=message)
            await b.settled()
            assert "see x.example &lt;rank 3&gt; bob timeout" in shown(fake.to("U1")[-1])

    asyncio.run(go())


def test_what_a_program_reported_in_attachments_or_blocks_is_read() -> None:
    log = {"type": "rich_text_preformatted", "elements": [{"type": "text", "text": "NCCL WARN timeout"}]}
    assert (
        message_text({"text": "", "blocks": [{"type": "rich_text", "elements": [log]}]})
        == "NCCL WARN timeout"
    )
    attached = {"title": "Job 7 failed", "text": "rank 3 &lt;hangs&gt;", "fallback": "Job 7"}
    assert message_text({"text": "CI", "attachments": [attached]}) == "CI\nJob 7 failed\nrank 3 <hangs>"
    assert message_text({"text": None, "attachments": [{"fallback": "Job 7"}, 5], "blocks": 7}) == "Job 7"
    assert message_text({}) == ""
    deep: Any = "x"
    for _ in range(5000):
        deep = [deep]
    assert message_text({"blocks": deep}) == ""


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        ("Connect to 172.17.0.1<41873> failed", "Connect to 172.17.0.1<41873> failed"),
        ("Connect to 172.17.0.1&lt;41873&gt; failed", "Connect to 172.17.0.1<41873> failed"),
        ("std::vector<int> & more", "std::vector<int> & more"),
        ("<https://x.example/a|x.example/a> <mailto:a@b.example|a@b.example>", "x.example/a a@b.example"),
        ("<@U012AB3CD> <#C024BE7LR|general> <!here>", "@U012AB3CD general !here"),
        ("&amp;lt;", "&lt;"),
    ],
)
def test_only_slacks_own_brackets_are_undone(sent: str, meant: str) -> None:
    assert typed(sent) == meant


def test_a_file_is_read_where_the_asker_may_see_it(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.add_file("F0OWN", b"own log")
            fake.add_file("F0HERE", b"log of this room", user="U9", groups=[ROOM])
            fake.add_file("F0SECRET", b"log of another room", user="U9", groups=["C0OTHER"])
            for name in ("F0OWN", "F0HERE", "F0SECRET"):
                await b.command(f"https://acme.slack.com/files/U9/{name}/run.log")
                await b.settled()
            own, here, secret = (shown(m) for m in fake.to("U1"))
            assert "own log" in own
            assert "log of this room" in here
            assert "log of another room" not in secret
            assert "it is not shared in this conversation" in secret

    asyncio.run(go())


def test_an_uploaded_snippet_of_a_message_is_read_and_a_missing_scope_is_named(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.add_file("F0SNIP", b"NCCL WARN\xff timeout", user="U9")
            message = {"text": "", "files": [{"id": "F0SNIP"}]}
            await b.interact("message_action", callback_id="triage_message", message=message)
            await b.settled()
            assert "NCCL WARN\ufffd timeout" in shown(fake.to("U1")[-1])
            fake.scopes -= {"files:read"}
            await b.interact(
                "message_action", callback_id="triage_message", message={**message, "text": "hangs"}
            )
            await b.settled()
            assert "hangs" in shown(fake.to("U1")[-1])
            assert "the app is missing the scope files:read" in shown(fake.to("U1")[-1])

    asyncio.run(go())


def test_of_a_long_file_both_ends_are_read_and_no_half_secret_stays(
    opened: OpenService, fake: FakeSlack
) -> None:
    secret = "ghp_" + "a1B2" * 9

    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            cut = (
                "x" * (EACH_END - 20)
                + f" {secret} "
                + "y" * 3_000_000
                + f" {secret} "
                + "z" * (EACH_END - 30)
            )
            fake.add_file("F0LONG", f"first line\n{cut}\nNCCL timeout at the end".encode())
            await b.command("https://acme.slack.com/files/U1/F0LONG/run.log")
            await b.settled()
            message = fake.to("U1")[-1]
            assert "Only the first and last 1 MB of file 1 were read." in shown(message)
            kept = b.ports.store.triage("T1", buttons(message)[MORE])
            assert kept is not None
            assert kept.body.startswith("first line")
            assert kept.body.endswith("NCCL timeout at the end")
            assert "ghp_" not in kept.body
            assert len(kept.body) <= 2 * EACH_END + 1

    asyncio.run(go())


def test_a_picture_is_not_read_and_said_so(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.add_file("F0PNG", b"\x89PNG\r\n\x1a\n\0\0\0")
            await b.command("https://acme.slack.com/files/U1/F0PNG/hang.png")
            await b.settled()
            assert fake.to("U1")[-1]["text"].endswith("File 1 was not read: it is not text.")

    asyncio.run(go())


def test_a_link_without_the_scope_for_files_says_what_is_missing(
    opened: OpenService, fake: FakeSlack
) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b, b.worker():
            fake.add_file("F0OWN", b"own log")
            fake.scopes -= {"files:read"}
            await b.command("https://acme.slack.com/files/U1/F0OWN/run.log")
            await b.settled()
            told = fake.to("U1")[-1]["text"]
            assert (
                told
                == f"{words.NOTHING_TO_READ} File 1 was not read: the app is missing the scope files:read."
            )

    asyncio.run(go())


def test_help_and_web_pages_are_answered_at_once(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            told = (await b.command("help")).json()
            assert (told["response_type"], told["text"]) == ("ephemeral", words.HELP)
            assert (await b.command("<https://ci.example/log/1>")).json()["text"] == words.NO_PAGES
            assert await b.settled() == []

    asyncio.run(go())


def test_above_the_rate_limit_a_workspace_is_refused_kindly(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake, slack_rate_limit=2) as b:
            bodies = [b.command_body(f"log {n}") for n in range(3)]
            told = [await b.post("/slack/commands", body) for body in bodies]
            assert [t.content for t in told[:2]] == [b"", b""]
            assert "has made 2 requests in the last minute" in told[2].json()["text"]
            assert (await b.post("/slack/commands", bodies[0])).content == b"", "a retry counts once"
            await b.command("", trigger_id="t-modal")
            refused = await b.submit(fake.views[0], {"text": {"text": {"value": "log"}}})
            assert "Please try again in" in refused.json()["errors"]["text"]
            assert (await b.command("log", team_id="T2")).content == b"", "another workspace has its own"
            await b.interact("message_action", callback_id="triage_message", message={"text": "log"})
            assert "Please try again in" in fake.to("U1")[-1]["text"]
            b.clock.shift += HALF_AN_HOUR
            assert (await b.command("log 4")).content == b""

    asyncio.run(go())


def test_bad_calls_are_refused_and_never_an_error(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            body = b.command_body("x")
            headers = signed(body)
            for changed in (
                {"x-slack-signature": "v0=\u00e4\u00ff"},
                {"x-slack-signature": headers["x-slack-signature"].upper()},
                {"x-slack-signature": ""},
                {"x-slack-request-timestamp": "now"},
                {"x-slack-request-timestamp": "9" * 400},
                {"x-slack-request-timestamp": "\u00b2"},
            ):
                raw = [(k.encode(), v.encode("latin-1")) for k, v in {**headers, **changed}.items()]
                answer = await b.client.post("/slack/commands", content=body.encode(), headers=raw)
                assert answer.status_code == 401, changed
            assert (await b.client.post("/slack/commands", content=body.encode())).status_code == 401
            twice = [(k, v) for k, v in headers.items()] + [
                ("x-slack-signature", headers["x-slack-signature"])
            ]
            assert (
                await b.client.post("/slack/commands", content=body.encode(), headers=twice)
            ).status_code == 401
            old = signed(body, time.time() - 301)
            assert (
                await b.client.post("/slack/commands", content=body.encode(), headers=old)
            ).status_code == 401
            for path in ("/slack/commands", "/slack/interactions", "/slack/events"):
                for nonsense in (
                    "",
                    "payload=",
                    "payload=[]",
                    "payload={",
                    "{}",
                    "[]",
                    "a" * 70_000,
                    "%ff%00=%ff",
                ):
                    assert (await b.post(path, nonsense)).status_code == 400, (path, nonsense[:20])
            assert (await b.post("/slack/commands", "a" * 3_000_000)).status_code == 413
            assert await b.settled() == []

    asyncio.run(go())


def test_a_worker_that_dies_while_sending_does_not_send_again(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            await b.command("NCCL timeout")
            with b.service.threads.connection() as connection:
                (row,) = connection.execute("SELECT id FROM deliveries").fetchall()
            # What a worker leaves behind that was killed between the note and the call's answer.
            assert b.ports.ledger.begin(str(row[0]), "answer", b.clock.now())
            async with b.worker():
                ends = await b.settled()
            assert [d.reason for d in ends] == ["sent before"]
            assert fake.private == []

    asyncio.run(go())


def test_a_response_url_is_used_five_times_at_most(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            fake.faults["respond"] = [lambda: PlainTextResponse("down", 503)] * 7
            async with b.worker():
                await b.command("NCCL timeout")
                ends = await b.settled()
            assert fake.calls.count("respond") == 5
            assert [d.reason for d in ends] == ["sent directly"]

    asyncio.run(go())


def test_a_core_that_breaks_is_apologised_for_once(opened: OpenService, fake: FakeSlack) -> None:
    def breaks(report: Report) -> Triage:
        raise CoreFailed("the triage process died or hung")

    async def go() -> None:
        async with bench(opened, fake, FakeCore(breaks)) as b, b.worker():
            await b.command("NCCL timeout")
            ends = await b.settled()
            assert [(d.state, d.attempts) for d in ends] == [("dead", MAX_ATTEMPTS)]
            assert [m["text"] for m in fake.to("U1")] == [words.FAILED]

    asyncio.run(go())


def test_slacks_look_at_the_certificate_is_answered(opened: OpenService, fake: FakeSlack) -> None:
    async def go() -> None:
        async with bench(opened, fake) as b:
            assert (await b.post("/slack/commands", "ssl_check=1&token=x")).status_code == 200

    asyncio.run(go())
