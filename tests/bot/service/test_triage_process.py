"""The core in a process of its own: answers, errors, crashes, hangs."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil  # type: ignore[import-untyped]
import pytest

from bot.ports import CoreDown, CoreFailed, Recorded
from bot.runtime.triage_pool import TriagePool
from knowledge.history.record import Post
from knowledge.report import Report
from knowledge.triage import Triage
from tests.bot.fake_core import a_triage
from tests.bot.history.memory_history import TinyRecorder
from tests.knowledge.history.tiny import AGAIN


class OddCore:
    """Does what the title says."""

    def triage(self, report: Report) -> Triage:
        print("a library prints to standard output")
        if report.title == "raise":
            raise ValueError(f"text of a report: {report.body}")
        if report.title == "crash":
            os._exit(1)
        if report.title == "hang":
            time.sleep(60)
        return a_triage(report)

    def records(self, posts: Sequence[Post], triaged: bool = False) -> Recorded:
        if any(post.title == "raise" for post in posts):
            raise ValueError("text of a report")
        return TinyRecorder("triaged" if triaged else "whole").records(posts)


def odd_core() -> OddCore:
    return OddCore()


def broken_core() -> OddCore:
    raise RuntimeError("no model")


def slow_core() -> OddCore:
    time.sleep(60)
    return OddCore()


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[TriagePool]:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    pool = TriagePool(f"{__name__}:odd_core", timeout=8.0)
    yield pool
    pool.close()


def test_records_come_back_as_the_core_made_them(pool: TriagePool) -> None:
    posts = [AGAIN, replace(AGAIN, id="7", opened=None, body="a\0b")]
    found, wanted = pool.records(posts), TinyRecorder().records(posts)
    assert (found.encoder, pool.records([], triaged=True).encoder) == ("whole", "triaged")
    for one, other in zip(found.records, wanted.records, strict=True):
        assert one.to_json() == other.to_json()
        assert np.array_equal(one.vectors, other.vectors)
    with pytest.raises(CoreFailed, match="ValueError in the core"):
        pool.records([replace(AGAIN, title="raise")])


def test_a_triage_comes_back_as_the_core_made_it(pool: TriagePool) -> None:
    report = Report("x", "Hang é \U0001f600", "line\nline 2\u2028\0", notes=("12 bytes were not UTF-8",))
    assert pool.triage(report) == a_triage(report)


def test_an_error_of_the_core_says_where_without_text_of_the_report(pool: TriagePool) -> None:
    with pytest.raises(CoreFailed, match="ValueError in the core") as caught:
        pool.triage(Report("x", "raise", "s3cret"))
    assert "s3cret" not in str(caught.value)
    assert "test_triage_process.py" in str(caught.value)
    assert pool.triage(Report("x", "fine", "")).id == "x"


@pytest.mark.parametrize("title", ["crash", pytest.param("hang", marks=pytest.mark.long)])
def test_a_report_that_kills_the_core_costs_one_process(pool: TriagePool, title: str) -> None:
    with pytest.raises(CoreFailed, match="died or hung"):
        pool.triage(Report("x", title, ""))
    assert pool.triage(Report("x", "fine", "")).id == "x"


def test_a_core_that_cannot_be_made_fails_each_triage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    pool = TriagePool(f"{__name__}:broken_core")
    for _ in range(2):
        with pytest.raises(CoreDown):
            pool.triage(Report("x", "fine", ""))
    pool.close()


def test_the_pool_says_whether_its_core_has_loaded(pool: TriagePool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert pool.state() == "loading"
    pool.triage(Report("x", "fine", ""))
    assert pool.state() == "ready"
    with pytest.raises(CoreFailed):
        pool.triage(Report("x", "crash", ""))
    assert pool.state() == "failed"
    pool.triage(Report("x", "fine", ""))
    assert pool.state() == "ready"
    broken = TriagePool(f"{__name__}:broken_core")
    with pytest.raises(CoreFailed):
        broken.triage(Report("x", "fine", ""))
    assert broken.state() == "failed"
    broken.close()


def test_closing_ends_a_process_that_still_loads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    pool = TriagePool(f"{__name__}:slow_core")
    [child] = [c for c in psutil.Process().children() if "slow_core" in " ".join(c.cmdline())]
    pool.close()
    assert not child.is_running()
    with pytest.raises(CoreFailed, match="have been ended"):
        pool.triage(Report("x", "fine", ""))


def test_a_signal_to_the_group_leaves_a_triage_alone(pool: TriagePool) -> None:
    pool.triage(Report("x", "fine", ""))
    [child] = [c for c in psutil.Process().children() if "bot.runtime.triage_pool" in c.cmdline()]
    for number in (signal.SIGINT, signal.SIGTERM):
        child.send_signal(number)
    pool.triage(Report("x", "fine", ""))
    assert child.is_running()


class TellingCore:
    """Quotes the names of its variables."""

    def triage(self, report: Report) -> Triage:
        return a_triage(Report(report.id, "", " ".join(sorted(os.environ))))


def telling_core() -> TellingCore:
    return TellingCore()


def test_the_process_that_reads_reports_has_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))
    secrets = {
        "GITHUB_WEBHOOK_SECRET",
        "GITHUB_PRIVATE_KEY_FILE",
        "DATABASE_URL",
        "SLACK_BOT_TOKEN",
        "LLM_API_KEY",
    }
    for name in (*(f"DISTRIAGE_{secret}" for secret in secrets), "AWS_SECRET_ACCESS_KEY", "PGPASSWORD"):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", "/tmp")
    pool = TriagePool(f"{__name__}:telling_core")
    try:
        names = set(pool.triage(Report("x", "t", "b")).evidence.lines[0].text.split())
    finally:
        pool.close()
    assert {name for name in names if name.startswith("DISTRIAGE_")} == {"DISTRIAGE_DATA_DIR"}
    assert not {"AWS_SECRET_ACCESS_KEY", "PGPASSWORD"} & names
    assert "PATH" in names
