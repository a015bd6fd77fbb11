"""What `bot doctor` looks at for Slack: the settings, the key, and the tokens that are there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from bot.db.connect import database_url, sync_pool
from bot.db.migrate import pending
from bot.runtime.checked import Checked
from bot.runtime.clock import SystemClock
from bot.serve.compose import oauth_client
from bot.settings import Settings
from bot.slack.api import SlackApi
from bot.slack.errors import Unreachable
from bot.slack.store import SlackStore
from bot.slack.token_check import broken, token_findings
from bot.slack.tokens import InstalledTokens
from bot.slack.vault import Vault

ON = "DISTRIAGE_SLACK_SIGNING_SECRET"
_MOST_WORKSPACES = 20


def slack_findings(settings: Settings) -> Iterator[Checked]:
    """All findings about Slack, in the order in which to mend them. Raises `SettingsError` for a broken key."""
    secret = settings.slack_signing_secret
    given = {"BOT_TOKEN": settings.slack_bot_token, "CLIENT_ID": settings.slack_client_id}
    besides = [f"DISTRIAGE_SLACK_{name}" for name, value in given.items() if value is not None]
    if secret is None and besides:
        yield broken(f"{ON} is not set, so Slack is off, although {besides[0]} is", "See docs/slack.md.")
        return
    if secret is None:
        yield Checked("missing", "slack", f"{ON} is not set", "See docs/slack.md; until then: off.")
        return
    value = secret.get_secret_value()
    if value != value.strip(" \t\r\n'\""):
        yield broken(f"{ON} has blanks or quotes around it", "Set the bare value.")
    Vault.of(settings)
    where = "is set" if settings.slack_token_key else "is kept in the data folder, for this machine alone"
    yield Checked("ok", "slack", f"the key that encrypts tokens {where}")
    if settings.slack_bot_token is not None:
        yield from token_findings(
            SlackApi(settings.slack_api_url), settings.slack_bot_token.get_secret_value(), "token"
        )
    else:
        yield from _by_oauth(settings)


def _by_oauth(settings: Settings) -> Iterator[Checked]:
    if oauth_client(settings) is None:
        yield Checked(
            "missing",
            "slack",
            "no token: set DISTRIAGE_SLACK_BOT_TOKEN, or DISTRIAGE_SLACK_CLIENT_ID with DISTRIAGE_SLACK_CLIENT_SECRET",
            "See docs/slack.md; until then no box opens, no file is read and no script sent.",
        )
        return
    if not settings.public_url.startswith("https://"):
        yield broken(
            f"people cannot install the app over {settings.public_url}",
            "Set DISTRIAGE_PUBLIC_URL to the https address.",
        )
    with database_url(settings) as url:
        if not pending(url):
            with closing(sync_pool(url, 2)) as pool:
                pool.open(wait=True)
                yield from _installed(settings, SlackStore(pool))


def _installed(settings: Settings, store: SlackStore) -> Iterator[Checked]:
    api, vault = SlackApi(settings.slack_api_url), Vault.of(settings)
    tokens = InstalledTokens(store, vault, api, SystemClock(), oauth_client(settings))
    found = store.installations(_MOST_WORKSPACES)
    if not found:
        page = f"{settings.public_url.rstrip('/')}/slack/install"
        yield Checked("missing", "slack", "installed nowhere", f"Open {page} and install it.")
    for one in found:
        try:
            token = tokens.token(one.workspace)
        except Unreachable as error:
            yield broken(f"{one.workspace}: {error}", "Check the way to Slack.")
            continue
        if token is None:
            yield broken(
                f"the token of {one.workspace} cannot be read or renewed",
                "Put its key back into DISTRIAGE_SLACK_TOKEN_KEY, or install the app there again.",
            )
        else:
            yield from token_findings(api, token, f"token of {one.workspace}", renewed=True)
