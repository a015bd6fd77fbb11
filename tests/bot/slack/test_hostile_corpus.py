"""The hostile corpus as Slack would bring it: what is queued and shown is inert, fits, and holds no secret."""

from __future__ import annotations

import pytest

from bot.gate.rules import check_ids
from bot.reports.files import pasted_report
from bot.runtime.core import NamedCore
from bot.slack.answer import View, render
from bot.slack.api import Downloaded
from bot.slack.asking import EACH_END, MARGIN, redacted
from bot.slack.inbound import command
from bot.slack.records import Queue, Task
from bot.slack.tokens import Vault
from knowledge.engine import Knowledge, triage
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage
from tests.bot.fake_core import FakeCore
from tests.bot.slack.bench import KEY
from tests.bot.slack.limits import broken_message, shown
from tests.hostile.corpus import Hostile, corpus
from tests.hostile.test_gate import quoting

LINKS = {"https://github.com/horovod/horovod/issues/1006"}
NAMES = NamedCore(FakeCore(), load_taxonomy())
VAULT = Vault([KEY])


SLACKS_LIMIT = 40_000
"""Characters of a message; a longer text is a file in Slack."""


def as_kept(report: Hostile) -> tuple[str, str]:
    """The text as the core gets it, and all that lies in the queue."""
    text = f"{report.title}\n\n{report.body}"
    if len(text) > SLACKS_LIMIT:
        data, each = text.encode(), EACH_END + MARGIN
        cut = len(data) > 2 * each
        tail = data[-each:] if cut else data[each:]
        return redacted(Downloaded(data[:each], tail, cut)), ""
    task = queued(report)
    return task.text, task.model_dump_json()


def queued(report: Hostile) -> Task:
    """What lies in the queue of a report that somebody pasted behind /triage, escaped as Slack escapes."""
    text = f"{report.title}\n\n{report.body}"
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    decision = command({"team_id": "T1", "user_id": "U1", "text": text, "trigger_id": "t"}, VAULT, 0.0)
    assert isinstance(decision, Queue)
    assert decision.task.kind == "triage"
    return decision.task


def messages(made: Triage) -> list[str]:
    """What the answer shows, folded and unfolded, once it is found within Slack's limits and inert."""
    texts = []
    for extras in (False, True):
        notes = (made.evidence.lines[0].text,)
        passed = render(View("0a1b2c", made, NAMES.name, extras=extras, notes=notes))
        message = {
            "text": passed.text,
            "blocks": list(passed.blocks),
            "unfurl_links": False,
            "unfurl_media": False,
        }
        known = LINKS | {n.url for n in made.neighbours}
        assert broken_message(message, known) == []
        texts.append(f"{passed.text}\n{shown(message)}")
    return texts


@pytest.mark.parametrize("report", corpus(), ids=lambda report: report.id)
def test_a_core_that_quotes_the_worst_is_made_inert(report: Hostile) -> None:
    body, queue = as_kept(report)
    texts = [queue, body, *messages(quoting(pasted_report("slack:1", body)))]
    if report.secret:
        assert not any(report.secret in text for text in texts)


@pytest.mark.long
@pytest.mark.parametrize("report", corpus(), ids=lambda report: report.id)
def test_the_engines_answer_is_inert(knowledge: Knowledge, report: Hostile) -> None:
    made = triage(pasted_report("slack:1", as_kept(report)[0]), knowledge)
    check_ids(made, NAMES.ids)
    texts = messages(made)
    if report.secret:
        assert not any(report.secret in text for text in texts)
