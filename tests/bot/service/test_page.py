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
from bot.github.store.given_labels import GivenTables
from bot.github.store.postgres import PostgresStore
from bot.history.label_store import LabelTables
from bot.history.store import PostgresHistory
from bot.page.sign_in import SignIn
from bot.runtime.resources import Service
from bot.serve.compose import surfaces
from bot.serve.web_app import make_app
from bot.slack.records import SlackCorrection, SlackTriage
from bot.slack.store import SlackStore
from knowledge.cases.case import Case
from knowledge.cases.file import read_cases
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


def forms(html: str) -> list[dict[str, str]]:
    """The hidden fields and the button of each correction form."""
    found = []
    for form in re.findall(r'<form method="post".*?</form>', html, re.S):
        fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', form))
        button = re.search(r'<button name="label" value="([^"]*)"', form)
        if button:
            found.append({name: unescape(v) for name, v in {**fields, "label": button.group(1)}.items()})
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


@pytest.mark.parametrize("query", ["installation=abc", "page=0", "corrected=perhaps", "page=x&repo=y"])
def test_a_filter_that_the_page_does_not_have_is_told_in_words(opened: OpenService, query: str) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            await client.get(link(service))
            answer = await client.get(f"/?{query}")
            assert answer.status_code == 422
            assert answer.headers["content-type"].startswith("text/html")
            assert "filter" in answer.text

    asyncio.run(go())


def test_links_lead_to_the_host_that_the_api_belongs_to(opened: OpenService) -> None:
    async def go() -> None:
        own = {"github_api_url": "https://git.example.org/api/v3/"}
        async with opened(admin_secret=SECRET, **own) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            page = (await client.get(link(service))).text
            assert 'href="https://git.example.org/octo/train/issues/1"' in page
            assert "https://github.com/" not in page

    asyncio.run(go())


def test_a_correction_of_a_report_without_a_quoted_line_holds_its_title(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            bare = a_triage(Report("octo/train#1", "Hang", ""))
            bare = bare.model_copy(update={"evidence": bare.evidence.model_copy(update={"lines": []})})
            PostgresStore(service.threads).save_triage(record(issue(1), triage=bare, title="It hangs"))
            page = (await client.get(link(service))).text
            await client.post("/corrections", data=forms(page)[0])
            [given] = GivenTables(service.threads).every()
            assert (given.title, given.body) == ("It hangs", "It hangs")

    asyncio.run(go())


def test_the_page_shows_what_would_be_posted_with_everything_escaped(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            PostgresStore(service.threads).save_triage(record(issue(1)))
            page = await client.get(link(service))
            assert page.status_code == 200
            assert "octo/train#1" in page.text
            assert "&lt;script&gt;alert(1)" in page.text
            assert "<script" not in page.text
            assert "<img" not in page.text
            assert "default-src 'none'" in page.headers["content-security-policy"]
            assert (await client.get("/page.css")).status_code == 200

    asyncio.run(go())


def test_a_link_for_one_installation_shows_and_corrects_only_that_one(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service:
            store = PostgresStore(service.threads)
            store.save_triage(record(issue(1)))
            store.save_triage(record(issue(2, installation=8, repo="secret/repo")))
            async with client_of(service) as owner:
                everything = (await owner.get(link(service))).text
            theirs = next(form for form in forms(everything) if form["triage"] == "2")
            async with client_of(service) as client:
                mine = (await client.get(link(service, installation=7))).text
                assert "octo/train#1" in mine
                assert "secret/repo" not in mine
                assert "secret/repo" not in (await client.get("/?installation=8")).text
                token = forms(mine)[0]["form_token"]
                refused = await client.post("/corrections", data={**theirs, "form_token": token})
            assert refused.status_code == 404
            assert store.corrections(issue(2, installation=8)) == []

    asyncio.run(go())


def test_one_click_stores_a_correction_and_a_second_axis_adds_to_it(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            store.save_triage(record(issue(1)))
            page = (await client.get(link(service))).text
            by_axis = {form["axis"]: form for form in reversed(forms(page))}
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
            form = forms((await client.get(link(service))).text)[0]
            for token in ("", "0" * 64, "é"):
                answer = await client.post("/corrections", data={**form, "form_token": token})
                assert answer.status_code in {403, 422}
            assert store.corrections(issue(1)) == []

    asyncio.run(go())


def test_filters_narrow_the_list_and_pages_turn(opened: OpenService) -> None:
    async def go() -> None:
        async with opened(admin_secret=SECRET) as service, client_of(service) as client:
            store = PostgresStore(service.threads)
            for number in range(1, 31):
                store.save_triage(record(issue(number), outcome="silent" if number % 3 == 0 else "shadow"))
            store.save_triage(record(issue(30), outcome="written"))
            await client.get(link(service))

            async def numbers(query: str) -> list[int]:
                text = (await client.get(f"/?{query}")).text
                return [int(n) for n in re.findall(r">octo/train#(\d+)</a>", text)]

            assert len(await numbers("")) == 25
            assert len(await numbers("page=2")) == 5
            assert await numbers("outcome=written") == [30]
            assert len(await numbers("outcome=silent")) == 9
            assert await numbers("symptom=B.2") == []
            assert await numbers("repo=other/repo") == []
            assert await numbers("corrected=yes") == []
            for hostile in ("repo=%00", "page=0", "installation=x", "symptom=%F0%9F%98%80", "page=99999"):
                assert (await client.get(f"/?{hostile}")).status_code in {200, 422}

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
            page = (await client.get(link(service))).text
            symptoms = [form for form in forms(page) if form["axis"] == "symptom"]
            right = next(form for form in symptoms if form["triage"] == "2" and form["label"] == "D.2.1")
            wrong = next(form for form in symptoms if form["triage"] == "3" and form["label"] == "B.2")
            for form in (right, wrong):
                text = (await client.post("/corrections", data=form)).text
            week = " ".join(
                re.sub(r"<[^>]+>", " ", text[text.index("<tbody>") : text.index("</tbody>")]).split()
            )
            assert week.endswith("4 4 1 of 4 2 1 of 2")

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
                html = (await client.get(link(service))).text
                assert "Corrected in Slack" in html
                assert "It &lt;b&gt;hangs&lt;/b&gt;" in html
                assert "symptom <strong>B.2</strong>" in html
                assert "U0, U1, U2" in html
                assert "2 of 5" in " ".join(html.split()), "of the judged axes, Slack's three among them"
            async with client_of(service) as client:
                assert "Corrected in Slack" not in (await client.get(link(service, installation=7))).text
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
                html = (await client.get(link(service))).text
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
            await client.get(link(service))
            page = (await client.get("/")).text
            assert NASTY not in page
            words = " ".join(unescape(re.sub(r"<(?:p|/?strong)\b[^>]*>", "", page)).split())
            assert "Asked on 2026-05-03: Please post the log. Arrived on 2026-05-04." in words
            assert "Asked on 2026-05-03: Please post the stacks. Still missing." in words
            assert (
                "Closed on 2026-05-03 by maria (not planned) · pull request octo/train#5 · commit 6dcb09b5b5"
                in words
            )
            assert f"ada (author): {NASTY}" in words

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
            page = (await client.get(link(service))).text
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
            assert note is not None and note.written
            assert "<strong>Posted.</strong>" in (await client.get("/")).text
            assert await decide("reject") == 303
            note = store.comment_note(ref)
            assert note is not None and not note.written
            assert "<strong>Rejected.</strong>" in (await client.get("/")).text
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
            page = (await client.get(link(service, installation=7))).text
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
            page = await client.get(link(service))
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
            forged = {**own, "agrees": "yes", "form_token": "x"}
            assert (await client.post("/votes", data=forged)).status_code == 403

    asyncio.run(go())
