"""The corpus loader: schema, taxonomy, errors with file and line, users' files, counts."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from knowledge.cases import check_cases, load_cases, read_cases, shipped_files, sound_cases, stats
from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy

LINK = "https://github.com/o/r/pull/2"
ENDED = {"resolution": "Fixed in 1.2.", "resolution_link": LINK, "looked_up": "2026-05-01"}
SHARED = Path(__file__).parents[3] / "shared"


def record(**changes: Any) -> dict[str, Any]:
    labels = {"type": "fault", "distributed": True, "stage": ["B"], "symptom": ["B.1"], "fix": ["network"]}
    base = {
        "id": "o/r#1",
        "url": "https://github.com/o/r/issues/1",
        "framework": "pytorch",
        "title": "t",
        "body": "b",
        "labels": {**labels, "cause": ["network_environment"]},
        "label_source": "human: somebody",
    }
    return {**base, **changes}


def write(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in records), "utf-8")
    return path


def test_the_shipped_corpus_is_sound() -> None:
    assert check_cases() == ()


def test_the_shipped_corpus_holds_the_human_and_the_annotated_cases() -> None:
    sources = stats(load_cases()).sources
    assert sources["human: Liu et al., TOSEM 2023"] == 256
    assert sources["one annotation pass with the guide (not human)"] >= 82


def test_cases_are_typed_and_unique() -> None:
    cases = load_cases()
    assert len({case.id for case in cases}) == len(cases)
    assert cases[0].labels.type in load_taxonomy().ids("type")
    assert load_cases() is cases


def test_every_jsonl_file_of_the_folder_is_shipped() -> None:
    assert {"human.jsonl", "deepspeed_family.jsonl"} <= {path.name for path in shipped_files()}


def test_stats_count_each_label_in_the_order_of_the_taxonomy() -> None:
    counted = stats(load_cases())
    assert counted.total == len(load_cases())
    assert counted.types["howto"] >= 68
    assert list(counted.symptoms) == [s for s in load_taxonomy().ids("symptom") if s in counted.symptoms]
    assert sum(counted.frameworks.values()) == counted.total


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        (ENDED, "known"),
        ({**ENDED, "resolution_link": "https://github.com/o/r/commit/0123456789ab"}, "known"),
        ({**ENDED, "resolution_link": "https://github.com/o/r/issues/1#issuecomment-5"}, "known"),
        ({**ENDED, "resolution_link": "https://github.com/o/r/releases/tag/v1.2.0"}, "known"),
        ({"not_known": "closed; no ending found", "looked_up": "2026-05-01"}, "not known"),
        ({}, "not looked up"),
    ],
)
def test_a_case_says_whether_its_ending_is_known_and_was_looked_up(
    tmp_path: Path, changes: dict[str, Any], ending: str
) -> None:
    (case,) = sound_cases([write(tmp_path / "c.jsonl", record(**changes))], curated=True)
    assert case.ending == ending


def test_a_case_without_a_thread_is_not_one_that_was_not_looked_up(tmp_path: Path) -> None:
    (case,) = sound_cases([write(tmp_path / "c.jsonl", record(url=""))])
    assert case.ending == "no thread"


def test_every_case_counts_in_one_ending() -> None:
    endings = stats(load_cases()).endings
    assert sum(endings.values()) == len(load_cases())
    assert endings["known"] >= 85
    assert set(endings) <= {"known", "not known", "not looked up"}


def test_resolutions_tell_in_the_third_person_and_hold_no_markup() -> None:
    """A thread's own sentences say I and you, name people and hold links and code; ours do not."""
    theirs = re.compile(
        r"(?i)\b(?:I|I'm|I've|me|my|we|we've|our|your?|you're|thanks|please|lgtm)\b|@\w|https?://|```|\*\*|\n"
    )
    for case in load_cases():
        for text in filter(None, (case.resolution, case.not_known)):
            found = theirs.search(text)
            assert not found, f"{case.id}: {found and found[0]!r} in {text!r}"


@pytest.mark.shared
def test_no_resolution_repeats_a_sentence_of_the_reports(shared: Path) -> None:
    def runs(text: str) -> set[str]:
        words = re.findall(r"\w+", text.lower())
        return {" ".join(words[at : at + 12]) for at in range(len(words) - 11)}

    ours = {run: case.id for case in load_cases() for run in runs(case.resolution or "")}
    with gzip.open(shared / "real" / "reports.jsonl.gz", "rt") as lines:
        for row in map(json.loads, lines):
            found = ours.keys() & runs(f"{row['title']} {row['body']}")
            assert not found, f"{ours[next(iter(found))]} repeats {row['id']}: {sorted(found)[0]!r}"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"labels": {"type": "fault", "symptom": ["D.9"], "stage": ["D"]}}, "'D.9' isn't a valid symptom"),
        ({"labels": {"type": "bug"}}, "'bug' isn't a valid type"),
        ({"labels": {"type": "howto", "topic": "cooking"}}, "'cooking' isn't a valid topic"),
        ({"labels": {"type": "fault", "symptom": ["D.1.6"], "stage": ["B"]}}, "D.1.6 belongs to a stage"),
        ({"labels": {"type": "howto", "fix": ["network"]}}, "a howto has none"),
        ({"labels": {"type": "fault", "topic": "model"}}, "labels.topic: a fault has none"),
        ({"labels": {"type": "fault", "fix": ["network"], "cause": ["other"]}}, "the fixes imply"),
        ({"labels": {"type": "fault", "colour": "red"}}, "labels.colour: Extra inputs"),
        ({"url": "https://github.com/o/r/issues/2"}, "links to o/r#2"),
        ({"url": "http://example.org/1"}, "isn't a link to an issue"),
        ({"title": ""}, "title: "),
        ({"body": None}, "body: "),
        ({"votes": 3}, "votes: Extra inputs"),
        ({"resolution": "r"}, "must be given together"),
        ({"resolution_link": LINK, "looked_up": "2026-05-01"}, "must be given together"),
        ({"resolution": "r", "resolution_link": LINK}, "looked_up: must be given"),
        ({"not_known": "open"}, "looked_up: must be given"),
        ({"looked_up": "2026-05-01"}, "looked_up: must be given"),
        ({**ENDED, "not_known": "open"}, "not_known: the case has a resolution"),
        ({**ENDED, "looked_up": "1 May 2026"}, "looked_up: not a date"),
        ({**ENDED, "looked_up": "20260501"}, "looked_up: not a date"),
        ({**ENDED, "resolution": "r" * 301}, "resolution: longer than 300 characters"),
        ({**ENDED, "resolution_link": "https://github.com/o/r"}, "resolution_link: not a link to an issue"),
        ({**ENDED, "resolution_link": "http://github.com/o/r/pull/2"}, "resolution_link: not a link"),
    ],
)
def test_a_broken_curated_record_is_told_with_file_and_line(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    path = write(
        tmp_path / "c.jsonl", record(id="o/r#9", url="https://github.com/o/r/issues/9"), record(**changes)
    )
    reading = read_cases([path], curated=True)
    assert [case.id for case in reading.cases] == ["o/r#9"]
    assert str(reading.problems[0]).startswith("c.jsonl:2: ")
    assert told in str(reading.problems[0])


def test_a_line_that_is_no_json_is_told(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_text(json.dumps(record()) + "\n{oops\n", "utf-8")
    assert [problem.where for problem in read_cases([path]).problems] == ["c.jsonl:2"]


def test_an_id_that_stands_twice_is_told_with_both_places(tmp_path: Path) -> None:
    one, two = write(tmp_path / "a.jsonl", record()), write(tmp_path / "b.jsonl", record())
    assert [str(p) for p in read_cases([one, two]).problems] == [
        "b.jsonl:1: o/r#1 already appears at a.jsonl:1"
    ]


def test_a_users_file_may_leave_out_what_it_does_not_know(tmp_path: Path) -> None:
    bare = {"id": "mine-1", "title": "t", "body": "b\u2028c", "labels": {"type": "fault"}, "votes": 3}
    (case,) = sound_cases([write(tmp_path / "mine.jsonl", bare)])
    assert (case.framework, case.label_source, case.resolution) == (None, "not told", None)


def test_a_users_file_is_loaded_after_the_shipped_cases(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", record(id="mine-1", url=""))
    assert load_cases(path)[-1].id == "mine-1"
    assert load_cases(path)[:-1] == load_cases()
    assert check_cases(path) == ()


def test_a_users_record_with_the_id_of_a_shipped_case_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.jsonl", record(id=load_cases()[0].id, url=""))
    with pytest.raises(DataError, match="is already in the bundled corpus"):
        load_cases(path)


def test_a_users_file_with_unknown_ids_is_refused_with_a_count(tmp_path: Path) -> None:
    bad = {"type": "fault", "stage": ["E"]}
    path = write(tmp_path / "mine.jsonl", record(id="a", labels=bad), record(id="b", labels=bad))
    with pytest.raises(DataError, match=r"mine\.jsonl:1: .*'E' isn't a valid stage.*and 1 more"):
        load_cases(path)


def test_a_packed_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl.gz"
    path.write_bytes(gzip.compress(json.dumps(record()).encode()))
    assert read_cases([path]).cases[0].id == "o/r#1"


@pytest.mark.parametrize("content", [b"\xff\xfe", None])
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "mine.jsonl"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match="Can't read"):
        read_cases([path])


def test_an_empty_file_holds_no_case(tmp_path: Path) -> None:
    path = tmp_path / "none.jsonl"
    path.write_text("", "utf-8")
    assert read_cases([path]).cases == ()


@pytest.mark.shared
def test_the_real_labelled_reports_can_be_read_as_a_users_file() -> None:
    path = SHARED / "real" / "labelled.jsonl"
    if not path.exists():
        pytest.skip("needs the data beside the repository: ../shared/real/labelled.jsonl")
    reading = read_cases([path])
    assert (len(reading.cases), reading.problems) == (151, ())
