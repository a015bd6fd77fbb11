"""`bot forget`: nothing of the repository is left, and everything of the others."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import psycopg
import pytest
from typer.testing import CliRunner

from bot.cli.app import app
from bot.db.forget import forget
from bot.db.llm_ledger import FileLedger, forget_spending
from bot.github.records import (
    ConfigCache,
    Correction,
    Dismissal,
    IssueRef,
    PastedResult,
    RepoRef,
)
from bot.github.store.postgres import PostgresStore
from bot.jobs.queue import NewDelivery
from bot.settings import Settings
from knowledge.errors import InputError
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_store import a_record

OF_NO_REPOSITORY = {
    "migrations",
    "deliveries",  # by its payload
    "llm_spending",  # by its scope
    "commands_done",  # by its comment
    "page_sessions",  # over within the hour
    "installations",
    "content_writes",
    "slack_installations",
    "slack_triages",
    "slack_results",
    "slack_corrections",
    "slack_calls",
    "slack_sends",
    "slack_reply_uses",
}
"""Tables without a column of a repository: nothing of one in them, or cleared as said."""
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def fill(opened: OpenService, *repos: RepoRef) -> None:
    async def go() -> None:
        async with opened() as service:
            store = PostgresStore(service.threads)
            for repo in repos:
                issue = IssueRef(7, repo, 12)
                store.save_repos(7, [repo], [])
                store.save_config(repo.id, ConfigCache("e", "mode: both", None, None))
                store.set_repo_on(repo.id, False, "ada", NOW)
                store.save_triage(replace(a_record(), issue=issue))
                store.save_correction(
                    Correction(issue, repo.id * 10, "ada", NOW, {"symptom": ("D.2.1",)}, "Hang", "It hangs.")
                )
                store.mark_command(repo.id * 10, "digest")
                store.save_result(issue, PastedResult(repo.id * 10 + 1, "ada", True, "result"), NOW)
                store.save_dismissal(Dismissal(issue, "ada", "reaction", NOW, True))
                payload = {
                    "repository": {"id": repo.id, "full_name": repo.full_name},
                    "issue": {"number": 12},
                }
                await service.accept(
                    NewDelivery(f"d{repo.id}", "github", "issues", "opened", "l", None, payload)
                )
            with service.threads.connection() as connection:
                for scope in ("", *(repo.full_name for repo in repos)):
                    connection.execute(
                        "INSERT INTO llm_spending VALUES (%s, %s, 1) ON CONFLICT DO NOTHING",
                        (date.today(), scope),
                    )

    asyncio.run(go())


def rows(url: str) -> dict[str, int]:
    """Table to number of rows, of those that hold any."""
    with psycopg.connect(url) as connection:
        tables = [
            name
            for (name,) in connection.execute(
                "SELECT table_name::text FROM information_schema.tables WHERE table_schema = 'public'"
                " AND table_type = 'BASE TABLE' AND table_name NOT LIKE 'procrastinate%'"
            )
        ]
        counts = {
            name: connection.execute(f"SELECT count(*) FROM {name}".encode()).fetchone() for name in tables
        }
    return {name: count[0] for name, count in counts.items() if count and count[0]}


def test_nothing_is_left_of_it_and_all_of_the_others(database: str, opened: OpenService) -> None:
    ours, other = RepoRef(11, "Octo/Train"), RepoRef(12, "octo/train-2")
    fill(opened, other)
    before = rows(database)
    fill(opened, ours)
    counted = forget(database, "octo/train", really=False)
    assert rows(database) != before
    gone = forget(database, "octo/train", really=True)
    assert gone == counted
    assert {"triages", "corrections", "deliveries", "commands_done", "llm_spending"} <= set(gone)
    after = rows(database)
    assert after == before
    assert forget(database, "octo/train", really=True) == {}
    with psycopg.connect(database) as connection:
        jobs = connection.execute("SELECT args ->> 'delivery_id' FROM procrastinate_jobs").fetchall()
    assert jobs == [("d12",)]


def test_rows_under_a_former_name_go_too(database: str, opened: OpenService) -> None:
    fill(opened, RepoRef(11, "octo/old"))
    renamed = RepoRef(11, "octo/new")

    async def rename() -> None:
        async with opened() as service:
            PostgresStore(service.threads).save_repos(7, [renamed], [])

    asyncio.run(rename())
    forget(database, "octo/new", really=True)
    assert set(rows(database)) <= {"migrations", "llm_spending"}


def test_every_table_is_covered_or_known_to_hold_nothing_of_a_repository(database: str) -> None:
    with psycopg.connect(database) as connection:
        tables = {
            name
            for (name,) in connection.execute(
                "SELECT t.table_name::text FROM information_schema.tables AS t WHERE t.table_schema = 'public'"
                " AND t.table_type = 'BASE TABLE' AND t.table_name NOT LIKE 'procrastinate%'"
                " AND NOT EXISTS (SELECT 1 FROM information_schema.columns AS c WHERE c.table_name = t.table_name"
                "   AND c.column_name IN ('repo_id', 'repo_name', 'full_name'))"
            )
        }
        cascading = {
            name
            for (name,) in connection.execute(
                "SELECT conrelid::regclass::text FROM pg_constraint WHERE contype = 'f' AND confdeltype = 'c'"
            )
        }
    assert tables - cascading <= OF_NO_REPOSITORY


@pytest.fixture
def runner(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("DISTRIAGE_DATABASE_URL", database)
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    return CliRunner()


def test_the_command_asks_first(runner: CliRunner, database: str, opened: OpenService) -> None:
    fill(opened, RepoRef(11, "octo/train"))
    before = rows(database)
    refused = runner.invoke(app, ["forget", "octo/train"], input="n\n")
    assert refused.exit_code == 1
    assert "1  triages" in refused.output
    assert rows(database) == before
    done = runner.invoke(app, ["forget", "octo/train"], input="y\n")
    assert done.exit_code == 0
    assert "deleted 11 rows about octo/train" in done.output
    assert "Nothing is stored about octo/train." in runner.invoke(app, ["forget", "octo/train"]).output
    assert "deleted 0 rows" in runner.invoke(app, ["forget", "--yes", "octo/train"]).output


@pytest.mark.parametrize("name", ["octo", "octo/", "a/b/c", "octo/train; DROP"])
def test_what_is_no_repository_is_refused(name: str) -> None:
    assert isinstance(CliRunner().invoke(app, ["forget", name]).exception, InputError)


def test_the_ledger_file_forgets_it_too(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path, database_url=None)
    assert forget_spending(settings, "octo/train") == 0
    ledger = FileLedger(tmp_path / "llm_spending.sqlite")
    today = date.today().isoformat()
    ledger.reserve(today, {"": None, "Octo/Train": None}, 2.0)
    assert forget_spending(settings, "octo/train") == 1
    assert (ledger.spent(today, ""), ledger.spent(today, "Octo/Train")) == (2.0, 0.0)
