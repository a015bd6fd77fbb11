"""Filling a history: from an export and from GitHub, page by page, what is known is not read again."""

from __future__ import annotations

import gzip
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bot.history.backfill import PAGE, Ahead, Export, Page, add_releases, fill
from bot.history.records import Forgotten, KeptIssue, Progress
from knowledge.errors import InputError, UserError
from tests.bot.history.fake_past import NAME, FakePast, closed, node, pull
from tests.bot.history.memory_history import MemoryHistory, TinyRecorder
from tests.bot.history.test_github_past import CLOSED, reader


def export(file: Path, *records: dict[str, Any]) -> Path:
    lines = "".join(json.dumps({"title": "t", "body": "b", **record}) + "\n" for record in records)
    if file.suffix == ".gz":
        file.write_bytes(gzip.compress(lines.encode()))
    else:
        file.write_text(lines)
    return file


def filled(store: MemoryHistory, file: Path, recorder: TinyRecorder | None = None, most: int = 0) -> Progress:
    repo = store.begin(NAME, "words", None, None)
    return fill(store, repo, Export(file, NAME, most), recorder or TinyRecorder())


def kept(store: MemoryHistory, id: str) -> KeptIssue:
    found = store.find(NAME)
    assert found is not None
    return store.issues(found.key, [id])[id]


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz"])
def test_an_export_is_kept_with_how_its_issues_ended(tmp_path: Path, name: str) -> None:
    store = MemoryHistory()
    file = export(
        tmp_path / name,
        {"id": "7", "opened": "2024-05-01", "state": "Resolved", "resolution": "Fixed", "duplicates": ["3"]},
        {"id": f"{NAME}#8", "state": "open", "duplicates": [f"{NAME}#7", "acme/other#1"]},
        {"id": "9", "state": "closed", "closed_by": "#10", "released": "v2", "closed": "2024-06-01"},
    )
    progress = filled(store, file)
    assert (progress.read, progress.total, progress.cursor) == (3, 3, "")
    seven, eight, nine = (kept(store, id).outcome for id in "789")
    assert (seven.is_open, seven.state, seven.reason, seven.duplicates) == (
        False,
        "Resolved",
        "Fixed",
        ("3",),
    )
    assert (eight.is_open, eight.duplicates) == (True, ("7", "acme/other#1"))
    assert (nine.closed_by, nine.released, nine.closed_at) == ("#10", "v2", datetime(2024, 6, 1, tzinfo=UTC))
    assert kept(store, "7").opened == datetime(2024, 5, 1, tzinfo=UTC)


def test_titles_are_redacted_and_bodies_are_not_kept(tmp_path: Path) -> None:
    store = MemoryHistory()
    token = "ghp_" + "a1B2" * 9
    filled(store, export(tmp_path / "x.jsonl", {"id": "1", "title": f"push {token}", "body": f"log {token}"}))
    issue = kept(store, "1")
    assert issue.record is not None
    assert token not in issue.title
    assert token.lower() not in json.dumps(issue.record.to_json()).lower()


def test_an_address_that_is_none_is_not_kept(tmp_path: Path) -> None:
    store = MemoryHistory()
    file = export(
        tmp_path / "x.jsonl",
        {"id": "1", "url": "javascript:alert(1)"},
        {"id": "2", "url": "https://tracker.example.org/2"},
    )
    filled(store, file)
    assert [kept(store, id).url for id in "12"] == ["", "https://tracker.example.org/2"]


def test_a_run_that_was_cut_off_goes_on_with_its_page(tmp_path: Path) -> None:
    store, recorder = MemoryHistory(), TinyRecorder()
    file = export(tmp_path / "x.jsonl", *({"id": str(n), "title": f"t{n}"} for n in range(PAGE * 3)))
    repo = store.begin(NAME, "words", None, None)

    def stop(progress: Progress) -> None:
        if progress.read == PAGE * 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fill(store, repo, Export(file, NAME), recorder, stop)
    assert store.count(repo.key) == PAGE * 2
    assert filled(store, file, recorder).read == PAGE * 3
    assert recorder.read == [str(n) for n in range(PAGE * 3)], "each once"
    filled(store, file, recorder)
    assert len(recorder.read) == PAGE * 3, "what is kept is not read again"


def test_a_changed_text_is_read_again_and_another_outcome_is_not(tmp_path: Path) -> None:
    store, recorder = MemoryHistory(), TinyRecorder()
    filled(store, export(tmp_path / "x.jsonl", {"id": "1"}, {"id": "2"}), recorder)
    changed = export(tmp_path / "y.jsonl", {"id": "1", "body": "new"}, {"id": "2", "state": "closed"})
    filled(store, changed, recorder)
    assert recorder.read == ["1", "2", "1"]
    assert not kept(store, "2").outcome.is_open


def test_no_more_than_asked(tmp_path: Path) -> None:
    store = MemoryHistory()
    file = export(tmp_path / "x.jsonl", *({"id": str(n)} for n in range(PAGE * 2)))
    assert filled(store, file, most=PAGE + 3).read == PAGE + 3
    assert store.count(1) == PAGE + 3


def test_a_bad_line_is_named_and_what_stands_before_it_is_kept(tmp_path: Path) -> None:
    store = MemoryHistory()
    file = export(tmp_path / "x.jsonl", *({"id": str(n)} for n in range(PAGE)))
    file.write_text(file.read_text() + "{}\n")
    with pytest.raises(InputError, match=f"line {PAGE + 1}"):
        filled(store, file)
    assert store.count(1) == PAGE
    with pytest.raises(InputError, match="Can't read"):
        Export(tmp_path / "none.jsonl", NAME)


def test_a_history_of_another_model_is_not_mixed(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a different model"):
        filled(MemoryHistory(), export(tmp_path / "x.jsonl", {"id": "1"}), TinyRecorder("new"))


def test_a_history_deleted_meanwhile_does_not_come_back() -> None:
    store = MemoryHistory()
    repo = store.begin(NAME, "words", 1, 7)
    past = FakePast([node(n) for n in range(1, PAGE * 2 + 1)])

    def uninstalled(progress: Progress) -> None:
        store.forget(installation_id=7)

    with pytest.raises(Forgotten):
        fill(store, repo, reader(past), TinyRecorder(), uninstalled)
    assert store.find(NAME) is None


def test_releases_are_added_where_one_holds_the_fix() -> None:
    store = MemoryHistory()
    issues = [node(n, **CLOSED, events=[closed(pull(n + 100, oid=str(n) * 40))]) for n in (1, 2)]
    past = FakePast(issues, releases=[("v1.1", 5)], holds={"v1.1": {"1" * 40}})
    repo = store.begin(NAME, "words", 1, 7)
    source = reader(past)
    fill(store, repo, source, TinyRecorder())
    add_releases(store, NAME, 1, source.first_holding)
    assert [kept(store, id).outcome.released for id in "12"] == ["v1.1", ""]
    assert [commit for commit, _ in store.unreleased(repo.key)] == ["2" * 40]
    add_releases(store, "acme/none", None, source.first_holding)


class Asked:
    """Three pages; notes which was asked for, and fails after them if told to."""

    def __init__(self, failure: Exception | None = None) -> None:
        self.asked = [threading.Event() for _ in range(4)]
        self._failure = failure

    def start(self, progress: Progress) -> Progress:
        return progress

    def pages(self, progress: Progress) -> Iterator[Page]:
        for n in range(3):
            self.asked[n].set()
            yield Page((), Progress(read=n))
        self.asked[3].set()
        if self._failure is not None:
            raise self._failure


def test_the_next_page_is_asked_for_while_one_is_read() -> None:
    source = Asked()
    read = []
    for page in Ahead(source).pages(Progress()):
        read.append(page.progress.read)
        assert source.asked[len(read)].wait(10), "nobody had to ask"
    assert read == [0, 1, 2]


def test_a_page_that_fails_does_so_after_those_before_it() -> None:
    pages = Ahead(Asked(UserError("rate limit", "wait"))).pages(Progress())
    assert [next(pages).progress.read for _ in range(3)] == [0, 1, 2]
    with pytest.raises(UserError, match="rate limit"):
        next(pages)
