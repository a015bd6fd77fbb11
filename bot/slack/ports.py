"""What the Slack work stands on, put together once by bot/serve/compose.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bot.ports import Clock, Core
from bot.slack.api import SlackApi
from bot.slack.store import Ledger, SlackStore
from bot.slack.tokens import Vault


class Tokens(Protocol):
    """Where bot tokens come from."""

    def token(self, workspace: str) -> str | None:
        """The workspace's bot token, None when none works; `Unreachable` when Slack does not renew it now."""


@dataclass(frozen=True, slots=True)
class SlackPorts:
    """The holes of the Slack work."""

    api: SlackApi
    store: SlackStore
    ledger: Ledger
    vault: Vault
    tokens: Tokens
    core: Core
    clock: Clock
