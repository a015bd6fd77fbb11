"""`bot backfill`, `bot triage --repository`, `bot replay`: over a real database and the real engine."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import SecretStr

from bot.cli.operate import fill_from_file, fill_from_github, recording, replay_history
from bot.db.connect import sync_pool
from bot.history.records import Progress
from bot.history.replay.job import ReplayProcess
from bot.history.store import PostgresHistory
from bot.settings import Settings
from knowledge.errors import UserError
from tests.bot.fake_github import APP_ID, FakeGitHub, serve
from tests.bot.history.fake_past import NAME, FakePast, closed, node, pull
from tests.bot.history.test_github_past import CLOSED
from tests.conftest import CACHE
from tests.knowledge.history.test_told import BODY, TITLE
from tests.knowledge.history.tiny import AGAIN, OTHERS

ROOT = Path(__file__).parents[3]
REPO = "acme/train"


@pytest.fixture(scope="module")
def data_dir() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="dt-", dir="/tmp"))
    (folder / "cache").symlink_to(CACHE)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


def bot(data_dir: Path, *args: str, database: str = "") -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith("DISTRIAGE_")}
    if database:
        env["DISTRIAGE_DATABASE_URL"] = database
    return subprocess.run(
        [sys.executable, "-m", "bot", *args],
        cwd=ROOT,
        env={**env, "DISTRIAGE_DATA_DIR": str(data_dir)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_from_an_export_to_what_a_triage_says(data_dir: Path, tmp_path: Path, database: str) -> None:
    posts = [*(post for post in OTHERS if post.id != "2"), AGAIN]
    # Reports of other days, so that the failure's own words are as rare as they are in a tracker.
    filler = [
        {
            "id": str(100 + n),
            "opened": "2024-01-01",
            "title": f"Page {n} of the guide",
            "body": f"Word{n} and more{n}.",
        }
        for n in range(60)
    ]
    records = [
        {"id": p.id, "opened": p.opened.isoformat(), "title": p.title, "body": p.body, "state": "closed"}
        for p in posts
        if p.opened
    ]
    records[-1] |= {"duplicates": ["3"], "closed_by": "#1301", "released": "v0.9.2"}
    export = tmp_path / "export.jsonl"
    export.write_text("".join(json.dumps(r) + "\n" for r in [*filler, *records]))
    filled = bot(data_dir, "backfill", "--from", str(export), REPO, database=database)
    assert filled.returncode == 0, filled.stderr
    assert filled.stdout == f"{REPO}: 65 issues in its history\n"

    report = tmp_path / "report.md"
    report.write_text(f"# {AGAIN.title}\n\n{AGAIN.body}")
    triaged = bot(
        data_dir, "triage", "--format", "json", "--repository", REPO, str(report), database=database
    )
    assert triaged.returncode == 0, triaged.stderr
    [earlier] = json.loads(triaged.stdout)["same_failure"]
    assert earlier["id"] == f"{REPO}#6"
    assert earlier["ended"] == "closed by `#1301`, released in 0.9.2"
    assert "both raise `RuntimeError`" in earlier["why"]
    shown = bot(data_dir, "triage", "--repository", REPO, str(report), database=database).stdout
    assert "This looks like the same failure as" in shown and f"{REPO}#6" in shown
    assert "same failure" not in bot(data_dir, "triage", str(report), database=database).stdout

    unknown = bot(data_dir, "triage", "--repository", "acme/none", str(report), database=database)
    assert unknown.returncode == 2 and "bot backfill acme/none" in unknown.stderr

    replayed = bot(data_dir, "replay", REPO, database=database)
    assert "1 of 65 issues have an earlier one that people marked" in replayed.stdout
    assert "# Had distriage been on since January 1, 2024" in replayed.stdout
    later = bot(data_dir, "replay", REPO, "--since", "2024-01-02", "--comments", "0", database=database)
    assert "60 from before, too, could be named" in later.stdout, later.stdout

    for args in (["train"], [REPO, "--from", str(export), "--since", "2024-01-01"], [REPO]):
        refused = bot(data_dir, "backfill", *args, database=database)
        assert refused.returncode == 2, args
    assert "DISTRIAGE_GITHUB_APP_ID" in refused.stderr


def test_with_texts_kept_the_replay_quotes_as_the_comment_does(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    export = tmp_path / "export.jsonl"
    export.write_text(json.dumps({"id": "5", "opened": "2024-05-01", "title": TITLE, "body": BODY}) + "\n")
    settings = Settings(data_dir=CACHE.parent, database_url=SecretStr(database), keep_texts=True)
    assert fill_from_file(settings, REPO, export, 0, lambda progress: None, again=False) == 1
    quote = "line 5: torch.distributed.DistNetworkError: The server socket has failed to listen"
    assert quote in replay_history(settings, REPO, None, 10, fit=False)
    without = settings.model_copy(update={"keep_texts": False})
    bare = replay_history(without, REPO, None, 10, fit=False)
    assert "This looks like a known failure" in bare and "line 5" not in bare

    monkeypatch.setenv("DISTRIAGE_DATA_DIR", str(CACHE.parent))
    monkeypatch.setenv("DISTRIAGE_KEEP_TEXTS", "true")
    with sync_pool(database, 1) as pool:
        store = PostgresHistory(pool)
        repo = store.find(REPO)
        assert repo is not None
        ReplayProcess(database)(repo)
        made = store.kept_replay(repo.key)
        assert made is not None
        [comment] = made[1]["comments"]
        assert quote in comment["text"] and comment["quoted"]
        store.forget_texts()
        assert store.kept_replay(repo.key) is None


def test_from_github_through_the_app_with_releases_and_without_a_write(database: str) -> None:
    state = FakeGitHub()
    state.repo(NAME)
    past = FakePast(
        [node(n, post.title, post.body) for n, post in enumerate(OTHERS, 1)], releases=[("v1.1", 5)]
    )
    past.issues[1] |= {**CLOSED, "timelineItems": {"nodes": [closed(pull(77))]}}
    past.holds = {"v1.1": {"a" * 40}}
    state.graphql = past
    ticks: list[Progress] = []
    with serve(state) as url:
        settings = Settings(
            data_dir=CACHE.parent,
            database_url=SecretStr(database),
            github_app_id=APP_ID,
            github_private_key=SecretStr(state.private_key),
            github_api_url=url,
        )
        assert fill_from_github(settings, NAME, None, 0, ticks.append, again=False) == 5
        assert fill_from_github(settings, NAME, None, 0, ticks.append, again=True) == 5
        with pytest.raises(UserError, match="not installed on acme/none"):
            fill_from_github(settings, "acme/none", None, 0, ticks.append, again=False)
    with sync_pool(database, 1) as pool:
        store = PostgresHistory(pool)
        repo = store.find(NAME, state.repo(NAME).id)
        assert repo is not None
        outcome = store.issues(repo.key, ["2"])["2"].outcome
        assert (outcome.closed_by, outcome.released) == ("#77", "v1.1")
        assert store.forget(installation_id=1) == 1
    assert ticks[-1].read == 5
    assert state.writes() == []


def test_several_processes_read_the_same() -> None:
    settings = Settings(data_dir=CACHE.parent, triage_processes=2)
    with recording(settings) as together:
        several = together.records([*OTHERS, AGAIN])
    with recording(settings.model_copy(update={"triage_processes": 1})) as alone:
        one = alone.records([*OTHERS, AGAIN])
    assert several.encoder == one.encoder
    assert [r.to_json() for r in several.records] == [r.to_json() for r in one.records]
