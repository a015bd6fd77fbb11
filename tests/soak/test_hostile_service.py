"""The corpus through the running service: no secret in database, log, comment or LLM request; nothing lost."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from bot.gate.markdown import MAX_CHARS
from bot.http.body import BODY_LIMIT
from knowledge.findings.failure import load_catalogue
from tests.bot.fake_github import BOT, FakeComment
from tests.bot.live import live
from tests.hostile.corpus import Hostile, corpus
from tests.soak.hostile_service import Run, served_corpus

pytestmark = pytest.mark.timeout(900)
SECRETS = [report for report in corpus() if report.secret]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return served_corpus(tmp_path_factory.mktemp("hostile"))


def comments(run: Run, report: Hostile) -> list[FakeComment]:
    return [c for c in run.issues[report.id].comments if c.user["login"] == BOT]


def links(body: str) -> frozenset[str]:
    """What the comment may link to: threads through GitHub's redirect, and the catalogue's own sources."""
    parts = body.split("](https://redirect.github.com/")[1:]
    threads = {"https://redirect.github.com/" + part.partition(")")[0] for part in parts}
    return frozenset(threads | {source for entry in load_catalogue().values() for source in entry.sources})


def test_every_report_ends_as_one_comment_that_is_inert(run: Run) -> None:
    counts = {report.id: len(comments(run, report)) for report in corpus()}
    assert {id_: n for id_, n in counts.items() if n != 1} == {}
    # A sweep may take over a delivery that still waits.
    assert {run.ended[f"a-{report.id}"][0] for report in corpus()} <= {"done", "superseded"}
    bodies = {report.id: comments(run, report)[0].body for report in corpus()}
    assert {id_: hits for id_, body in bodies.items() if (hits := live(body, links(body)))} == {}
    assert max(map(len, bodies.values())) <= MAX_CHARS


def test_only_what_is_too_large_for_a_webhook_is_refused_and_the_rest_is_triaged(run: Run) -> None:
    large = {r.id for r in corpus() if len(json.dumps(r.body, ensure_ascii=False).encode()) > BODY_LIMIT}
    assert large
    assert {id_ for id_, status in run.statuses.items() if status == 413} == large
    ended = Counter(run.ended[f"b-{r.id}"] for r in corpus() if r.id not in large)
    assert ended == {("done", "shadow", "shadow"): len(corpus()) - len(large)}


@pytest.mark.parametrize("place", ["database", "log", "comment", "llm"])
def test_no_secret_is_left_anywhere(run: Run, place: str) -> None:
    texts = {
        "database": run.rows,
        "log": [run.log],
        "comment": [c.body for report in corpus() for c in comments(run, report)],
        "llm": run.asked,
    }[place]
    assert sum(map(len, texts)) > 10_000
    everything = "\n".join(texts)
    assert [report.id for report in SECRETS if report.secret in everything] == []


def test_the_llm_was_asked_about_most_of_them(run: Run) -> None:
    assert len(run.asked) > len(corpus())


def test_with_credentials_the_deliveries_hold_no_text_and_the_log_none_at_all(run: Run) -> None:
    told = [row for row in run.rows if row.startswith("(a-") and "Watchdog" in row]
    assert told == []
    assert "Watchdog" not in run.log
    assert "mallory" not in run.log
