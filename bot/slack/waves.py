"""One message a wave to the maintainers' channel, edited as the wave grows and when it ends."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import structlog

from bot.gate.rules import GateError
from bot.gate.slack import PassedMessage, code, pass_message, prose
from bot.history.wave_store import WaveTables
from bot.history.waves import Noted, Wave, headline, sentences, subject
from bot.jobs.runner import TryLater
from bot.settings import Settings
from bot.slack.answer import Links, section
from bot.slack.messages import Sender
from bot.slack.ports import SlackPorts
from bot.slack.records import Refused, Unreachable, Unsure

log = structlog.get_logger(__name__)

LINKED = 20
"""Issues that a message links to, the newest."""


def tell_waves(ports: SlackPorts, tables: WaveTables, settings: Settings) -> None:
    """Bring the message of each wave up to date; a wave that ended before its first message gets none.

    What Slack does not take now is tried again with the next call, except for a message that may have gone out.
    """
    for wave in tables.waves(running=False):
        place = wave.slack_channel or settings.wave_channel(wave.repo_name)
        if place is None or (wave.ended_at is not None and not wave.slack_ts):
            continue
        try:
            message = wave_message(wave, tables.reports(wave), settings.github_web_url)
            _bring(ports, tables, wave, place, message)
        except GateError as error:
            log.error("the gate refuses a wave's message", wave=wave.id, rules=error.violations)
        except Refused as error:
            log.warning("wave not told in Slack", wave=wave.id, why=error.code)
        except (TryLater, Unreachable) as error:
            log.warning("waves told in Slack later", error=str(error))
            return


def _bring(ports: SlackPorts, tables: WaveTables, wave: Wave, place: str, message: PassedMessage) -> None:
    digest = hashlib.sha256(json.dumps([message.text, message.blocks]).encode()).hexdigest()
    workspace, _, channel = place.rpartition("/")
    token = ports.tokens.token(workspace)
    if digest == wave.told or token is None:
        return
    ts = wave.slack_ts
    if ts is None:
        found: list[str] = []
        Sender(ports, f"wave:{wave.id}").once(
            "wave", lambda: found.append(ports.api.post(token, channel, message))
        )
        ts = next(iter(found), None)
    else:
        try:
            ports.api.change(token, channel, ts, message)
        except Unsure as error:
            # Changing it twice to the same is harmless: the next call does.
            log.warning("wave perhaps not updated in Slack", wave=wave.id, error=str(error))
            return
    tables.told(wave.id, place, ts, digest)


def wave_message(wave: Wave, reports: Sequence[Noted], web: str) -> PassedMessage:
    """What maintainers read of a wave. Raises `GateError`."""
    links = Links()
    name, whose = subject(wave.keys, reports)
    shown = [
        links(f"{web}/{wave.repo_name}/issues/{one.number}", f"#{one.number}") for one in reports[-LINKED:]
    ]
    more = f" and {len(reports) - LINKED} before" if len(reports) > LINKED else ""
    lines = [
        f"*{headline(wave, reports)}* in {code(wave.repo_name, 150)}: "
        f"{prose(name, 160) if whose == 'ours' else code(name, 160)}",
        " ".join(prose(one, 400) for one in sentences(wave, reports)),
        f"{', '.join(shown)}{more}",
    ]
    return pass_message(f"{headline(wave, reports)} of one failure", [section(lines)], links.addresses)
