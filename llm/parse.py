"""From the model's words to one JSON object: whole, in a code fence, or amid prose."""

from __future__ import annotations

import json
from typing import Any

from llm.faults import InvalidJson

_DECODER = json.JSONDecoder()
_MAX_STARTS = 50
"""Opening braces tried; more only make a hostile reply expensive."""


def find_object(text: str) -> dict[str, Any]:
    """The first JSON object in `text` that is not inside another; raises `InvalidJson`.

    Reasoning that local servers leave in the reply (up to the last "</think>") is passed over.
    """
    text = text.rpartition("</think>")[2]
    start = text.find("{")
    for _ in range(_MAX_STARTS):
        if start < 0:
            break
        try:
            value, _ = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
            continue
        if isinstance(value, dict):
            return value
    raise InvalidJson
