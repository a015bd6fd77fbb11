"""Whatever case of the corpus is triaged, its script has room in the comment."""

from __future__ import annotations

import pytest

from bot.gate.markdown import MAX_CHARS, pass_markdown
from bot.render.comment import render_comment
from bot.render.view import View
from knowledge.cases import Case, load_cases
from knowledge.diagnostics.compose import LARGEST
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.triage import AXES

EVERY = 12
SAMPLE = load_cases()[::EVERY]


@pytest.mark.parametrize("case", SAMPLE, ids=lambda case: case.id)
def test_the_script_of_a_case_stands_whole_in_its_comment(case: Case, knowledge: Knowledge) -> None:
    found = triage(Report(id="new", title=case.title, body=case.body, framework=case.framework), knowledge)
    names = {(axis, entry.id): entry.name for axis in AXES for entry in knowledge.taxonomy.on_axis(axis)}
    long = found.model_copy(update={"measured": ["A finding " * 40] * 5})
    draft = render_comment(View(triage=long, name=lambda axis, id_: names[axis, id_], explain=True))
    body = pass_markdown(draft.body, draft.links)
    assert len(found.script) <= LARGEST
    assert len(body) <= MAX_CHARS
    assert found.script.strip() in body
