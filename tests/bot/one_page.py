"""The maintainers' page of one triage, without a service."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.github.records import IssueRef, RepoRef, TriageRecord
from bot.page.sign_in import Session
from bot.page.tables import Reviewed
from bot.page.view import Frame, PageQuery, triage_page
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage


def page_of(triage: Triage) -> str:
    """The page as HTML, of a comment that was not posted on issue #1 of acme/train."""
    ref = IssueRef(1, RepoRef(1, "acme/train"), 1)
    record = TriageRecord(ref, "x", triage, "comment", "silent", "x", "", (), datetime.now(UTC))
    frame = Frame(Session(9e9, None, "n"), "t", "https://github.com", load_taxonomy())
    return triage_page(frame, Reviewed(1, record, "silent", []), PageQuery(), {})
