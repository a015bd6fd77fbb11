"""Whether a bot token works, what it may do, and whether this machine's clock is Slack's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from email.utils import parsedate_to_datetime

from bot.jobs.retry import TryLater
from bot.runtime.checked import Checked
from bot.slack.api import Identity, SlackApi
from bot.slack.errors import Refused, Unreachable, Unsure
from bot.slack.install import SCOPES
from bot.slack.signature import WINDOW

WITHOUT = {
    "commands": "there is no /triage and no shortcut",
    "chat:write": "answers are shared by the response URL alone, and late ones are only logged",
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
        yield broken("Slack does not answer", "Check DISTRIAGE_SLACK_API_URL and the way there.")
        return
    if not who.is_bot:
        yield broken(f"the {name} is no bot token", "Use the one that begins with xoxb-.")
    elif who.expires and not renewed:
        yield broken(
            f"the {name} expires within twelve hours, and only tokens of an installation are renewed",
            "Install by DISTRIAGE_SLACK_CLIENT_ID and _SECRET, or use an app without token rotation.",
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
        yield broken(text, f"Set it by NTP: above {WINDOW} seconds all of Slack's calls are refused.")


def broken(text: str, remedy: str) -> Checked:
    """A finding about Slack that has to be mended."""
    return Checked("broken", "slack", text, remedy)
