"""What the LLM may cost, by every ledger."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.db.connect import sync_pool, upgrade
from bot.db.llm_ledger import FileLedger, PostgresLedger
from bot.github.records import IssueRef, RepoRef, TriageRecord
from bot.github.store.postgres import PostgresStore
from knowledge.report import Report
from knowledge.triage import SecondReading
from llm.budget import EVERYWHERE, Ledger, MemoryLedger, within_budget
from llm.faults import BudgetSpent, LedgerDown, ServerError
from llm.values import ChatRequest, LlmConfig, Tokens
from tests.bot.fake_core import a_triage
from tests.bot.service.databases import fresh_database, running_server

DAY = "2026-01-31"
CONFIG = LlmConfig(
    "http://x", "m", daily_budget=1.0, repository_daily_budget=0.5, price_output=1000.0, max_output=200
)
ASKED = ChatRequest("reader", "", "", {}, "k")
WORST = 0.2
"""Dollars of one call at its worst: 200 tokens at 1000 dollars a million."""


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    with running_server() as url:
        yield url


@pytest.fixture(params=["memory", "file", "postgres"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Ledger]:
    if request.param == "memory":
        yield MemoryLedger()
    elif request.param == "file":
        yield FileLedger(tmp_path / "new" / "spending.sqlite")
    else:
        with fresh_database(request.getfixturevalue("server_url")) as url:
            yield PostgresLedger(url)


def call(ledger: Ledger, scope: str, tokens: Tokens, day: str = DAY) -> None:
    with within_budget(CONFIG, ledger, day, scope, ASKED) as bill:
        bill.tokens = tokens


def test_what_a_call_did_not_use_is_given_back(ledger: Ledger) -> None:
    call(ledger, "acme/train", Tokens(5, 50))
    assert ledger.spent(DAY, EVERYWHERE) == pytest.approx(0.05)
    assert ledger.spent(DAY, "acme/train") == pytest.approx(0.05)


def test_the_repository_s_budget_ends_before_the_installation_s(ledger: Ledger) -> None:
    for _ in range(2):
        call(ledger, "acme/train", Tokens(0, 200))
    with pytest.raises(BudgetSpent):
        call(ledger, "acme/train", Tokens(0, 200))
    call(ledger, "acme/other", Tokens(0, 200))
    assert ledger.spent(DAY, EVERYWHERE) == pytest.approx(3 * WORST)
    assert ledger.spent(DAY, "acme/train") == pytest.approx(2 * WORST)


def test_the_installation_s_budget_holds_for_all(ledger: Ledger) -> None:
    for n in range(5):
        call(ledger, f"acme/{n}", Tokens(0, 200))
    with pytest.raises(BudgetSpent):
        call(ledger, "", Tokens(0, 200))


def test_the_next_day_starts_anew(ledger: Ledger) -> None:
    call(ledger, "acme/train", Tokens(0, 500))
    with pytest.raises(BudgetSpent):
        call(ledger, "acme/train", Tokens())
    call(ledger, "acme/train", Tokens(), day="2026-02-01")


def test_a_fault_costs_what_its_bill_says(ledger: Ledger) -> None:
    with pytest.raises(ServerError), within_budget(CONFIG, ledger, DAY, "", ASKED) as bill:
        bill.tokens = Tokens()
        raise ServerError
    assert ledger.spent(DAY, EVERYWHERE) == pytest.approx(0)


def test_without_limits_spending_is_still_counted(ledger: Ledger) -> None:
    unlimited = replace(CONFIG, daily_budget=None, repository_daily_budget=None)
    with within_budget(unlimited, ledger, DAY, "", ASKED) as bill:
        bill.tokens = Tokens(0, 10_000)
    assert ledger.spent(DAY, EVERYWHERE) == pytest.approx(10)


def test_processes_beside_each_other_do_not_overspend(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from bot.db.llm_ledger import FileLedger;"
        "l = FileLedger(Path(sys.argv[1]));"
        "print(sum(l.reserve('2026-01-31', {'': 1.0}, 0.1) for _ in range(10)))"
    )
    args = [sys.executable, "-c", code, str(tmp_path / "s.sqlite")]
    running = [subprocess.Popen(args, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    granted = [int(process.communicate()[0]) for process in running]
    assert sum(granted) == 10


def test_threads_beside_each_other_do_not_overspend(ledger: Ledger) -> None:
    """Of either budget, the day's and the repository's, in every ledger."""
    limits = {EVERYWHERE: 1.0, "a/b": 0.5}
    with ThreadPoolExecutor(6) as pool:
        granted = list(pool.map(lambda _: ledger.reserve(DAY, limits, 0.125), range(12)))
    assert sum(granted) == 4
    assert ledger.spent(DAY, EVERYWHERE) == ledger.spent(DAY, "a/b") == pytest.approx(0.5)


def test_what_a_triage_took_is_stored_with_it(server_url: str) -> None:
    ref = IssueRef(7, RepoRef(11, "octo/train"), 1)
    note = SecondReading(
        used=True, duties=["reader"], model="m", tokens_in=1200, tokens_out=300, cost=0.0042, seconds=2.5
    )
    record = TriageRecord(
        issue=ref,
        input_hash="h",
        triage=a_triage(Report("octo/train#1", "Hang", "It hangs."), second_reading=note),
        mode="comment",
        outcome="written",
        reason="new",
        would_post="text",
        would_label=(),
        at=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
        title="Hang",
    )
    with fresh_database(server_url) as url:
        upgrade(url)
        with sync_pool(url, 2) as pool:
            PostgresStore(pool).save_triage(record)
            found = PostgresStore(pool).last_triage(ref)
    assert found is not None and found.triage.second_reading == note


def test_a_ledger_that_cannot_be_opened_means_that_nothing_is_spent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no database, but long enough to be read as one" * 50)
    with pytest.raises(LedgerDown):
        FileLedger(tmp_path / "file").reserve(DAY, {"": 1.0}, 0.1)
    with pytest.raises(LedgerDown):
        PostgresLedger("postgresql://nobody@127.0.0.1:9/none").reserve(DAY, {"": 1.0}, 0.1)
    PostgresLedger("postgresql://nobody@127.0.0.1:9/none").settle(DAY, ("",), 0.1)
