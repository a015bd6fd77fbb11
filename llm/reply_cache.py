"""Replies that were of use, by the hash of what was asked: the same question is not paid for twice."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
from pathlib import Path
from typing import Any, Protocol

from llm.config import LlmConfig
from llm.values import ChatRequest

KEEP_DAYS = 30


class ReplyCache(Protocol):
    """The hole where replies are kept."""

    def get(self, request: ChatRequest) -> dict[str, Any] | None:
        """The JSON object that answered `request`; None when there is none."""

    def put(self, request: ChatRequest, value: dict[str, Any]) -> None:
        """Keep it."""


def cache_key(config: LlmConfig, request: ChatRequest) -> str:
    """SHA-256 over server, model and content; the random delimiter is not part of it."""
    text = json.dumps([config.base_url, config.model, request.content_key])
    return hashlib.sha256(text.encode()).hexdigest()


class NoCache:
    """Keeps nothing, for measurements of latency and cost."""

    def get(self, request: ChatRequest) -> dict[str, Any] | None:
        """See the protocol."""
        return None

    def put(self, request: ChatRequest, value: dict[str, Any]) -> None:
        """See the protocol."""


class FileCache:
    """One small file a reply, kept for 30 days; a file that is damaged or unreadable is no entry.

    Replies stem from redacted reports, yet they are about somebody's report: the files are private (0600).
    """

    def __init__(self, folder: Path, config: LlmConfig) -> None:
        """Replies of the server and model of `config` alone are found."""
        self._folder = folder
        self._config = config

    def get(self, request: ChatRequest) -> dict[str, Any] | None:
        """See the protocol."""
        try:
            value = json.loads(self._file(request).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        return value if isinstance(value, dict) else None

    def put(self, request: ChatRequest, value: dict[str, Any]) -> None:
        """See the protocol. A full or read-only disk costs the entry, not the triage."""
        try:
            file = self._file(request)
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle, name = tempfile.mkstemp(dir=file.parent)
            with os.fdopen(handle, "w", encoding="utf-8") as out:
                json.dump(value, out)
            Path(name).replace(file)
        except OSError:
            return

    def forget(self, days: int = KEEP_DAYS) -> int:
        """Delete entries older than `days`; returns how many."""
        oldest = time.time() - days * 86_400
        old = [f for f in self._folder.glob("*/*.json") if f.stat().st_mtime < oldest]
        for file in old:
            file.unlink(missing_ok=True)
        return len(old)

    def _file(self, request: ChatRequest) -> Path:
        key = cache_key(self._config, request)
        return self._folder / key[:2] / f"{key}.json"
