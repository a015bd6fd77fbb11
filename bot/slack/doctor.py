"""What `bot doctor` looks at for Slack: the settings, the key, and the tokens that are there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from email.utils import parsedate_to_datetime

from bot.db.connect import database_url, pending, sync_pool
from bot.jobs.runner import TryLater
from bot.ports import Checked
from bot.runtime.core import SystemClock
from bot.settings import Settings
from bot.slack.api import Identity, SlackApi
from bot.slack.install import SCOPES
from bot.slack.records import Refused, Unreachable, Unsure
from bot.slack.router import WINDOW
from bot.slack.store import SlackStore
from bot.slack.tokens import InstalledTokens, Vault, oauth_client

WITHOUT = {
    "commands": "/triage and the shortcut don't work",
    "chat:write": "answers are shared through the response URL only, and late ones are only logged",
    "files:read": "files are not read",
    "files:write": "no diagnostics script is sent",
    "im:write": "no diagnostics script is sent",
    "channels:history": "results in threads of public channels are not seen",
    "groups:history": "results in threads of private channels are not seen",
}
"""What a scope that the token lacks costs."""
_REINSTALL = "Take docs/slack-app-manifest.yaml as the app's manifest and install the app again."


def token_findings(api: SlackApi, token: str, name: str, *, renewed: bool = False) -> Iterator[Checked]:
    """What Slack says of the token called `name`; `renewed`: one that is renewed before it expires."""
    try:
        who = api.identity(token)
    except Refused as error:
        yield broken(f"Slack refuses the {name}: {error.code}", "Install the app again.")
        return
    except (Unreachable, Unsure, TryLater):
        yield broken("Slack does not answer", "Check DISTRIAGE_SLACK_API_URL and the network.")
        return
    if not who.is_bot:
        yield broken(f"the {name} is not a bot token", "Use the token that starts with xoxb-.")
    elif who.expires and not renewed:
        yield broken(
            f"the {name} expires within twelve hours; only tokens from an installation are renewed",
            "Install with DISTRIAGE_SLACK_CLIENT_ID and _SECRET, or use an app without token rotation.",
        )
    else:
        yield Checked("ok", "slack", f"the {name} works in {who.team[:60]!r}")
    for scope in SCOPES:
        if scope not in who.scopes:
            yield Checked("missing", "slack", f"the {name} lacks {scope}: {WITHOUT[scope]}", _REINSTALL)
    yield from _clock(who)


def _clock(who: Identity) -> Iterator[Checked]:
    try:
        off = time.time() - parsedate_to_datetime(who.date or "").timestamp()
    except ValueError:
        return
    if abs(off) > WINDOW / 2:
        text = f"this machine's clock differs from Slack's by {round(abs(off))} seconds"
        yield broken(text, f"Sync it with NTP: above {WINDOW} seconds all of Slack's calls are refused.")


def broken(text: str, remedy: str) -> Checked:
    """A finding about Slack that has to be mended."""
    return Checked("broken", "slack", text, remedy)


ON = "DISTRIAGE_SLACK_SIGNING_SECRET"
_MOST_WORKSPACES = 20


def slack_findings(settings: Settings) -> Iterator[Checked]:
    """All findings about Slack, in the order in which to mend them. Raises `SettingsError` for a broken key."""
    secret = settings.slack_signing_secret
    given = {"BOT_TOKEN": settings.slack_bot_token, "CLIENT_ID": settings.slack_client_id}
    besides = [f"DISTRIAGE_SLACK_{name}" for name, value in given.items() if value is not None]
    if secret is None and besides:
        yield broken(f"{ON} is not set, so Slack is off, even though {besides[0]} is", "See docs/slack.md.")
        return
    if secret is None:
        yield Checked(
            "missing", "slack", f"{ON} is not set", "Slack is off until it is set. See docs/slack.md."
        )
        return
    value = secret.get_secret_value()
    if value != value.strip(" \t\r\n'\""):
        yield broken(f"{ON} has spaces or quotes around it", "Remove them.")
    Vault.of(settings)
    where = "is set" if settings.slack_token_key else "is stored in the data folder, for this machine only"
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
            "Until then no dialog opens, no file is read and no script is sent. See docs/slack.md.",
        )
        return
    if not settings.public_url.startswith("https://"):
        yield broken(
            f"people cannot install the app through {settings.public_url}",
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
            yield broken(f"{one.workspace}: {error}", "Check the network connection to Slack.")
            continue
        if token is None:
            yield broken(
                f"can't read or renew the token of {one.workspace}",
                "Put its key back into DISTRIAGE_SLACK_TOKEN_KEY, or install the app there again.",
            )
        else:
            yield from token_findings(api, token, f"token of {one.workspace}", renewed=True)
