"""What can go wrong with GitHub, as far as it changes what is done next.

DistriageError
└── GitHubError          a call failed; carries the HTTP status
    ├── Gone             404/410: issue, comment or repository deleted, transferred or out of reach
    ├── TooLarge         an answer longer than any that is read
    ├── NotAllowed       403 for good: `why` = suspended | locked | archived | forbidden
    └── TryAgain         not now; `after` = seconds to wait
        ├── (itself)     rate limit, write budget, a text that keeps changing
        └── Outage       5xx, timeout, dropped connection: each next wait is longer
"""

from __future__ import annotations

from typing import Literal

from knowledge.errors import DistriageError

Forbidden = Literal["suspended", "locked", "archived", "forbidden"]


class GitHubError(DistriageError):
    """A call to GitHub that failed; `status` is the HTTP status, 0 when no answer came."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


class Gone(GitHubError):
    """What was asked for is not there (any more)."""


class NotAllowed(GitHubError):
    """GitHub refuses and will go on refusing until a person changes something."""

    def __init__(self, message: str, why: Forbidden, status: int = 403) -> None:
        super().__init__(message, status)
        self.why: Forbidden = why


class TooLarge(GitHubError):
    """An answer of which only the beginning was read, so that it is of no use."""


class TryAgain(GitHubError):
    """Not now: run the same delivery again in `after` seconds. Raised out of `handler.process`."""

    def __init__(self, message: str, after: float, status: int = 0) -> None:
        super().__init__(message, status)
        self.after = after


class Outage(TryAgain):
    """GitHub failed or did not answer; what was asked for may have happened."""
