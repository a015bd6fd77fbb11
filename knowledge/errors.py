"""The exceptions of distriage, one tree.

DistriageError
├── UserError            the user can mend it: printed in one line with its remedy, exit code 2
│   ├── InputError       a report or file that cannot be read
│   ├── DataError        shipped or given data (cases, taxonomy, sheets) that does not fit its schema
│   ├── ModelError       embedding model or index missing, damaged or of another kind
│   └── SettingsError    a setting that is missing or contradicts another
└── (anything else is a defect of ours and shows its traceback)
"""

from __future__ import annotations


class DistriageError(Exception):
    """Root of everything distriage raises on purpose."""


class UserError(DistriageError):
    """Something the user can mend; `remedy` says how in one sentence."""

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        """One line: what is wrong, then what to do."""
        return f"{self.message} {self.remedy}".strip()


class InputError(UserError):
    """A report or file that cannot be read."""


class DataError(UserError):
    """Data that does not fit its schema."""


class ModelError(UserError):
    """The embedding model or an index is missing, damaged or of another kind."""


class SettingsError(UserError):
    """A setting is missing or contradicts another."""
