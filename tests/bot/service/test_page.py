"""The maintainers' page: who gets in, what is shown, what a click does."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from pydantic import SecretStr

from bot.github.records import (
    CommentNote,
    ConfigCache,
    Correction,
    Dismissal,
    IssueRef,
    RepoRef,
    Request,
    Resolution,
    TriageRecord,
)
from bot.github.repo_config import RepoConfig
from bot.github.store.postgres import GivenTables, PostgresStore
from bot.history.label_store import LabelTables
from bot.history.store import PostgresHistory
from bot.page.sign_in import SignIn
from bot.page.tables import BY
from bot.runtime.resources import Service
from bot.serve.compose import surfaces
from bot.serve.web_app import make_app
from bot.slack.records import SlackCorrection, SlackTriage
from bot.slack.store import SlackStore
from knowledge.cases.corpus import Case, read_cases
from knowledge.report import Report
from knowledge.triage import AnswerSentence, EarlierReport, SuggestedLabel, WrittenAnswer
from tests.bot.fake_core import a_triage
from tests.bot.service.conftest import OpenService

SECRET = SecretStr("page secret")
NASTY = '<script>alert(1)</script><img src=x onerror="alert(2)">'


def issue(number: int, installation: int = 7, repo: str = "octo/train") -> IssueRef:
    return IssueRef(installation, RepoRef(installation * 100, repo), number)


def record(ref: IssueRef, **changes: Any) -> TriageRecord:
    values: dict[str, Any] = {
        "issue": ref,
        "input_hash": "h",
        "triage": a_triage(Report(ref.name, "Hang", "Watchdog")),
        "mode": "shadow",
        "outcome": "shadow",
        "reason": "mode",
        "would_post": f"**A hang.** {NASTY}",
        "would_label": ("hang",),
        "at": datetime.now(UTC),
        "title": NASTY,
    }
    return TriageRecord(**(values | changes))


def client_of(service: Service) -> httpx2.AsyncClient:
    app = make_app(service, surfaces(service))
    return httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app=app), base_url="http://127.0.0.1:8000", follow_redirects=True
    )


@asynccontextmanager
async def on_a_socket(service: Service) -> AsyncIterator[int]:
    config = uvicorn.Config(
        make_app(service, surfaces(service)), host="127.0.0.1", port=0, log_level="critical", lifespan="off"
    )
    server = uvicorn.Server(config)
    running = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


def link(service: Service, installation: int | None = None, seconds: float = 60) -> str:
    return SignIn.of(service.settings).link(service.settings.public_url, seconds, installation)


async def signed_in(client: httpx2.AsyncClient, service: Service, installation: int | None = None) -> str:
    """The list, after signing in by link."""
    return (await client.get(link(service, installation))).text


async def opened_triage(client: httpx2.AsyncClient, number: int = 1) -> str:
    """The page of one triage."""
    return (await client.get(f"/triages/{number}")).text


def words_of(html: str) -> str:
    """What a page says, without its markup."""
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def forms(html: str) -> list[dict[str, str]]:
    """The hidden fields with each label that one click gives."""
    found = []
    for form in re.findall(r'<form method="post".*?</form>', html, re.S):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
        found += [
            {name: unescape(v) for name, v in {**fields, "label": label}.items()}
            for label in re.findall(r'<button name="label" value="([^"]*)"', form)
        ]
    return found


def test_nobody_gets_in_without_a_valid_link(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            forged = SignIn("another secret").link(service.settings.public_url, 60)
            answers = [
                await client.get(path) for path in ("/", link(service, seconds=-1), forged, "/sign-in")
            ]
            assert [a.status_code for a in answers] == [401, 403, 403, 403]
            assert all("octo/train" not in a.text for a in answers)
            client.cookies.set("distriage", "forged")
            assert (await client.get("/")).status_code == 401
            refused = await client.post(
                "/corrections", data={"triage": 1, "axis": "x", "label": "y", "form_token": "z"}
            )
            assert refused.status_code == 403

    asyncio.run(go())


@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b"])
def test_no_body_is_read_before_the_sign_in(opened: OpenService, kind: str) -> None:
    head = f"POST /corrections HTTP/1.1\r\nhost: bot\r\ncontent-type: {kind}\r\ncontent-length: 1000000000\r\n\r\n"

    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, on_a_socket(service) as port:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head.encode() + b"--b")
            # The rest never comes, and is not waited for.
            assert b" 403 " in await asyncio.wait_for(reader.readline(), 5)
            writer.close()
            await writer.wait_closed()

    asyncio.run(go())


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"form_token=" + b"x" * 10_000, "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a%d=1" % n for n in range(50)), "application/x-www-form-urlencoded", 400),
        (b"--b\r\n\r\nx\r\n--b--", "multipart/form-data; boundary=b", 400),
        (b"triage=1&axis=symptom&label=B.2", "application/x-www-form-urlencoded", 403),
        (b"triage=1&form_token=\xff", "application/x-www-form-urlencoded", 400),
    ],
    ids=["large", "many fields", "multipart", "no token", "no text"],
)
def test_a_form_that_is_not_ours_is_refused(opened: OpenService, body: bytes, kind: str, status: int) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            await client.get(link(service))
            answer = await client.post("/corrections", content=body, headers={"content-type": kind})
            assert answer.status_code == status
            assert PostgresStore(service.threads).corrections(issue(1)) == []

    asyncio.run(go())


def test_the_cookie_lives_as_long_as_the_link(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            answer = await client.get(link(service, seconds=600), follow_redirects=False)
            found = re.search(r"Max-Age=(\d+)", answer.headers["set-cookie"])
            assert found is not None
            assert 590 <= int(found[1]) <= 600
            assert "expires" not in answer.headers["set-cookie"].lower()

    asyncio.run(go())


@pytest.mark.parametrize("query", ["installation=abc", "before=0", "corrected=perhaps", "outcome=x&repo=y"])
def test_a_filter_that_the_page_does_not_have_is_told_in_words(opened: OpenService, query: str) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            await client.get(link(service))
            for path in ("/", "/triages/1", "/triages/1/issue", "/weeks"):
                answer = await client.get(f"{path}?{query}")
                assert answer.status_code == 422
                assert answer.headers["content-type"].startswith("text/html")
                assert "filter" in answer.text

    asyncio.run(go())


def test_links_lead_to_the_host_that_the_api_belongs_to(opened: OpenService) -> None:
    async def go() -> None:
        own = {"github_api_url": "https://git.example.org/api/v3/"}
        async with opened(admin_secret=SECRET, **own) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            await signed_in(client, service)
            page = await opened_triage(client)
            assert 'href="https://git.example.org/octo/train/issues/1"' in page
            assert "https://github.com/" not in page

    asyncio.run(go())


def test_a_correction_of_a_report_without_a_quoted_line_holds_its_title(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            bare = a_triage(Report("octo/train#1", "Hang", ""))
            bare = bare.model_copy(update={"evidence": bare.evidence.model_copy(update={"lines": []})})
            PostgresStore(service.threads).save_triage(record(issue(1), triage=bare, title="It hangs"))
            await signed_in(client, service)
            await client.post("/corrections", data=forms(await opened_triage(client))[0])
            [given] = GivenTables(service.threads).every()
            assert (given.title, given.body) == ("It hangs", "It hangs")

    asyncio.run(go())


def test_the_page_shows_what_would_be_posted_with_everything_escaped(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            await signed_in(client, service)
            for path in ("/", "/triages/1"):
                page = await client.get(path)
                assert page.status_code == 200
                assert "octo/train#1" in page.text
                assert "&lt;script&gt;alert(1)" in page.text
                assert "<script>" not in page.text
                assert "<img" not in page.text
                policy = page.headers["content-security-policy"]
                assert "default-src 'none'" in policy
                assert "unsafe" not in policy

    asyncio.run(go())


def test_a_link_for_one_installation_shows_and_corrects_only_that_one(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service:
            store = PostgresStore(service.threads)
            store.save_triage(record(issue(1)))
            store.save_triage(record(issue(2, installation=8, repo="secret/repo")))
            async with client_of(service) as owner:
                assert "secret/repo#2" in await signed_in(owner, service)
                theirs = forms(await opened_triage(owner, 2))[0]
            async with client_of(service) as client:
                mine = await signed_in(client, service, 7)
                assert "octo/train#1" in mine
                assert "secret/repo" not in mine
                for path in ("/?installation=8", "/weeks?installation=8", "/triages/1"):
                    assert "secret/repo" not in (await client.get(path)).text
                for path in ("/triages/2", "/triages/2/issue", "/triages/2?installation=8"):
                    assert (await client.get(path)).status_code == 404
                token = forms(await opened_triage(client))[0]["form_token"]
                refused = await client.post("/corrections", data={**theirs, "form_token": token})
            assert refused.status_code == 404
            assert store.corrections(issue(2, installation=8)) == []

    asyncio.run(go())


def test_one_click_stores_a_correction_and_a_second_axis_adds_to_it(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            store.save_triage(record(issue(1)))
            await signed_in(client, service)
            by_axis = {form["axis"]: form for form in reversed(forms(await opened_triage(client)))}
            for axis in ("symptom", "cause"):
                answer = await client.post("/corrections", data=by_axis[axis])
                assert answer.status_code == 200
            (correction,) = store.corrections(issue(1))
            assert correction.labels == {"symptom": ("D.2.1",), "cause": ("network_environment",)}
            assert (correction.comment_id, correction.by) == (-1, "maintainers' page")
            assert "✓ D.2.1" in answer.text

    asyncio.run(go())


def test_a_form_from_another_site_is_refused(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            store.save_triage(record(issue(1)))
            await signed_in(client, service)
            form = forms(await opened_triage(client))[0]
            for token in ("", "0" * 64, "é"):
                answer = await client.post("/corrections", data={**form, "form_token": token})
                assert answer.status_code in {403, 422}
            assert store.corrections(issue(1)) == []

    asyncio.run(go())


def test_filters_narrow_the_list_and_pages_turn(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            for number in range(1, 61):
                quiet: dict[str, Any] = {"outcome": "silent", "would_post": ""} if number % 3 == 0 else {}
                store.save_triage(record(issue(number), **quiet))
            store.save_triage(record(issue(30), outcome="written"))
            await signed_in(client, service)

            async def page(query: str) -> str:
                return (await client.get(f"/?{query}")).text

            async def numbers(query: str) -> list[int]:
                return [int(n) for n in re.findall(r"<b>octo/train#(\d+)</b>", await page(query))]

            first = await page("")
            older = re.search(r'href="/\?([^"]*)" rel="next"', first)
            assert older is not None
            assert await numbers("") == [30, *range(60, 30, -1), *range(29, 10, -1)]
            # What is triaged in the meantime moves no row from one page to the other.
            store.save_triage(record(issue(99)))
            assert await numbers(unescape(older[1])) == list(range(10, 0, -1))
            assert await numbers("outcome=posted") == [30]
            assert len(await numbers("outcome=silent")) == 19
            assert len(await numbers("outcome=would_post")) == 41
            assert await numbers("symptom=B.2") == []
            assert await numbers("repo=other/repo") == []
            assert await numbers("corrected=yes") == []
            assert await numbers("draft=yes") == []
            for hostile in ("repo=%00", "before=9", "installation=x", "symptom=%F0%9F%98%80", "before=9.9"):
                assert (await client.get(f"/?{hostile}")).status_code in {200, 422}

    asyncio.run(go())


def test_a_triage_leads_to_its_neighbours_within_the_filters(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            for number in range(1, 6):
                store.save_triage(record(issue(number), outcome="written" if number % 2 else "shadow"))
            await signed_in(client, service)
            page = (await client.get("/triages/3?outcome=posted")).text
            assert 'href="/triages/5?outcome=posted" rel="prev"' in page
            assert 'href="/triages/1?outcome=posted" rel="next"' in page
            assert 'href="/?outcome=posted"' in page
            newest = await opened_triage(client, 5)
            assert 'rel="prev"' not in newest
            assert 'href="/triages/4" rel="next"' in newest
            store.save_triage(record(issue(3)))
            assert 'href="/triages/6">There is a newer triage' in await opened_triage(client, 3)

    asyncio.run(go())


def test_an_address_of_no_triage_is_answered_in_words(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            await signed_in(client, service)
            for path in ("/triages/7", "/triages/x", "/triages/-1", f"/triages/{'9' * 30}", "/static/x.js"):
                answer = await client.get(path)
                assert answer.status_code == 404
                assert answer.headers["content-type"].startswith("text/html")

    asyncio.run(go())


def test_noise_and_accuracy_are_counted_by_week(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            now = datetime.now(UTC)
            for number in range(1, 5):
                store.save_triage(record(issue(number)))
                store.save_comment_note(issue(number), CommentNote(number, now))
            store.save_dismissal(Dismissal(issue(1), "ada", "command", now))
            await signed_in(client, service)
            for number, label in ((2, "D.2.1"), (3, "B.2")):
                offered = forms(await opened_triage(client, number))
                [form] = [f for f in offered if (f["axis"], f["label"]) == ("symptom", label)]
                await client.post("/corrections", data=form)
            words = words_of((await client.get("/weeks")).text)
            assert "Precision 50% (1 of 2 judged labels)" in words
            assert "Noise 25% (1 of 4 comments)" in words
            assert "Silence 0% (0 of 4 triages)" in words
            monday = (now - timedelta(days=now.weekday())).date()
            assert f"Week of {monday}: 1 of 2 judged labels (50%)" in words
            assert f"Week of {monday - timedelta(weeks=1)}: 0 of 0 judged labels" in words
            assert "No delivery of these weeks is stored." in words
            assert "Nothing was spent on an LLM in these weeks." in words

    asyncio.run(go())


def test_corrections_from_slack_are_shown_counted_and_exported(opened: OpenService, tmp_path: Path) -> None:
    async def go() -> str:
        async with opened(admin_secret=SECRET) as service:
            slack, store = SlackStore(service.threads), PostgresStore(service.threads)
            now = datetime.now(UTC)
            triage = a_triage(Report("slack:s1", "", "It hangs"))
            slack.save_triage(SlackTriage("s1", "T1", "U1", "C1", "It <b>hangs</b>", (), triage, now))
            right = triage.symptom.answer[0]
            for n, (axis, label) in enumerate(
                [("symptom", right), ("cause", "hardware"), ("symptom", "B.2")]
            ):
                at = now + timedelta(seconds=n)
                clicked: Any = {axis: (label,)}
                slack.save_correction(
                    SlackCorrection(f"c{n}", "T1", "s1", f"U{n}", clicked, "It <b>hangs</b>", at)
                )
            store.save_triage(record(issue(3)))
            labels: Any = {"symptom": ("A.2",), "fix": ("network",)}
            store.save_correction(Correction(issue(3), 99, "ada", now, labels, "Import fails", "No module"))
            async with client_of(service) as client:
                await signed_in(client, service)
                html = (await client.get("/weeks")).text
                assert "Corrected in Slack" in html
                assert "It &lt;b&gt;hangs&lt;/b&gt;" in html
                assert "symptom <strong>B.2</strong>" in html
                assert "U0, U1, U2" in html
                assert "(2 of 5 judged labels)" in words_of(html), "Slack's three among them"
            async with client_of(service) as client:
                await signed_in(client, service, 7)
                html = (await client.get("/weeks")).text
                assert "Corrected in Slack" not in html
                assert "of 2 judged labels)" in words_of(html)
            return "\n".join(json.dumps(g.as_record()) for g in GivenTables(service.threads).every())

    lines = asyncio.run(go())
    file = tmp_path / "given.jsonl"
    file.write_text(lines)
    [github, slack] = load_cases_of(file)
    assert (github.id, github.title, github.labels.stage) == ("octo/train#3", "Import fails", ["A"])
    assert github.url == "https://github.com/octo/train/issues/3"
    assert (slack.id, slack.labels.symptom, slack.body) == ("slack:s1", ["B.2"], "It <b>hangs</b>")
    assert slack.label_source.startswith("corrected by U0, U1, U2 (")


def load_cases_of(file: Path) -> list[Case]:
    reading = read_cases([file])
    assert [str(problem) for problem in reading.problems] == []
    return list(reading.cases)


def test_a_comment_that_the_gate_refused_says_which_rules_it_broke(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service:
            refused = record(
                issue(1),
                outcome="silent",
                reason="gate_refused",
                would_post="",
                detail=("raw HTML", "reference link"),
            )
            PostgresStore(service.threads).save_triage(refused)
            async with client_of(service) as client:
                await signed_in(client, service)
                html = await opened_triage(client)
            assert "The gate refused the comment: raw HTML; reference link" in html

    asyncio.run(go())


def test_what_was_asked_for_and_how_an_issue_ended_is_shown(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store, ref, at = PostgresStore(service.threads), issue(1), datetime(2026, 5, 3, tzinfo=UTC)
            store.save_triage(record(ref))
            asked = Request("log", "Please post the log.", "h", at)
            store.save_request(ref, replace(asked, state="arrived", ended_at=at + timedelta(days=1)))
            store.save_request(ref, replace(asked, item="stacks", ask="Please post the stacks."))
            end = Resolution(
                at, "not_planned", "maria", "6dcb09b5b57875", "octo/train#5", NASTY, "ada", "author"
            )
            store.save_resolution(ref, end)
            await signed_in(client, service)
            page = await opened_triage(client)
            assert NASTY not in page
            words = " ".join(unescape(re.sub(r"<(?:p|li|/?time)\b[^>]*>", "", page)).split())
            assert "2026-05-03 Asked: Please post the log. Arrived on 2026-05-04." in words
            assert "2026-05-03 Asked: Please post the stacks. Still missing." in words
            ended = "Closed by maria (not planned) · pull request octo/train#5 · commit 6dcb09b5b5"
            assert f"2026-05-03 {ended} · ada (author): {NASTY}" in words

    asyncio.run(go())


def a_draft(ref: IssueRef) -> TriageRecord:
    told = [
        AnswerSentence(text="Rank 3 never joined.", role="what", lines=[1], confidence=0.9),
        AnswerSentence(text="Compare the stacks.", role="check", confidence=0.9),
    ]
    drafted = WrittenAnswer(sentences=told, verified=True, model="acme-7b")
    return record(ref, triage=a_triage(Report(ref.name, "Hang", "Watchdog"), answer=drafted))


def test_a_draft_is_edited_and_posted_or_rejected_on_the_page(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store, ref = PostgresStore(service.threads), issue(1)
            store.save_triage(a_draft(ref))
            assert ">Draft<" in await signed_in(client, service)
            page = await opened_triage(client)
            assert "Rank 3 never joined." in page
            fields = next(
                dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
                for form in re.findall(r'<form method="post" action="/drafts".*?</form>', page, re.S)
            )

            async def decide(decision: str, text: str = "", **more: str) -> int:
                data = {**fields, "decision": decision, "text": text, **more}
                return (await client.post("/drafts", data=data, follow_redirects=False)).status_code

            assert await decide("post", "A line.\n" * 13) == 422
            assert await decide("post", "") == 422
            assert await decide("post", "Fine.", triage="999") == 404
            assert await decide("post", "Fine.", form_token="forged") == 403
            assert store.draft_decision(ref, "h") is None
            edited = "Rank 3 never joined.\r\nCompare the stacks of ranks 2 and 3."
            assert await decide("post", edited) == 303
            kept = store.draft_decision(ref, "h")
            assert kept is not None
            assert kept.sentences == ("Rank 3 never joined.", "Compare the stacks of ranks 2 and 3.")
            note = store.comment_note(ref)
            assert note is not None and note.state == "live"
            store.save_comment_note(ref, replace(note, state="dismissed"))
            assert "<strong>Posted.</strong>" in await opened_triage(client)
            assert ">Draft<" not in (await client.get("/")).text
            assert await decide("reject") == 303
            note = store.comment_note(ref)
            assert note is not None and note.state == "dismissed", "to reject a draft calls no comment back"
            assert "<strong>Rejected.</strong>" in await opened_triage(client)
            queued = service.threads
            with queued.connection() as connection:
                rows = connection.execute("SELECT action FROM deliveries").fetchall()
            assert rows == [("decided",), ("decided",)]

    asyncio.run(go())


def test_a_draft_of_another_installation_is_not_decided(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            store.save_triage(a_draft(issue(1)))
            store.save_triage(a_draft(issue(1, installation=8, repo="other/train")))
            await signed_in(client, service, 7)
            page = await opened_triage(client)
            token = re.search(r'name="form_token" value="([^"]*)"', page)
            assert token is not None
            statuses = [
                (
                    await client.post(
                        "/drafts",
                        data={
                            "form_token": token.group(1),
                            "triage": str(n),
                            "decision": "post",
                            "text": "Yes.",
                        },
                        follow_redirects=False,
                    )
                ).status_code
                for n in (1, 2)
            ]
            assert statuses == [303, 404]

    asyncio.run(go())


def votes_on(html: str) -> list[dict[str, str]]:
    """The hidden fields of each form that asks whether something is right."""
    found = re.findall(r'<form method="post" action="/votes".*?</form>', html, re.S)
    hidden = [re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form) for form in found]
    return [{name: unescape(value) for name, value in fields} for fields in hidden]


def test_a_maintainer_says_which_labels_and_earlier_issues_are_right(opened: OpenService) -> None:
    label = SuggestedLabel(label="module: <b>", p=0.97, line=3, text=NASTY, tested=20, right=19)
    earlier = EarlierReport(
        id="octo/train#3", url="", title="Hang", why=["same error line"], is_open=True, ended="still open"
    )
    triage = a_triage(Report("octo/train#1", "Hang", "Watchdog"), own_labels=[label], same_failure=[earlier])

    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1), triage=triage))
            key = PostgresHistory(service.threads).begin("octo/train", "words", 700, 7).key
            tables = LabelTables(service.threads)
            await client.get(link(service))
            page = await client.get("/triages/1")
            assert "right on 19 of 20 earlier issues" in page.text and NASTY not in page.text
            same, own = votes_on(page.text)
            assert (same["kind"], same["subject"]) == ("same", "octo/train#3")
            assert (own["kind"], own["subject"]) == ("label", "module: <b>")
            page = await client.post("/votes", data={**own, "agrees": "no"})
            assert page.text.count("✓ Wrong") == 1
            page = await client.post("/votes", data={**own, "agrees": "yes"})
            page = await client.post("/votes", data={**same, "agrees": "no"})
            assert (page.text.count("✓ Right"), page.text.count("✓ Wrong")) == (1, 1)
            [vote] = tables.votes(key, "label")
            assert (vote.id, vote.subject, vote.role, vote.agrees) == ("1", "module: <b>", "maintainer", True)
            [vote] = tables.votes(key, "same")
            assert (vote.id, vote.subject, vote.agrees) == ("1", "3", False)
            page = await client.post("/votes", data={**same, "undo": "1"})
            assert (page.text.count("✓ Right"), page.text.count("✓ Wrong")) == (1, 0)
            assert tables.votes(key, "same") == []
            for wrong in ({"subject": "other"}, {"kind": "both"}, {"agrees": "maybe"}, {"triage": "99"}):
                assert (
                    await client.post("/votes", data={**own, "agrees": "yes", **wrong})
                ).status_code == 404
            config = RepoConfig(labels={"symptom": {"D.2.1": "hang", "B.2": "setup"}})
            PostgresStore(service.threads).save_config(700, ConfigCache(None, config.model_dump_json()))
            clicked = {**own, "axis": "symptom", "label": "B.2"}
            await client.post("/corrections", data=clicked)
            told = {v.subject: v.agrees for v in tables.votes(key, "label") if v.subject != "module: <b>"}
            assert told == {"hang": False, "setup": True}, "a corrected axis speaks of the labels it sets"
            # What ada wrote on GitHub stays when the page's click is undone, as does what was said of a label itself.
            written = Correction(
                issue(1), 55, "ada", datetime(2026, 1, 2, tzinfo=UTC), {"symptom": ("D.2.1",)}, "t", "b"
            )
            PostgresStore(service.threads).save_correction(written)
            await client.post("/corrections", data={**clicked, "undo": "1"})
            left = {(v.subject, v.by, v.agrees) for v in tables.votes(key, "label")}
            assert left == {("module: <b>", BY, True), ("hang", "ada", True), ("setup", "ada", False)}
            forged = {**own, "agrees": "yes", "form_token": "x"}
            assert (await client.post("/votes", data=forged)).status_code == 403

    asyncio.run(go())


def test_what_a_correction_says_of_a_label_holds_again_after_a_vote_is_taken_back(
    opened: OpenService,
) -> None:
    label = SuggestedLabel(label="hang", p=0.97, line=3, text="Watchdog", tested=20, right=19)
    triage = a_triage(Report("octo/train#1", "Hang", "Watchdog"), own_labels=[label])

    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            store.save_triage(record(issue(1), triage=triage))
            PostgresHistory(service.threads).begin("octo/train", "words", 700, 7)
            config = RepoConfig(labels={"symptom": {"D.2.1": "hang"}})
            store.save_config(700, ConfigCache(None, config.model_dump_json()))
            await client.get(link(service))
            [own] = votes_on((await client.get("/triages/1")).text)

            async def said(path: str, **more: str) -> list[str]:
                html = (await client.post(path, data={**own, **more})).text
                form = html[html.index('action="/votes"') :].partition("</form>")[0]
                return re.findall(r"✓ \w+|Undo", form)

            assert await said("/corrections", axis="symptom", label="D.2.1") == ["✓ Right"]
            assert await said("/votes", agrees="no") == ["✓ Wrong", "Undo"]
            assert await said("/votes", undo="1") == ["✓ Right"], "the correction's, which is undone as such"
            assert await said("/corrections", axis="symptom", undo="1") == []

    asyncio.run(go())
