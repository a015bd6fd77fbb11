"""What the Slack work stands on, put together once by bot/slack/compose.py."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from bot.github.ports import Clock, Core
from bot.slack.api import SlackApi
from bot.slack.ledger import Ledger
from bot.slack.store import SlackStore
from bot.slack.vault import Sealed, Vault


class Tokens(Protocol):
    """Where bot tokens come from."""

    def token(self, workspace: str) -> str | None:
        """The workspace's bot token; None when there is none that can be read."""


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


class OneToken:
    """The token of the settings, for an app of one workspace."""

    def __init__(self, token: str) -> None:
        self._token = token

    def token(self, workspace: str) -> str | None:
        """The same for every call that Slack signed."""
        return self._token


class InstalledTokens:
    """The tokens of workspaces that installed the app."""

    def __init__(self, store: SlackStore, vault: Vault) -> None:
        self._store = store
        self._vault = vault

    def token(self, workspace: str) -> str | None:
        """See `Tokens`; a token sealed with a key that is gone counts as none."""
        found = self._store.installation(workspace)
        if found is None:
            return None
        try:
            return self._vault.open(found.sealed_token)
        except Sealed:
            return None
