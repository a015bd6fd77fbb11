"""The drafted answer on the maintainers' page."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.github.records import IssueRef, RepoRef, TriageRecord
from bot.page.query import PageQuery
from bot.page.tables import Reviewed
from bot.page.view import render
from knowledge.taxonomy import load_taxonomy
from tests.bot.fake_core import a_triage
from tests.bot.github.test_written_answer import SAID, answer


def page(*, verified: bool) -> str:
    triage = a_triage(answer=answer(verified=verified))
    ref = IssueRef(1, RepoRef(1, "acme/train"), 1)
    record = TriageRecord(ref, "x", triage, "comment", "silent", "x", "", (), datetime.now(UTC))
    return render(
        taxonomy=load_taxonomy(),
        triages=[Reviewed(1, record, {}, False, "")],
        more=False,
        weeks=[],
        choices={"repo": [], "outcome": [], "symptom": []},
        slack=[],
        query=PageQuery(),
        github="https://github.com",
        show_installations=False,
        form_token="t",
    )


def test_maintainers_see_the_verified_draft_with_its_support_and_how_to_post_it() -> None:
    shown = page(verified=True)
    assert SAID in shown
    assert "line 1" in shown
    assert "/triage post" in shown
    assert SAID not in page(verified=False)
