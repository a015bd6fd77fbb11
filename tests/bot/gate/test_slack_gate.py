"""What the gate in front of Slack makes of foreign text, and what it refuses in a modal."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.models.blocks import (
    ActionsBlock,
    ButtonElement,
    InputBlock,
    PlainTextInputElement,
    SectionBlock,
)
from slack_sdk.models.blocks.basic_components import MarkdownTextObject, PlainTextObject
from slack_sdk.models.views import View

from bot.gate.rules import GateError, check_ids
from bot.gate.slack import TEXT_CHARS, code, code_block, link, pass_message, pass_view, prose
from knowledge.triage import AxisName
from tests.bot.fake_core import FakeCore, a_triage, axis


def modal(label: PlainTextObject) -> View:
    box = PlainTextInputElement(action_id="text")
    block = InputBlock(block_id="text", label=label, element=box)
    return View(type="modal", title=PlainTextObject(text="Paste", emoji=False), blocks=[block])


def words(text: str, emoji: bool = False) -> PlainTextObject:
    return PlainTextObject(text=text, emoji=emoji)


def broken(*blocks: Any) -> list[str]:
    with pytest.raises(GateError) as error:
        pass_message("Triage", list(blocks))
    return error.value.violations


def test_a_modal_of_our_own_words_passes() -> None:
    passed = pass_view(modal(words("What the job printed")))
    assert passed.view["blocks"][0]["label"]["text"] == "What the job printed"


@pytest.mark.parametrize(
    ("label", "rule"),
    [
        (words("Smile", emoji=True), "emoji in a plain text"),
        (words("What\u200b it printed"), "invisible character"),
    ],
)
def test_a_modal_with_anything_else_does_not(label: PlainTextObject, rule: str) -> None:
    with pytest.raises(GateError) as error:
        pass_view(modal(label))
    assert error.value.violations == [rule]


def test_a_modal_without_a_block_is_refused() -> None:
    empty = View(type="modal", title=words("Paste"), blocks=[])
    with pytest.raises(GateError) as error:
        pass_view(empty)
    assert "between 1 and 100 blocks" in error.value.violations[0]


def test_a_text_is_neither_empty_nor_longer_than_slack_shows() -> None:
    for text in ("", "x" * (TEXT_CHARS + 1)):
        for kind in ("plain_text", "mrkdwn"):
            shown = {"type": kind, "text": text, "verbatim": True}
            assert broken(Raw({"type": "section", "text": shown})) == ["length of a text"]
    nothing = ButtonElement(action_id="a", text=words(""), value="1")
    assert broken(ActionsBlock(elements=[nothing])) == ["length of a text"], "slack-sdk leaves the text out"


def test_a_text_that_slack_would_search_for_links_is_refused() -> None:
    free = SectionBlock(text=MarkdownTextObject(text="plain words"))
    assert broken(free) == ["a text that is not verbatim"]


class Raw(SectionBlock):
    """A block that slack-sdk does not look at."""

    def __init__(self, made: dict[str, Any]) -> None:
        super().__init__(text="x")
        self.made = made

    def to_dict(self) -> dict[str, Any]:
        return self.made


def test_a_message_links_only_to_what_it_may_and_shows_nothing_else_that_is_live() -> None:
    def shown(text: str) -> Raw:
        return Raw({"type": "section", "text": {"type": "mrkdwn", "text": text, "verbatim": True}})

    url = "https://github.com/a/b/issues/1"
    assert pass_message("Triage", [shown(f"<{url}|a/b#1>")], {url}).text == "Triage"
    assert broken(shown(f"<{url}|a/b#1>")) == ["link to somewhere else"]
    assert broken(shown("`<!here>`")) == ["control character"]
    assert broken(shown("a & b")) == ["bare ampersand"]
    assert broken(shown("a\u200bb")) == ["invisible character"]
    assert broken(shown("@channel")) == ["mention"]
    assert broken(Raw({"type": "image", "image_url": "https://a.example/x"})) == [
        "element image",
        "an address as an attribute",
    ]


def test_the_text_of_a_notification_is_plain_and_slack_sdks_own_limits_hold() -> None:
    fine = SectionBlock(text=MarkdownTextObject(text="x", verbatim=True))
    for text, rule in (("", "length of the text"), ("a < b", "control character in the text")):
        with pytest.raises(GateError) as error:
            pass_message(text, [fine])
        assert error.value.violations == [rule]
    assert broken() == ["number of blocks"]
    button = ButtonElement(action_id="a", text=words("x"), value="v" * 2001)
    assert "2000" in broken(ActionsBlock(elements=[button]))[0]


def test_of_a_block_of_code_what_does_not_fit_is_left_out_and_marked() -> None:
    assert code_block(["one", "two"], 100) == "```\none\ntwo\n```"
    assert code_block(["one", "a line that is too long", "three"], 20) == "```\none\n…\n```"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Set the interface (eth0).", "Set the interface (eth0)."),
        ("Ask @channel, please", "Ask `@channel`, please"),
        ("``", "`-`"),
        ("well (...) then", "well (...) then"),
        ("run `make` now", "run `make` now"),
        ("a & b <c>", "a &amp; b `&lt;c&gt;`"),
    ],
)
def test_plain_words_stay_words_and_the_rest_becomes_code(text: str, shown: str) -> None:
    assert prose(text) == shown


def test_of_nothing_a_dash_is_left() -> None:
    assert code(" \u200b ") == "`-`"


def test_a_case_is_linked_only_on_github_and_by_a_plain_label() -> None:
    url = "https://github.com/a/b/issues/1"
    assert link(url, "a/b#1") == (f"<{url}|a/b#1>", url)
    assert link("https://evil.example/1", "a/b#1") == ("`a/b#1`", None)
    assert link(url, "<!here>")[1] is None


def test_an_id_that_the_taxonomy_has_not_goes_nowhere() -> None:
    def ids(axis: AxisName) -> frozenset[str]:
        return FakeCore().ids(axis) - ({"network"} if axis == "fix" else set())

    check_ids(a_triage(), FakeCore().ids)
    with pytest.raises(GateError) as error:
        check_ids(a_triage(cause=axis(("witchcraft", 0.9))), ids)
    assert error.value.violations == ["unknown id of cause", "unknown id of fix"]
