"""What PostgreSQL cannot hold leaves the text: NUL characters and lone surrogates."""

from __future__ import annotations

import math
from typing import Any

from psycopg.types.json import Jsonb


def clean_text(text: str) -> str:
    """The text with every NUL and lone surrogate replaced by U+FFFD; any other text is returned as it is."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def clean_json(value: Any) -> Jsonb:
    """A JSON value that PostgreSQL accepts: strings cleaned, infinities and not-a-numbers null."""
    return Jsonb(_clean(value))


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_text(str(key)): _clean(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
