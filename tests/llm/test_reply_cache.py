"""Replies kept by content."""

from __future__ import annotations

import os
import stat
import time
from dataclasses import replace
from pathlib import Path

import pytest

from llm.calls import KEEP_DAYS, FileCache, Kept, cache_key
from llm.values import ChatRequest, LlmConfig

ASKED = ChatRequest("reader", "s", "u", {}, "content")
CONFIG = LlmConfig("http://x", "m")
KEY = cache_key(CONFIG, ASKED)
OTHER = replace(ASKED, content_key="other")


def test_what_was_put_is_found(tmp_path: Path) -> None:
    cache = FileCache(tmp_path / "new", CONFIG)
    assert cache.get(ASKED) is None
    cache.put(ASKED, Kept({"a": ["é"]}))
    assert cache.get(ASKED) == Kept({"a": ["é"]})
    assert stat.S_IMODE(next(tmp_path.glob("new/*/*.json")).stat().st_mode) == 0o600


def test_the_key_tells_models_servers_and_contents_apart() -> None:
    keys = {
        KEY,
        cache_key(replace(CONFIG, model="n"), ASKED),
        cache_key(replace(CONFIG, base_url="http://y"), ASKED),
        cache_key(CONFIG, replace(ASKED, content_key="other")),
    }
    assert len(keys) == 4
    assert cache_key(CONFIG, replace(ASKED, user="another delimiter")) == KEY


def test_a_damaged_entry_is_no_entry(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, CONFIG)
    cache.put(ASKED, Kept({"a": 1}))
    file = next(tmp_path.glob("*/*.json"))
    for damage in (b"", b"{", b"[1]", b"\xff\xfe"):
        file.write_bytes(damage)
        assert cache.get(ASKED) is None


def test_a_folder_that_cannot_be_written_costs_the_entry_alone(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    cache = FileCache(tmp_path / "file", CONFIG)
    cache.put(ASKED, Kept({"a": 1}))
    assert cache.get(ASKED) is None


def test_old_entries_are_forgotten(tmp_path: Path) -> None:
    cache = FileCache(tmp_path, CONFIG)
    cache.put(ASKED, Kept({"a": 1}))
    cache.put(OTHER, Kept({"b": 1}))
    old = next(tmp_path.glob(f"{KEY[:2]}/{KEY}.json"))
    os.utime(old, (0, 0))
    assert cache.forget() == 1
    assert cache.get(ASKED) is None
    assert cache.get(OTHER) == Kept({"b": 1})


def test_an_entry_that_another_process_forgets_meanwhile_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "ab").mkdir()
    (tmp_path / "ab" / "gone.json").symlink_to(tmp_path / "nowhere")
    assert FileCache(tmp_path, CONFIG).forget() == 0


def test_a_service_that_runs_for_weeks_forgets_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = FileCache(tmp_path, CONFIG)
    cache.put(ASKED, Kept({"a": 1}))
    later = time.time() + (KEEP_DAYS + 1) * 86_400
    monkeypatch.setattr(time, "time", lambda: later)
    cache.put(OTHER, Kept({"b": 1}))
    assert not list(tmp_path.glob(f"*/{KEY}.json"))
