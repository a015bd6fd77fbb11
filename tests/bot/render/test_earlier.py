"""Earlier reports on every surface: inert whatever their texts are, no percentage, no verdict."""

from __future__ import annotations

from hypothesis import given, settings

from bot.gate.markdown import pass_markdown
from bot.render.comment import View, render_comment
from bot.render.markdown import markdown_of
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import EarlierReport, Triage
from tests.bot.fake_core import FakeCore, a_triage
from tests.bot.hostile_text import texts
from tests.bot.live import live
from tests.bot.one_page import page_of

ONE = EarlierReport(
    id="acme/train#12",
    url="https://github.com/acme/train/issues/12",
    title="Training hangs",
    opened="2024-05-01",
    why=["both raise `RuntimeError`", "both on torch 2.4.0"],
    is_open=False,
    ended="closed by `#1301`, released in 0.9.2; you are on 0.9.1",
)
OTHER = ONE.model_copy(
    update={"id": "HADOOP-7", "url": "", "is_open": True, "ended": "still open", "title": "It hangs"}
)


def comment(triage: Triage) -> str:
    draft = render_comment(View(triage=triage, name=FakeCore().name))
    return pass_markdown(draft.body, draft.links)


def test_one_is_a_sentence_and_two_are_a_list() -> None:
    alone = comment(a_triage(findings=[], same_failure=[ONE]))
    assert alone.startswith(
        "This looks like the same failure as [`acme/train#12`](https://redirect.github.com/acme/train/issues/12)"
        " (Training hangs): both raise `RuntimeError`, both on torch 2.4.0. It was closed by `#1301`, released in "
        "0.9.2; you are on 0.9.1."
    )
    assert "of all ranks." not in alone and "Similar issues" not in alone
    two = comment(a_triage(findings=[], same_failure=[ONE, OTHER]))
    assert "\n- `HADOOP-7` (It hangs): " in two and "It is still open." in two


def test_a_known_failure_goes_first() -> None:
    body = comment(a_triage(same_failure=[ONE]))
    assert body.index("known failure") < body.index("same failure") < body.index("<details>")


@settings(max_examples=60)
@given(title=texts, why=texts, ended=texts, id_=texts)
def test_whatever_the_earlier_report_says_is_inert(title: str, why: str, ended: str, id_: str) -> None:
    hostile = ONE.model_copy(
        update={"title": title, "why": [why, why], "ended": ended, "id": id_, "url": why}
    )
    draft = render_comment(View(triage=a_triage(findings=[], same_failure=[hostile]), name=FakeCore().name))
    assert live(pass_markdown(draft.body, draft.links), draft.links) == []


def test_on_the_page_and_in_markdown() -> None:
    odd = ONE.model_copy(update={"title": "<script>alert(1)</script>"})
    triage = a_triage(same_failure=[odd])
    page = page_of(triage)
    assert 'Same failure as <a href="https://github.com/acme/train/issues/12"' in page
    assert "It was closed by" in page and "<script>" not in page
    assert "This looks like the same failure as" in markdown_of(triage, load_taxonomy())
