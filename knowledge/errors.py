"""Errors of reading reports and data; the tree is drawn in embeddings/errors.py."""

from __future__ import annotations

from collections.abc import Iterable

from embeddings.errors import DistriageError, ModelError, UserError, reason

__all__ = [
    "DataError",
    "DistriageError",
    "InputError",
    "ModelError",
    "SettingsError",
    "UserError",
    "any_of",
    "reason",
]


class InputError(UserError):
    """A report or file that cannot be read."""


class DataError(UserError):
    """Shipped or given data (cases, taxonomy, sheets) that does not fit its schema."""


class SettingsError(UserError):
    """A setting is missing or contradicts another."""


def any_of(words: Iterable[str]) -> str:
    """A choice in words: "a", "a or b", "a, b, or c"."""
    *others, last = dict.fromkeys(words)
    if len(others) < 2:
        return " or ".join([*others, last])
    return f"{', '.join(others)}, or {last}"
