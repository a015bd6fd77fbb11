"""What can go wrong with Slack.

DistriageError
└── SlackError
    ├── Unreachable   nothing has reached Slack; the same call may be made again
    ├── Unsure        the call went out and its answer was lost; it may have had its effect
    ├── Gone          a response URL that has expired or is used up
    └── Refused       Slack answered with an error; `code` is its word for it
"""

from __future__ import annotations

from knowledge.errors import DistriageError


class SlackError(DistriageError):
    """A call to Slack that did not do what it was for."""


class Unreachable(SlackError):
    """Nothing has reached Slack, so the same call may be made again."""


class Unsure(SlackError):
    """The call went out and its answer was lost."""


class Gone(SlackError):
    """A response URL that has expired (30 minutes) or is used up (five messages)."""


class Refused(SlackError):
    """Slack answered with an error."""

    def __init__(self, code: str) -> None:
        super().__init__(f"Slack refuses: {code}")
        self.code = code
