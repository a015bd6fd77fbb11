"""A pasted result moves the answer, and the answer says which probe did what."""

from __future__ import annotations

import pytest

from knowledge.diagnostics.compose import LARGEST
from knowledge.diagnostics.runtime.main import block, checksum
from knowledge.engine import Knowledge, triage, triage_with_result
from knowledge.errors import InputError
from knowledge.readback import whole_script, without_results
from knowledge.report import Report

REPORT = Report(id="new", title="It hangs at start", body="Two nodes, PyTorch 2.1. Nothing is printed.")


def pasted(rank: int, *answers: tuple[str, str], **facts: object) -> str:
    """The block of one rank with these outcomes; the facts go to every answer."""
    probes = [{"id": id, "outcome": outcome, "seconds": 0.1, "facts": facts} for id, outcome in answers]
    result: dict[str, object] = {
        "schema": "distriage-result/1",
        "script": "0" * 12,
        "host": f"host-{rank:06x}",
        "rank": rank,
        "world_size": 2,
        "platform": "linux",
        "python": "3.11.2",
        "started": 1,
        "seconds": 1.0,
        "probes": probes,
    }
    result["checksum"] = checksum(result)
    return block(result)


def tasks(script: str) -> set[str]:
    """Ids of a script's tasks."""
    return {
        line.split("(")[1].split(",")[0].strip("\"'")
        for line in script.splitlines()
        if line.startswith("    Task(")
    }


def test_the_cause_moves_and_the_sentence_says_from_where_to_where(knowledge: Knowledge) -> None:
    before = triage(REPORT, knowledge)
    after = triage_with_result(REPORT, pasted(0, ("shm_size", "tiny")), knowledge)
    was, now = ({entry.id: entry.p for entry in one.cause.ranking} for one in (before, after))
    assert now["resource_limits"] > 5 * was["resource_limits"]
    name = next(one.name for one in knowledge.taxonomy.on_axis("cause") if one.id == "resource_limits")
    assert after.measured[0].startswith(f"Shared memory ({name} ")
    assert f" to {now['resource_limits']:.0%})" in after.measured[0]


def test_fixes_of_the_cause_that_rose_come_first(knowledge: Knowledge) -> None:
    after = triage_with_result(REPORT, pasted(0, ("rendezvous_env", "rank_beyond_world")), knowledge)
    assert after.cause.ranking[0].id == "communication_configuration"
    assert knowledge.taxonomy.cause_of_fix(after.fix.ranking[0].id) == "communication_configuration"


def test_of_several_ranks_those_that_found_it_are_named(knowledge: Knowledge) -> None:
    blocks = pasted(0, ("shm_size", "ok")) + pasted(1, ("shm_size", "tiny"))
    assert "Shared memory on rank 1 (" in triage_with_result(REPORT, blocks, knowledge).measured[0]


def test_a_finding_is_told_by_the_cause_that_it_speaks_for(knowledge: Knowledge) -> None:
    """An all-reduce that fails for want of the interface speaks for the network; it is no second fault."""
    found = pasted(0, ("interface_choice", "no_such_interface"), ("gloo_world", "fails"))
    said = triage_with_result(REPORT, found, knowledge).measured
    assert any(
        text.startswith("A Gloo all-reduce between all ranks (Network between the machines from")
        for text in said
    )
    assert not any("two faults" in text for text in said)


def test_what_differs_between_ranks_is_told(knowledge: Knowledge) -> None:
    blocks = "".join(pasted(rank, ("lengths", "counted"), batches=6 - 2 * rank) for rank in (0, 1))
    said = triage_with_result(REPORT, blocks, knowledge).measured
    assert "Differs: lengths.batches: 4 on rank 1; 6 on rank 0" in said


def test_a_contradiction_names_its_causes_in_words(knowledge: Knowledge) -> None:
    blocks = pasted(0, ("rendezvous_env", "rank_beyond_world"), ("shm_size", "tiny"))
    (said,) = [
        text for text in triage_with_result(REPORT, blocks, knowledge).measured if "Contradiction" in text
    ]
    assert "may be two faults" in said
    assert "_" not in said
    assert "`" not in said


def test_a_finding_that_moves_no_cause_is_told_too(knowledge: Knowledge) -> None:
    blocks = pasted(0, ("rendezvous_env", "rank_beyond_world"), ("tmp_usable", "unusable"))
    said = triage_with_result(REPORT, blocks, knowledge).measured
    assert any(text.startswith("Folders that the settings name") for text in said)


def test_the_next_script_asks_what_is_still_open(knowledge: Knowledge) -> None:
    first = triage(REPORT, knowledge)
    known = tasks(first.script)
    answer = pasted(0, *((id, "not_applicable") for id in known))
    second = triage_with_result(REPORT, answer, knowledge)
    assert second.script
    collectors = {"torch", "gpus", "interfaces", "sources", "packages"}
    assert not known & tasks(second.script) - collectors


def test_the_whole_script_has_more_probes_than_a_comment_has_room_for(knowledge: Knowledge) -> None:
    found = triage(REPORT, knowledge)
    whole = whole_script(found)
    assert len(found.script) <= LARGEST < len(whole)
    assert tasks(found.script) < tasks(whole)


def test_a_triage_without_script_has_no_whole_one(knowledge: Knowledge) -> None:
    found = triage(Report(id="q", title="How do I set the batch size?", body=""), knowledge)
    assert whole_script(found.model_copy(update={"script": ""})) == ""


def test_a_result_pasted_into_the_report_is_no_evidence_of_its_words(knowledge: Knowledge) -> None:
    body = REPORT.body + pasted(0, ("shm_size", "tiny"))
    found = triage(Report(id="new", title=REPORT.title, body=body), knowledge)
    assert found.measured
    assert not any("distriage-result" in line.text for line in found.evidence.lines)
    assert without_results(body).count("\n") == body.count("\n")


@pytest.mark.parametrize("text", ["", "nothing", "```distriage-result\n{}\n```"])
def test_a_damaged_result_is_refused(text: str, knowledge: Knowledge) -> None:
    with pytest.raises(InputError):
        triage_with_result(REPORT, text, knowledge)
