"""Errors of reading reports and data; the tree is drawn in embeddings/errors.py."""

from __future__ import annotations

from embeddings.errors import DistriageError, ModelError, UserError, reason

__all__ = [
    "DataError",
    "DistriageError",
    "InputError",
    "ModelError",
    "SettingsError",
    "UserError",
    "reason",
]


class InputError(UserError):
    """A report or file that cannot be read."""


class DataError(UserError):
    """Shipped or given data (cases, taxonomy, sheets) that does not fit its schema."""


class SettingsError(UserError):
    """A setting is missing or contradicts another."""
