"""Reports that were once answered confidently and wrongly: right now, or "cannot tell"."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowledge.engine import Knowledge, triage
from knowledge.report import Report
from knowledge.triage import AXES, Triage

REPORTS = Path(__file__).parent / "reports"
HEADING = "# "


def of(name: str, knowledge: Knowledge) -> Triage:
    text = (REPORTS / name).read_text("utf-8")
    if name.endswith(".log"):
        return triage(Report(name, "", text, is_log=True), knowledge)
    title, _, body = text.partition("\n") if text.startswith(HEADING) else ("", "", text)
    return triage(Report(name, title.removeprefix(HEADING), body), knowledge)


@pytest.mark.parametrize(
    ("name", "cause", "fix"),
    [
        ("xid.log", "hardware", "hardware"),
        ("ecc.log", "hardware", "hardware"),
        ("hwfail.log", "hardware", "hardware"),
        ("nodefail.log", "hardware", "hardware"),
        ("disk.log", "resource_limits", "memory_or_core"),
        ("timelimit.log", "resource_limits", "other"),
        ("raytrain.md", "resource_limits", "memory_or_core"),
        ("slurm.log", "resource_limits", "memory_or_core"),
        ("oomkilled.md", "resource_limits", "memory_or_core"),
        ("shm.md", "resource_limits", "memory_or_core"),
        ("drvold.md", "dependency", "dependency_version"),
    ],
)
def test_a_line_that_leaves_no_doubt_decides(name: str, cause: str, fix: str, knowledge: Knowledge) -> None:
    found = of(name, knowledge)
    assert found.scope == "ours"
    assert found.cause.answer == [cause]
    assert found.fix.answer == [fix]
    assert fix == "other" or found.advice.fixes[0].id == fix


@pytest.mark.parametrize("name", ["raytrain.md", "slurm.log", "oomkilled.md"])
def test_a_kill_for_memory_is_a_memory_issue(name: str, knowledge: Knowledge) -> None:
    assert of(name, knowledge).symptom.answer == ["D.1.2"]


@pytest.mark.parametrize(
    ("name", "scope"),
    [
        ("zh_hang.md", "unreadable"),
        ("zh_oom.md", "unreadable"),
        ("ja.md", "unreadable"),
        ("es.md", "unreadable"),
        ("chinese_nolog.txt", "unreadable"),
        ("nodetail.txt", "too_little"),
        ("env_only.md", "too_little"),
        ("notours.md", "other_field"),
    ],
)
def test_what_cannot_be_judged_is_not_judged(name: str, scope: str, knowledge: Knowledge) -> None:
    found = of(name, knowledge)
    assert found.scope == scope
    assert not any(getattr(found, axis).answer for axis in AXES if axis != "type")
    assert found.distributed.answer is None
    assert found.advice.fixes == []
    assert found.script == ""


def test_of_foreign_prose_with_a_log_the_log_is_judged(knowledge: Knowledge) -> None:
    found = of("chinese.md", knowledge)
    assert found.scope == "ours"
    assert found.stage.top == "B"
    assert found.distributed.answer is not False


@pytest.mark.parametrize("name", ["fsdp2.md", "zero3.md"])
def test_a_fault_of_sharding_is_not_called_one_of_a_single_device(name: str, knowledge: Knowledge) -> None:
    assert of(name, knowledge).distributed.answer is not False


@pytest.mark.parametrize(
    "text",
    ["hello", "asdf", "Thanks, great project!", "The weather is nice today and we are going to the lake."],
)
def test_chat_gets_no_diagnosis(text: str, knowledge: Knowledge) -> None:
    found = triage(Report("-", "", text), knowledge)
    assert found.scope in ("other_field", "too_little")
    assert found.stage.answer == []
    assert found.advice.fixes == []
