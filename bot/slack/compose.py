"""The composition of the Slack app: routes for the web application, a handler for the worker."""

from __future__ import annotations

from fastapi import APIRouter

from bot.clock import SystemClock
from bot.github.ports import Clock, Core
from bot.service import Service
from bot.settings import Settings
from bot.slack.api import SlackApi
from bot.slack.install import install_router
from bot.slack.ledger import Ledger
from bot.slack.ports import SlackPorts, Tokens
from bot.slack.router import SlackWeb, slack_router
from bot.slack.store import SlackStore
from bot.slack.tokens import InstalledTokens, OAuthClient, OneToken
from bot.slack.vault import Vault
from bot.triage_process import CoreFailed
from knowledge.report import Report
from knowledge.triage import Triage


class NoCore:
    """The web side's core: names for the modals are all that it needs of one."""

    def triage(self, report: Report) -> Triage:
        """Never called there; raises `CoreFailed`."""
        raise CoreFailed("the web side does not triage")


def slack_ports(service: Service, core: Core, clock: Clock | None = None) -> SlackPorts:
    """The ports by the settings. Raises `SettingsError` for a token key that is none."""
    settings, clock = service.settings, clock or SystemClock()
    store, vault, api = SlackStore(service.threads), Vault.of(settings), SlackApi(settings.slack_api_url)
    tokens: Tokens = InstalledTokens(store, vault, api, clock, oauth_client(settings))
    if settings.slack_bot_token is not None:
        tokens = OneToken(settings.slack_bot_token.get_secret_value())
    return SlackPorts(
        api=api,
        store=store,
        ledger=Ledger(service.threads),
        vault=vault,
        tokens=tokens,
        core=core,
        clock=clock,
    )


def slack_routers(service: Service, ports: SlackPorts) -> list[APIRouter]:
    """The routes; none without a signing secret, those of installing only with a client."""
    settings = service.settings
    if settings.slack_signing_secret is None:
        return []
    secret = settings.slack_signing_secret.get_secret_value().encode()
    web = SlackWeb(ports, service.accept, service.metrics, secret, settings.slack_rate_limit)
    routers = [slack_router(web)]
    client = oauth_client(settings)
    return [*routers, install_router(client, ports)] if client else routers


def oauth_client(settings: Settings) -> OAuthClient | None:
    """The client that workspaces install the app with, where the settings have one."""
    if settings.slack_client_id is None or settings.slack_client_secret is None:
        return None
    return OAuthClient(
        settings.slack_client_id, settings.slack_client_secret.get_secret_value(), settings.public_url
    )
