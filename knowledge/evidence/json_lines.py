"""A line of a structured log: one JSON object with a message."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import re2

_TEXT = ("msg", "message", "log", "event", "text")
_TIME = ("time", "timestamp", "ts", "@timestamp", "asctime", "datetime")
_LEVEL = ("level", "levelname", "severity", "lvl", "log.level")
_HOST = ("host", "hostname", "node", "pod", "pod_name")
_RANK = ("rank", "global_rank", "process_index")
_STACK = ("exc_info", "exception", "exc_text", "traceback", "stack_trace", "stack", "error")
# A line cut at its length limit, or a form that JSON does not know, still tells its message.
_CUT = re2.compile(r'"(?:msg|message|log)"\s*:\s*"((?:[^"\\]|\\.)*)')


@dataclass(frozen=True, slots=True)
class JsonLine:
    """What a structured line says; `text` is its last line of a stack where it has one, else its message."""

    text: str
    rank: int | None = None
    host: str | None = None
    time: str | None = None
    level: str | None = None


def read_json_line(line: str) -> JsonLine | None:
    """The parts of a JSON log line; None when it is something else (a printed dictionary of numbers)."""
    try:
        row = json.loads(line)
    except ValueError:
        match = _CUT.search(line) if line.startswith('{"') else None
        return JsonLine(match.group(1).replace("\\n", " ")) if match else None
    if not isinstance(row, dict) or (text := _first(row, _TEXT)) is None:
        return None
    rank = next((row[key] for key in _RANK if isinstance(row.get(key), int)), None)
    level = _first(row, _LEVEL)
    return JsonLine(
        _last_line(_first(row, _STACK)) or text.rstrip().replace("\n", " "),
        rank,
        _first(row, _HOST),
        _first(row, _TIME),
        level if level and level[:1].isalpha() else None,
    )


def _first(row: Mapping[str, Any], keys: tuple[str, ...]) -> str | None:
    for key in keys:
        value = row.get(key)
        if isinstance(value, str | float | int) and not isinstance(value, bool) and str(value).strip():
            return str(value)
    return None


def _last_line(stack: str | None) -> str | None:
    lines = [line.strip() for line in (stack or "").splitlines() if line.strip()]
    return lines[-1] if len(lines) > 1 else None
