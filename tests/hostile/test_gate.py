"""Hostile reports through the whole way: what is kept and what would be written is inert and holds no secret.

The core here quotes the worst parts of the report wherever a triage can hold text; the real one never does.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, replace
from datetime import UTC, datetime

import pytest

from bot.gate.markdown import MAX_CHARS, pass_markdown
from bot.github.handler import process
from bot.github.payload import storable
from bot.github.ports import Delivery, Ports
from bot.render.comment import View, render_comment
from knowledge.redaction import redact
from knowledge.report import Report
from knowledge.triage import (
    MissingItem,
    QuickCheck,
    QuotedLine,
    SecondReading,
    Triage,
    VersionConflict,
)
from tests.bot.fake_core import FakeCore, a_finding, a_triage
from tests.bot.fake_github import user
from tests.bot.live import live
from tests.bot.memory_store import MemoryStore, StillClock
from tests.hostile.corpus import Hostile, corpus

LINKS = frozenset(
    {
        "https://redirect.github.com/horovod/horovod/issues/1006",
        "https://redirect.github.com/NVIDIA/nccl/issues/1",
        "https://docs.nvidia.com/nccl/env.html",
    }
)
"""Of the case and of the known failure's sources."""
FAMILIES = [
    "injection",
    "command",
    "marker",
    "mention",
    "reference",
    "image",
    "html",
    "link",
    "fence",
    "table",
    "footnote",
    "invisible",
    "bidi",
    "control",
    "regex",
    "format",
    "secret",
    "size",
]


def quoting(report: Report) -> Triage:
    """A triage that repeats the report, redacted as the real core does, in every place that can hold text."""
    base = a_triage(report)
    lines = redact(report.body).text[-3000:].split("\n")
    telling = [line for line in lines if "Error" in line or "@" in line or "`" in line][:5] or lines[:5]
    quoted = [QuotedLine(line=n, text=text, role="root") for n, text in enumerate(telling, 1)]
    title = redact(report.title).text
    case = base.neighbours[0].model_copy(update={"title": title, "resolution": telling[0]})
    return base.model_copy(
        update={
            "evidence": base.evidence.model_copy(
                update={
                    "lines": [*quoted, QuotedLine(line=1, text=title, role="root", in_title=True)],
                    "conflicts": [
                        VersionConflict(id="x", text=telling[-1], source=telling[0], explains_line=1)
                    ],
                }
            ),
            "findings": [a_finding(lines=quoted, held=telling)],
            "measured": telling,
            "checks": [QuickCheck(run="py-spy dump --pid PID", reading=telling[0])],
            "second_reading": SecondReading(used=True, model=telling[0], why=telling[-1][:300]),
            "neighbours": [case],
            "missing": [MissingItem(id="x", ask=telling[0])],
        }
    )


def delivered(report: Hostile) -> tuple[str, str]:
    """What would be posted of a report, and everything that was kept of it."""
    payload = {
        "action": "opened",
        "installation": {"id": 1},
        "repository": {"id": 1, "full_name": "acme/train"},
        "sender": user("mallory"),
        "issue": {"number": 1, "title": report.title, "body": report.body, "user": user("mallory")},
    }
    kept = storable(payload, keep_text=True)
    store = MemoryStore()
    ports = Ports(None, store, StillClock(), FakeCore(quoting))
    outcome = process(Delivery("d", "issues", "opened", kept, datetime.now(UTC)), ports)
    assert (outcome.kind, outcome.detail) == ("shadow", ())
    [record] = store.triages
    everything = json.dumps(kept, ensure_ascii=False) + record.triage.model_dump_json() + record.title
    return record.would_post, everything + repr(asdict(replace(record, triage=a_triage())))


def test_the_corpus_is_what_it_says() -> None:
    assert len(corpus()) >= 150
    assert len({report.id for report in corpus()}) == len(corpus())
    assert Counter(report.family for report in corpus()).keys() == set(FAMILIES)
    assert sum(report.family == "secret" for report in corpus()) >= 20


@pytest.mark.parametrize("report", corpus(), ids=lambda report: report.id)
def test_what_would_be_posted_is_inert(report: Hostile) -> None:
    posted, kept = delivered(report)
    assert posted
    assert len(posted) <= MAX_CHARS
    assert live(posted, LINKS) == []
    if report.secret:
        assert report.secret not in posted
        assert report.secret not in kept


@pytest.mark.parametrize("report", corpus(), ids=lambda report: report.id)
def test_a_comment_of_claims_is_as_inert_as_one_of_known_failures(report: Hostile) -> None:
    triage = quoting(Report("acme/train#1", report.title, report.body)).model_copy(update={"findings": []})
    draft = render_comment(View(triage=triage, name=FakeCore().name, level="always", explain=True))
    posted = pass_markdown(draft.body, draft.links)
    assert live(posted, LINKS) == []
    assert not (report.secret and report.secret in posted)
