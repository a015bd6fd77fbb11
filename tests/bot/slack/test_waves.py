"""A wave is one message to the configured channel, edited as it grows and when it ends, and never sent twice."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given

from bot.history.wave_store import WaveTables
from bot.history.waves import Noted, Wave, follow
from bot.settings import Settings
from bot.slack.waves import LINKED, tell_waves, wave_message
from tests.bot.hostile_text import texts
from tests.bot.service.conftest import OpenService
from tests.bot.slack.bench import Bench, bench
from tests.bot.slack.fake_slack import ROOM, FakeSlack

NOW = datetime(2026, 11, 1, tzinfo=UTC)
NASTY = "<!channel> &lt; *now* `x` @here #general https://evil.example :fire:"


class Waves:
    """A bench with a wave of four reports in octo/train."""

    def __init__(self, here: Bench) -> None:
        self.here, self.fake = here, here.fake
        self.tables = WaveTables(here.service.threads)
        for n in range(40):
            self.note(100 + n, 4 + 2 * n, keys=())
        for n in range(1, 5):
            self.note(n, 1)

    def note(self, number: int, days: float, **more: Any) -> None:
        values: dict[str, Any] = {
            "installation_id": 7,
            "repo_id": 700,
            "repo_name": "octo/train",
            "author": f"user{number}",
            "title": NASTY,
            "keys": ("failure:nccl-watchdog-timeout",),
            "versions": {"torch": "2.6.0"},
            "opened": self.here.clock.now() - timedelta(days=days),
        }
        self.tables.note(Noted(**{**values, "number": number, **more}), (), None)

    def tell(self) -> list[str]:
        """What the channel shows afterwards."""
        follow(self.tables, 4, self.here.clock.now())
        tell_waves(self.here.ports, self.tables, self.here.service.settings)
        return [message["blocks"][0]["text"]["text"] for message in self.fake.public.values()]

    def posts(self) -> int:
        return self.fake.calls.count("chat.postMessage")


def run(opened: OpenService, fake: FakeSlack, check: Callable[[Waves], Any], **settings: Any) -> None:
    async def go() -> None:
        values = {"slack_wave_channels": ROOM, **settings}
        async with bench(opened, fake, **values) as here:
            await asyncio.to_thread(lambda: check(Waves(here)))

    asyncio.run(go())


def test_one_message_that_is_edited_as_the_wave_grows_and_ends(opened: OpenService, fake: FakeSlack) -> None:
    def check(waves: Waves) -> None:
        [text] = waves.tell()
        assert text.startswith("*4 reports in 1 day* in `octo/train`:")
        assert "All torch 2.6.0. None in the 90 days before." in text
        assert "<https://github.com/octo/train/issues/4|#4>" in text
        assert waves.tell() == [text]
        assert "chat.update" not in waves.fake.calls, "nothing has changed"
        waves.here.clock.shift = timedelta(days=2)
        waves.note(5, 0)
        [text] = waves.tell()
        assert text.startswith("*5 reports in 3 days*")
        waves.here.clock.shift = timedelta(days=12)
        [text] = waves.tell()
        assert "Ended: none since" in text
        waves.tell()
        assert (waves.posts(), waves.fake.calls.count("chat.update")) == (1, 2)

    run(opened, fake, check)


def test_a_message_whose_answer_was_lost_is_not_sent_again(opened: OpenService, fake: FakeSlack) -> None:
    fake.faults["chat.postMessage"] = ["after"]

    def check(waves: Waves) -> None:
        waves.tell()
        waves.note(5, 0)
        waves.tell()
        assert len(waves.fake.public) == 1 and waves.posts() == 1

    run(opened, fake, check)


def test_what_slack_refuses_now_is_sent_later(opened: OpenService, fake: FakeSlack) -> None:
    fake.member_of.clear()

    def check(waves: Waves) -> None:
        assert waves.tell() == []
        waves.fake.member_of.add(ROOM)
        assert len(waves.tell()) == 1

    run(opened, fake, check)


def test_a_title_of_a_stranger_s_is_shown_as_code(opened: OpenService, fake: FakeSlack) -> None:
    def check(waves: Waves) -> None:
        for n in range(1, 5):
            waves.note(n, 1, keys=("same:1",))
        [text] = waves.tell()
        assert "`&lt;!channel&gt;" in text
        message = json.dumps(list(waves.fake.public.values()))
        assert "<!channel>" not in message and "<https://evil" not in message

    run(opened, fake, check)


@given(texts)
def test_no_title_breaks_the_gate_or_gets_past_it(title: str) -> None:
    report = Noted(7, 700, "octo/train", 1, NOW, "a", title, ("same:1",))
    wave = Wave(1, 7, 700, "octo/train", ("same:1",), NOW, NOW, None, 0)
    assert len(wave_message(wave, [report], "https://github.com").blocks) == 1


def test_a_long_wave_names_its_newest_reports(opened: OpenService, fake: FakeSlack) -> None:
    def check(waves: Waves) -> None:
        for n in range(5, LINKED + 11):
            waves.note(n, 0.5)
        [text] = waves.tell()
        assert text.count("/issues/") == LINKED
        assert text.endswith(" and 10 before")

    run(opened, fake, check)


@pytest.mark.parametrize("channels", [None, "octo/other=C0ROOM", "acme=C0ROOM"])
def test_no_channel_no_message(opened: OpenService, fake: FakeSlack, channels: str | None) -> None:
    def check(waves: Waves) -> None:
        assert waves.tell() == [] and waves.posts() == 0

    run(opened, fake, check, slack_wave_channels=channels)


def test_the_closest_channel_counts() -> None:
    settings = Settings(slack_wave_channels="C1, octo=C2 ,octo/train=T9/C3")
    assert settings.wave_channel("Octo/Train") == "T9/C3"
    assert settings.wave_channel("octo/other") == "C2"
    assert settings.wave_channel("acme/x") == "C1"
    assert Settings(slack_wave_channels="octo=C2").wave_channel("acme/x") is None


@pytest.mark.parametrize("value", ["general", "octo/train", "octo/train=#general", "a/b/c=C1"])
def test_what_is_no_channel_is_refused(value: str) -> None:
    with pytest.raises(ValueError, match="not a channel"):
        Settings(slack_wave_channels=value)
