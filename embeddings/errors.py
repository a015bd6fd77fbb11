"""Root of the exception tree; it stands in the lowest room so that every room can raise from it.

DistriageError
├── UserError            the user can mend it: printed in one line with its remedy, exit code 2
│   ├── ModelError       embedding model or index missing, damaged or of another kind
│   └── (knowledge/errors.py: InputError, DataError, SettingsError)
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


class ModelError(UserError):
    """The embedding model or an index is missing, damaged or of another kind."""


def reason(error: OSError) -> str:
    """The system's words for an error as they read after a colon: "no such file or directory"."""
    words = error.strerror or str(error)
    return words[:1].lower() + words[1:]
