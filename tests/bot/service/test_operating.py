"""Settings, documents, health, metrics, logs, commands, doctor."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import re
import socket
import stat
import subprocess
import sys
from pathlib import Path

import httpx2
import psycopg
import pytest
import structlog
import typer
from pydantic import SecretStr
from typer.testing import CliRunner

from bot.cli.service import register_service
from bot.db.deliveries import Deliveries
from bot.github.store.postgres import PostgresStore
from bot.jobs.queue import NewDelivery
from bot.jobs.runner import where
from bot.runtime.generated_secret import generated_secret
from bot.runtime.logs import configure_logs
from bot.runtime.metrics import GAUGES, LlmMetrics, Metrics
from bot.serve.processes import banner
from bot.serve.web_app import make_app
from bot.settings import PREFIX, Settings, load_settings, unknown_settings, unknown_variables
from knowledge.errors import SettingsError, UserError
from tests.bot.fake_github import FakeGitHub
from tests.bot.service.conftest import OpenService
from tests.bot.service.test_store import a_record

DOCS = (Path(__file__).parents[3] / "docs" / "operating.md").read_text(encoding="utf-8")
LLM_DOCS = (Path(__file__).parents[3] / "docs" / "llm.md").read_text(encoding="utf-8")
PEM = FakeGitHub().private_key


def service_cli() -> typer.Typer:
    app = typer.Typer()
    register_service(app)
    return app


@pytest.mark.parametrize("name", sorted(Settings.model_fields))
def test_every_setting_is_described_and_documented(name: str) -> None:
    assert Settings.model_fields[name].description
    assert f"`{PREFIX}{name.upper()}`" in DOCS


def test_every_metric_is_documented() -> None:
    metrics = Metrics()
    LlmMetrics(metrics.work)
    families = [family.name for part in (metrics.registry, metrics.work) for family in part.collect()]
    assert {"distriage_webhooks", "distriage_delivery_seconds", "distriage_llm_seconds"} <= set(families)
    for name in (*GAUGES, *families):
        told = DOCS + (LLM_DOCS if name.startswith("distriage_llm_") else "")
        assert re.search(rf"`{name}(_total)?[`{{]", told), name


def test_every_command_is_documented() -> None:
    commands = typer.main.get_command(service_cli()).commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        inner = getattr(command, "commands", {"": None})
        for sub in inner:
            assert f"`bot {name}{' ' + sub if sub else ''}" in DOCS


@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({"LLM_MODEL": "m"}, "DISTRIAGE_LLM_BASE_URL"),
        ({"GITHUB_PRIVATE_KEY": "k", "GITHUB_PRIVATE_KEY_FILE": "f"}, "Unset one of them."),
        ({"SLACK_CLIENT_ID": "i"}, "DISTRIAGE_SLACK_CLIENT_SECRET"),
        (
            {"SLACK_CLIENT_ID": "i", "SLACK_CLIENT_SECRET": "s", "SLACK_BOT_TOKEN": "t"},
            "DISTRIAGE_SLACK_BOT_TOKEN",
        ),
        ({"GITHUB_APP_ID": "s3cret"}, "DISTRIAGE_GITHUB_APP_ID"),
        ({"WORKER_CONCURRENCY": "0"}, "DISTRIAGE_WORKER_CONCURRENCY"),
    ],
)
def test_a_wrong_setting_names_the_variable_and_not_its_value(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], told: str
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    assert told in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_secrets_are_split_and_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISTRIAGE_GITHUB_WEBHOOK_SECRET", " one, two,,")
    settings = load_settings()
    assert settings.webhook_secrets == (b"one", b"two")
    assert " one, two" not in repr(settings)


def test_the_private_key_comes_from_text_or_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Settings().read_private_key() is None
    monkeypatch.setenv("DISTRIAGE_GITHUB_PRIVATE_KEY", PEM.replace("\n", "\\n"))
    assert load_settings().read_private_key() == PEM
    monkeypatch.delenv("DISTRIAGE_GITHUB_PRIVATE_KEY")
    file = tmp_path / "app.pem"
    monkeypatch.setenv("DISTRIAGE_GITHUB_PRIVATE_KEY_FILE", str(file))
    with pytest.raises(SettingsError, match="Can't read"):
        load_settings().read_private_key()
    for text in ("no key", "-----BEGIN RSA PRIVATE KEY-----\nx\n-----END RSA PRIVATE KEY-----\n", PEM[:-80]):
        file.write_text(text)
        with pytest.raises(SettingsError, match="isn't a PEM key"):
            load_settings().read_private_key()
    file.write_text(PEM)
    assert load_settings().read_private_key() == PEM


def test_a_generated_secret_stays_the_same_and_is_its_owners(tmp_path: Path) -> None:
    first = generated_secret(tmp_path / "new", "admin")
    assert len(first) >= 32
    assert generated_secret(tmp_path / "new", "admin") == first
    assert generated_secret(tmp_path / "new", "other") != first
    assert {stat.S_IMODE(f.stat().st_mode) for f in (tmp_path / "new").iterdir()} == {0o600}


def test_health_readiness_and_metrics_tell_the_state(opened: OpenService) -> None:
    async def go() -> None:
        async with opened() as service:
            PostgresStore(service.threads).save_triage(a_record())
            PostgresStore(service.threads).take_writes(7, 3, a_record().at.now().astimezone())
            await service.accept(NewDelivery("d1", "github", "issues", "opened", "l", None, {}))
            transport = httpx2.ASGITransport(app=make_app(service))
            async with httpx2.AsyncClient(transport=transport, base_url="http://bot") as client:
                assert (await client.get("/healthz")).json() == {"status": "ok"}
                ready = await client.get("/readyz")
                assert ready.status_code == 200
                assert ready.json()["mode"] == "shadow"
                assert ready.json()["missing"] == [
                    "DISTRIAGE_GITHUB_APP_ID",
                    "DISTRIAGE_GITHUB_PRIVATE_KEY or DISTRIAGE_GITHUB_PRIVATE_KEY_FILE",
                ]
                lines = (await client.get("/metrics")).text.splitlines()
                for line in (
                    'distriage_deliveries{state="queued"} 1.0',
                    'distriage_queue_depth{status="todo"} 1.0',
                    'distriage_triages{outcome="written"} 1.0',
                    'distriage_github_writes_left{installation="7",window="minute"} 77.0',
                    'distriage_github_writes_left{installation="7",window="hour"} 497.0',
                ):
                    assert line in lines
                for gauge in GAUGES:
                    assert f"# TYPE {gauge} gauge" in lines
                with psycopg.connect(service.url) as connection:
                    connection.execute("DELETE FROM migrations WHERE name = '0002_github.sql'")
                behind = await client.get("/readyz")
                assert behind.status_code == 503
                assert "bot db upgrade" in behind.json()["problems"][0]

    asyncio.run(go())


def test_logs_are_json_lines_without_messages_of_exceptions() -> None:
    stream = io.StringIO()
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        configure_logs("INFO", stream)
        with structlog.contextvars.bound_contextvars(delivery="d1"):
            structlog.get_logger("ours").info("delivery done", outcome="written")
        try:
            raise ValueError("text of a report")
        except ValueError as error:
            logging.getLogger("theirs").exception("it broke")
            assert "test_operating.py" in where(error)
            assert "text of a report" not in where(error)
    finally:
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)
        structlog.reset_defaults()
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["delivery"], first["outcome"]) == ("delivery done", "d1", "written")
    assert (second["event"], second["exception"]) == ("it broke", "ValueError")
    assert "text of a report" not in stream.getvalue()


@pytest.fixture
def runner(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CliRunner:
    monkeypatch.setenv("DISTRIAGE_DATABASE_URL", database)
    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(tmp_path))
    return CliRunner()


def test_an_operator_lists_shows_and_retries_deliveries(runner: CliRunner, opened: OpenService) -> None:
    async def fill() -> None:
        async with opened() as service:
            for n in (1, 2):
                await service.accept(NewDelivery(f"d{n}", "github", "issues", "opened", "l", None, {"n": n}))
            with service.threads.connection() as connection:
                connection.execute(
                    "UPDATE deliveries SET state = 'dead', error = 'ValueError: x\nwhere' WHERE id = 'd1'"
                )
                Deliveries(service.threads).finish("d2", "silent", "gate_refused", ["raw HTML"])
                connection.execute("DELETE FROM procrastinate_jobs")

    asyncio.run(fill())
    app = service_cli()
    assert [line.split()[0] for line in runner.invoke(app, ["deliveries", "list"]).output.splitlines()] == [
        "d2",
        "d1",
    ]
    dead = runner.invoke(app, ["deliveries", "list", "--state", "dead"]).output
    assert "d1" in dead
    assert "ValueError: x" in dead
    assert "d2" not in dead
    shown = runner.invoke(app, ["deliveries", "show", "d1"]).output
    assert "where" in shown
    assert '"n": 1' in shown
    refused = runner.invoke(app, ["deliveries", "show", "d2"]).output
    assert "silent (gate_refused)" in refused
    assert "the gate refused the comment: raw HTML" in refused
    assert isinstance(runner.invoke(app, ["deliveries", "show", "d9"]).exception, UserError)
    assert isinstance(runner.invoke(app, ["deliveries", "retry", "d2"]).exception, UserError)
    assert "requeued 1" in runner.invoke(app, ["deliveries", "retry", "all"]).output
    assert "d1" in runner.invoke(app, ["deliveries", "list", "--state", "queued"]).output


def test_upgrade_and_link_from_the_command_line(runner: CliRunner) -> None:
    app = service_cli()
    assert "up to date" in runner.invoke(app, ["db", "upgrade"]).output
    link = runner.invoke(app, ["admin", "link", "--hours", "1"]).stdout
    assert link.startswith("http://127.0.0.1:8000/sign-in?token=")


def test_the_address_that_a_link_assumes_is_named(runner: CliRunner, monkeypatch: pytest.MonkeyPatch) -> None:
    assumed = runner.invoke(service_cli(), ["admin", "link"])
    assert "DISTRIAGE_PUBLIC_URL is not set; assuming http://127.0.0.1:8000" in assumed.stderr
    monkeypatch.setenv("DISTRIAGE_PUBLIC_URL", "https://triage.example.org")
    known = runner.invoke(service_cli(), ["admin", "link"])
    assert known.stdout.startswith("https://triage.example.org/sign-in?token=")
    assert known.stderr == ""


def test_deliveries_are_listed_with_repository_and_issue(runner: CliRunner, opened: OpenService) -> None:
    payload = {"repository": {"full_name": "octo/train"}, "issue": {"number": 12}}

    async def fill() -> None:
        async with opened() as service:
            await service.accept(NewDelivery("d1", "github", "issues", "opened", "l", None, payload))
            await service.accept(NewDelivery("d2", "slack", "triage", None, "m", None, {"kind": "triage"}))

    asyncio.run(fill())
    second, first = runner.invoke(service_cli(), ["deliveries", "list"]).output.splitlines()
    assert "octo/train#12" in first
    assert "  -  " in second


def test_a_misspelt_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DISTRIAGE_GITHUB_APPID", "1")
    monkeypatch.setenv("DISTRIAGE_GITHUB_APP_ID", "1")
    assert unknown_variables() == ["DISTRIAGE_GITHUB_APPID"]


def test_the_setting_that_was_meant_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DISTRIAGE_GITHUB_APPID", "1")
    monkeypatch.setenv("DISTRIAGE_XYZ", "1")
    assert unknown_settings() == [
        "DISTRIAGE_GITHUB_APPID is not a setting and has no effect; did you mean DISTRIAGE_GITHUB_APP_ID?",
        "DISTRIAGE_XYZ is not a setting and has no effect",
    ]


def test_a_person_who_starts_the_service_sees_where_it_is_and_what_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("DISTRIAGE_GITHUB_APPID", "1")
    said = banner(Settings(metrics_port=9100), "127.0.0.1", 8123, worker=False)
    for part in (
        "http://127.0.0.1:8123/",
        "bot admin link",
        "shadow: triages are stored, nothing is written to GitHub",
        "DISTRIAGE_GITHUB_WEBHOOK_SECRET",
        "http://127.0.0.1:9100/metrics",
        "`bot worker`",
        "did you mean DISTRIAGE_GITHUB_APP_ID?",
    ):
        assert part in said
    live = Settings(github_webhook_secret=SecretStr("s"), github_app_id=1, github_private_key=SecretStr(PEM))
    said = banner(live, "127.0.0.1", 8123, worker=True)
    assert "mode     live" in said
    assert "missing" not in said
    assert "bot worker" not in said


@pytest.mark.parametrize("metrics", [False, True])
def test_a_port_in_use_ends_in_one_line(database: str, port: int, tmp_path: Path, metrics: bool) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        number = str(taken.getsockname()[1])
        given = {"DISTRIAGE_METRICS_PORT": number} if metrics else {}
        done = subprocess.run(
            [sys.executable, "-m", "bot", "serve", "--web-only", "--port", str(port) if metrics else number],
            capture_output=True,
            env={
                **os.environ,
                "DISTRIAGE_DATABASE_URL": database,
                "DISTRIAGE_DATA_DIR": str(tmp_path),
                "DISTRIAGE_LOG_LEVEL": "ERROR",
                **given,
            },
            cwd=Path(__file__).parents[3],
            check=False,
        )
    (line,) = done.stderr.decode().strip().splitlines()
    assert done.returncode == 2
    assert line.startswith(f"bot: Can't listen on 127.0.0.1:{number}: address already in use.")


def test_asyncio_repeats_itself_seldom() -> None:
    stream = io.StringIO()
    handlers, level = logging.getLogger().handlers[:], logging.getLogger().level
    try:
        configure_logs("INFO", stream)
        for n in range(1000):
            logging.getLogger("asyncio").error("socket.accept() out of system resource\nsocket: %d", n)
        logging.getLogger("asyncio").error("something else")
    finally:
        logging.getLogger().handlers[:] = handlers
        logging.getLogger().setLevel(level)
        logging.getLogger("asyncio").filters.clear()
        structlog.reset_defaults()
    assert len(stream.getvalue().splitlines()) == 2


def test_a_database_that_does_not_answer_is_the_users_to_mend(
    runner: CliRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISTRIAGE_DATABASE_URL", "postgresql://u:hunter2@127.0.0.1:1/none")
    error = runner.invoke(service_cli(), ["db", "upgrade"]).exception
    assert isinstance(error, SettingsError)
    assert "hunter2" not in str(error)
    assert "DISTRIAGE_DATABASE_URL" in str(error)
