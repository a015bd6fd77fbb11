"""The drafted answer on the maintainers' page."""

from __future__ import annotations

from tests.bot.fake_core import a_triage
from tests.bot.github.test_written_answer import SAID, answer
from tests.bot.one_page import page_of


def page(*, verified: bool) -> str:
    return page_of(a_triage(answer=answer(verified=verified)))


def test_maintainers_see_the_verified_draft_with_its_support_and_how_to_post_it() -> None:
    shown = page(verified=True)
    assert SAID in shown
    assert "line 1" in shown
    assert "/triage post" in shown
    assert SAID not in page(verified=False)
