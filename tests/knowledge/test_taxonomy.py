"""The taxonomy as data: closed sets, look-ups, counts, priors, additional files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from knowledge.errors import DataError, UserError
from knowledge.taxonomy import Entry, load_taxonomy
from knowledge.taxonomy.document import taxonomy_markdown

AXES = ("type", "stage", "symptom", "cause", "fix", "topic")
ENTRIES = [entry for axis in AXES for entry in load_taxonomy().on_axis(axis)]


def test_closed_sets_have_the_sizes_of_the_study() -> None:
    taxonomy = load_taxonomy()
    sizes = {axis: len(taxonomy.ids(axis)) for axis in AXES}
    assert sizes == {"type": 4, "stage": 4, "symptom": 31, "cause": 15, "fix": 16, "topic": 11}


def test_symptoms_are_the_thirty_leaves_in_order_then_the_merged_one() -> None:
    ids = load_taxonomy().ids("symptom")
    assert ids[:3] == ("A.1", "A.2", "B.1")
    assert ids[22:26] == ("D.1.10", "D.1.other", "D.2.1", "D.2.2")
    assert ids[-1] == "D.other"
    assert load_taxonomy().symptom("D.other").merged_from == ("D.1.other", "D.2.other")


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: f"{entry.axis}-{entry.id}")
def test_every_definition_is_two_sentences(entry: Entry) -> None:
    assert len(re.findall(r"[.?](?= [A-Z]|$)", entry.definition)) == 2


def test_leaf_counts_sum_to_their_stage_and_the_stages_to_all_faults() -> None:
    taxonomy = load_taxonomy()
    for stage in taxonomy.stages:
        leaves = [s for s in taxonomy.symptoms if not s.merged_from and taxonomy.stage_of(s.id) == stage.id]
        assert sum(leaf.count for leaf in leaves) == stage.count
        assert sum(leaf.distributed for leaf in leaves) == stage.distributed
    assert sum(stage.count for stage in taxonomy.stages) == 637
    assert sum(stage.distributed for stage in taxonomy.stages) == 569


def test_halves_of_stage_d() -> None:
    halves = {half.id: (half.count, half.parent) for half in load_taxonomy().inner_stages}
    assert halves == {"D.1": (215, "D"), "D.2": (150, "D")}


def test_howto_topics_count_every_question_of_the_sheet() -> None:
    topics = load_taxonomy().topics
    assert sum(topic.count for topic in topics) == 494
    communication = next(topic for topic in topics if topic.id == "communication")
    assert dict(communication.subtopics)["synchronization"] == 17


@pytest.mark.parametrize(
    ("symptom", "stage"), [("D.1.6", "D"), ("D.other", "D"), ("C.other", "C"), ("A.1", "A"), ("D.2", "D")]
)
def test_stage_of(symptom: str, stage: str) -> None:
    assert load_taxonomy().stage_of(symptom) == stage


def test_an_unknown_id_is_told_with_near_matches() -> None:
    with pytest.raises(UserError, match=r"'D\.1\.66' isn't.*D\.1\.6"):
        load_taxonomy().entry("D.1.66")
    with pytest.raises(UserError, match="dependency_version"):
        load_taxonomy().cause_of_fix("dependency_versions")
    with pytest.raises(UserError, match="Unknown axis"):
        load_taxonomy().ids("colour")


def test_an_id_of_two_axes_gives_both_entries_and_a_qualified_one_gives_one() -> None:
    taxonomy = load_taxonomy()
    assert [entry.axis for entry in taxonomy.entries("hardware")] == ["cause", "fix"]
    assert [entry.axis for entry in taxonomy.entries("fix:hardware")] == ["fix"]
    assert taxonomy.entry("D.2").name == "Unexpected performance"


def test_capitals_of_an_id_do_not_matter() -> None:
    taxonomy = load_taxonomy()
    assert taxonomy.entry("d.2.1") is taxonomy.entry("D.2.1")
    assert taxonomy.entry("fix:HARDWARE").axis == "fix"


def test_every_fix_tells_of_a_cause_and_every_cause_is_told_by_a_fix() -> None:
    taxonomy = load_taxonomy()
    assert {taxonomy.cause_of_fix(fix) for fix in taxonomy.ids("fix")} == set(taxonomy.ids("cause"))
    dependency = next(cause for cause in taxonomy.causes if cause.id == "dependency")
    assert dependency.fixes == ("dependency_version", "dependency_path")


def test_fix_counts_of_a_leaf_a_stage_and_the_merged_leaf() -> None:
    taxonomy = load_taxonomy()
    assert taxonomy.fix_counts("D.1.6") == {
        "save_single_device": 17,
        "behavior_logic": 2,
        "framework_version": 1,
        "other": 1,
    }
    assert taxonomy.fix_counts("B")["comm_config"] == 47
    assert taxonomy.fix_counts("D.other")["distributed_api"] == 3
    with pytest.raises(UserError):
        taxonomy.fix_counts("E.1")


@pytest.mark.parametrize("symptom", [None, "C.7", "D.1.6", "D.other", "B"])
def test_fix_prior_is_a_distribution_without_zeros(symptom: str | None) -> None:
    prior = load_taxonomy().fix_prior(symptom)
    assert tuple(prior) == load_taxonomy().ids("fix")
    assert sum(prior.values()) == pytest.approx(1)
    assert min(prior.values()) > 0


def test_fix_prior_follows_the_leaf_and_falls_back_to_its_stage() -> None:
    taxonomy = load_taxonomy()
    checkpoint, partition = taxonomy.fix_prior("D.1.6"), taxonomy.fix_prior("C.7")
    assert max(checkpoint, key=checkpoint.__getitem__) == "save_single_device"
    assert partition["distributed_api"] > partition["dependency_path"]


def test_the_slot_of_study_two_holds_facts_and_no_ids() -> None:
    (slot,) = load_taxonomy().open_slots
    assert slot.id == "study2"
    assert {fact.provenance for fact in slot.facts} == {"Q", "2nd"}
    assert not any(entry.id.startswith("study2") for entry in ENTRIES)


def test_an_additional_taxonomy_file_is_loaded_beside_study_one(tmp_path: Path) -> None:
    path = tmp_path / "study2.toml"
    entry = '[[entry]]\nid = "S1"\nname = "N"\ndefinition = "D."\nprovenance = "Q"\n'
    path.write_text('id = "study2"\nsource = "x"\n' + entry, "utf-8")
    taxonomy = load_taxonomy(path)
    assert taxonomy.entry("study2:S1").name == "N"
    assert taxonomy.ids("symptom") == load_taxonomy().ids("symptom")


@pytest.mark.parametrize("text", ['id = "x"\n', "not toml", '[[entry]]\nid = "a"\nextra = 1\n'])
def test_a_broken_additional_file_is_told_with_a_remedy(tmp_path: Path, text: str) -> None:
    path = tmp_path / "broken.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(DataError) as caught:
        load_taxonomy(path)
    assert caught.value.remedy


def test_the_page_in_docs_is_made_from_the_data() -> None:
    page = Path(__file__).parents[2] / "docs" / "taxonomy.md"
    assert page.read_text("utf-8") == taxonomy_markdown()


def test_the_page_names_every_id_of_every_axis() -> None:
    page = taxonomy_markdown()
    assert [entry.id for entry in ENTRIES if f"| {entry.id} |" not in page] == []
