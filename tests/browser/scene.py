"""An inbox as a project might have it after some weeks: reports that we invented, triaged by the product itself.

`python -m tests.browser.scene` renders the pictures of the README from it (needs Chromium).
"""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import uvicorn
import yaml
from psycopg.types.json import Jsonb
from pydantic import SecretStr

from bot.github.offline import simulate
from bot.github.records import (
    CommentNote,
    Correction,
    Dismissal,
    IssueRef,
    LabelFact,
    RepoRef,
    Request,
    TriageRecord,
)
from bot.github.routes import new_delivery
from bot.github.store.postgres import PostgresStore
from bot.history.replay.job import keep_replay
from bot.history.waves import follow as follow_waves
from bot.page.sign_in import SignIn
from bot.runtime.core import NamedCore
from bot.runtime.resources import Service, open_service
from bot.serve.compose import surfaces
from bot.serve.web_app import make_app
from bot.settings import Settings
from knowledge.engine import Knowledge, load_knowledge, triage
from knowledge.report import Report
from knowledge.triage import AnswerSentence, Triage, WrittenAnswer
from tests.bot.service.databases import fresh_database, running_server
from tests.bot.service.test_page import NASTY
from tests.bot.service.test_tracker_page import filled, noted
from tests.browser.chromium import open_page
from tests.conftest import CACHE

COMMENTED = 50
"""Number of the triage whose comment is the picture of one."""
REPOS = (RepoRef(11, "octo/train"), RepoRef(12, "octo/recipes"))
INSTALLATION = 7
CONFIG = "mode: comment\ncomment_on: claims\nlabels:\n  symptom:\n    D.2.1: hang\n    D.1.2: out of memory\n"

REPORTS: list[dict[str, Any]] = yaml.safe_load(Path(__file__).with_name("scene.yaml").read_text("utf-8"))
"""Each with a body and its titles."""


def triaged(knowledge: Knowledge) -> dict[str, tuple[Triage, str, str, tuple[str, ...]]]:
    """By title: its triage, the comment ("" for none), why, and labels, as the product decides."""

    class Core:
        def triage(self, report: Report) -> Triage:
            return triage(report, knowledge)

    core = NamedCore(Core(), knowledge.taxonomy)
    found = {}
    for report in REPORTS:
        for title in report["titles"]:
            body = report["body"]
            said = simulate(payload(IssueRef(INSTALLATION, REPOS[0], 1), title, body), core, CONFIG)
            read = Report("octo/train#1", title, body)
            found[title] = (core.triage(read), said.comment, said.reason, said.labels)
    return found


def payload(ref: IssueRef, title: str, body: str) -> dict[str, Any]:
    """The webhook of an opened issue."""
    return {
        "action": "opened",
        "installation": {"id": ref.installation_id},
        "repository": {"id": ref.repo.id, "full_name": ref.repo.full_name},
        "sender": {"login": "sam", "type": "User"},
        "issue": {"number": ref.number, "title": title, "body": body, "user": {"login": "sam", "type": "User"},
                  "state": "open", "created_at": "2026-03-01T10:00:00Z"},
    }  # fmt: skip


def fill(service: Service, knowledge: Knowledge, count: int = 50) -> None:
    """`count` issues, the newest of a few minutes ago, with comments, corrections and what followed."""
    store, dice, now = PostgresStore(service.threads), random.Random(5), datetime.now(UTC)
    made = triaged(knowledge)
    titles = [(title, report["body"]) for report in REPORTS for title in report["titles"]]
    dice.shuffle(titles)
    for n in range(count):
        title, body = titles[n % len(titles)]
        found, comment, reason, labels = made[title]
        ref = IssueRef(INSTALLATION, REPOS[n % 5 == 3], 400 + n)
        at = now - timedelta(minutes=12) - timedelta(hours=(count - 1 - n) * 1500 / count)
        record = TriageRecord(
            issue=ref,
            input_hash=f"h{n}",
            triage=with_draft(found) if n == count - 4 else found,
            mode="comment",
            outcome="written" if comment else "silent",
            reason="created" if comment else reason,
            would_post=comment,
            would_label=labels,
            at=at,
            title=title,
        )
        store.save_triage(record)
        deliver(service, ref, title, body, at, dice.lognormvariate(0.6, 0.6))
        if comment:
            store.save_comment_note(ref, CommentNote(9000 + n, at))
            for label in labels:
                store.save_label_fact(LabelFact(ref, label, True, "distriage[bot]", True, at))
        judge(store, record, n, dice)
    spend(service, now)


def with_draft(found: Triage) -> Triage:
    """The triage with an answer that waits for a decision."""
    said: list[tuple[str, Literal["what", "check", "fix"]]] = [
        ("The ranks do not fail together: one of them is behind by a collective.", "what"),
        ("Compare the stacks of all ranks while the job hangs.", "check"),
    ]
    told = [AnswerSentence(text=text, role=role, lines=[4], confidence=0.8) for text, role in said]
    return found.model_copy(update={"answer": WrittenAnswer(sentences=told, verified=True, model="local-8b")})


def deliver(service: Service, ref: IssueRef, title: str, body: str, at: datetime, seconds: float) -> None:
    """The webhook that brought the issue, and how long its work took."""
    new = new_delivery(f"d{ref.number}", "issues", payload(ref, title, body), keep_text=True)
    assert new is not None
    with service.threads.connection() as connection:
        connection.execute(
            "INSERT INTO deliveries (id, source, event, action, lock, payload, state, outcome, reason, received_at,"
            " finished_at) VALUES (%s, 'github', 'issues', 'opened', %s, %s, 'done', 'written', '', %s, %s)",
            (new.id, new.lock, Jsonb(new.payload), at, at + timedelta(seconds=seconds)),
        )


def judge(store: PostgresStore, record: TriageRecord, n: int, dice: random.Random) -> None:
    """What people did about some of them."""
    ref, after = record.issue, record.at + timedelta(minutes=7)
    symptom = record.triage.symptom.answer[:1]
    if n % 3 == 0 and symptom:
        right = dice.random() < 0.85
        labels: Any = {"symptom": tuple(symptom) if right else ("B.2",)}
        store.save_correction(Correction(ref, 7000 + n, "maria", after, labels, record.title, ""))
    if n % 11 == 4 and record.would_post:
        store.save_dismissal(Dismissal(ref, "lee", "reaction", after, by_maintainer=True))
    if record.reason == "missing_only" or "hang" in record.would_label:
        asked = Request("stacks", "Please post the stacks of all ranks.", record.input_hash, record.at)
        store.save_request(ref, asked if n % 2 else replace(asked, state="arrived", ended_at=after))


def fill_tracker(service: Service, database: str) -> None:
    """A wave, what fails most, a history with a replay, and one that is half read."""
    for n in range(40):
        noted(service, 100 + n, 4 + 2 * n)
    for n in range(1, 6):
        tables = noted(service, n, 1, keys=("failure:nccl-watchdog-collective-timeout",), title=NASTY)
    follow_waves(tables, 4, datetime.now(UTC))
    keep_replay(database, filled(service, through="2026-11-02T00:00:00", began="2026-11-02T00:00:00"))
    filled(service, 8, "octo/other", source="github", cursor="c", read=50, total=400)


def spend(service: Service, now: datetime) -> None:
    """What the LLM cost."""
    with service.threads.connection() as connection:
        for n in range(60):
            connection.execute(
                "INSERT INTO llm_spending VALUES (%s, '', %s)",
                ((now - timedelta(days=n)).date(), 0.02 + n % 7 / 50),
            )


@contextmanager
def running(knowledge: Knowledge, extra: Sequence[TriageRecord] = ()) -> Iterator[Settings]:
    """The real application on a real socket and a database of its own, with the scene and `extra` triages."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = int(one.getsockname()[1])
    settings = Settings(admin_secret=SecretStr("browser"), public_url=f"http://127.0.0.1:{port}")
    started, stopping = threading.Event(), threading.Event()

    async def go(database: str) -> None:
        async with open_service(settings, database) as service:
            fill(service, knowledge, 60)
            await asyncio.to_thread(fill_tracker, service, database)
            for record in extra:
                PostgresStore(service.threads).save_triage(record)
            app = make_app(service, surfaces(service))
            server = uvicorn.Server(uvicorn.Config(app, port=port, log_config=None, lifespan="off"))
            task = asyncio.create_task(server.serve())
            while not server.started:
                await asyncio.sleep(0.01)
            started.set()
            while not stopping.is_set():
                await asyncio.sleep(0.05)
            server.should_exit = True
            await task

    with running_server() as url, fresh_database(url) as database:
        thread = threading.Thread(target=lambda: asyncio.run(go(database)))
        thread.start()
        assert started.wait(120)
        try:
            yield settings
        finally:
            stopping.set()
            thread.join(20)


def pictures(folder: Path, knowledge: Knowledge) -> None:
    """The pictures of the README: the list, and a comment as the page renders it."""
    with running(knowledge) as settings, open_page() as page:
        page.see(1060, 420)
        page.go(SignIn.of(settings).link(settings.public_url, 600))
        page.until("document.querySelectorAll('.inbox tbody tr').length === 50")
        page.key("j")
        (folder / "page.png").write_bytes(page.picture())
        page.see(1240, 2000)
        page.go(f"{settings.public_url}/triages/{COMMENTED}")
        box = page.value(
            "(() => { const r = document.querySelector('.comment').getBoundingClientRect();"
            " return [r.x, r.y, r.width, r.height]; })()"
        )
        (folder / "comment.png").write_bytes(page.picture(box))


if __name__ == "__main__":
    docs = Path(__file__).parents[2] / "docs" / "img"
    docs.mkdir(exist_ok=True)
    pictures(docs, load_knowledge(None, CACHE))
