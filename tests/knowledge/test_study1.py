"""Importers of study 1's sheets, on small sheets made here and on the study's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from openpyxl import Workbook

from knowledge.cases import load_cases
from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy
from knowledge.taxonomy.counts import as_json, count, write_counts
from knowledge.taxonomy.model import COUNTS_FILE, case_id
from knowledge.taxonomy.reliability import PUBLISHED, agreement_of, import_reliability
from knowledge.taxonomy.study1 import fix_ids, fold, import_labels

STUDY = Path(__file__).parents[3] / "shared" / "study1"
ISSUE = "https://github.com/o/r/issues/"
SETUP = "communication setup"
TRAIN = "training & evaluation"
FAULT_HEADER = (
    "Type",
    "Link",
    "distributed-specific",
    "stage",
    "inner-category",
    "leaf category",
    "fix pattern",
)
HOWTO_HEADER = ("Type", "Link", "how-to topic", "sub-topic")
LABEL_HEADER = (
    "Link",
    "Issue Type ",
    "How-to topic",
    "Distributed-specified",
    "Stage",
    "Type",
    "Leaf Category",
    "Fix Pattern",
    "Memo",
)

needs_study = pytest.mark.skipif(
    not (STUDY / "final_categories.xlsx").exists(),
    reason="needs the data beside the repository, ../shared",
)
Row = Sequence[object]


def labels_file(
    path: Path, faults: Sequence[Row] = (), howtos: Sequence[Row] = (), header: Row = FAULT_HEADER
) -> Path:
    return workbook(path, {"how-to questions": [HOWTO_HEADER, *howtos], "faults": [header, *faults]})


def workbook(path: Path, sheets: Mapping[str, Sequence[Row]]) -> Path:
    book = Workbook()
    book.remove(book.active)  # type: ignore[arg-type]
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    book.save(path)
    return path


def fault(link: object, stage: str, inner: object, leaf: str, fix: str, distributed: object = 1) -> Row:
    return ("GitHub", link, distributed, stage, inner, leaf, fix)


def test_spellings_and_compound_cells_become_ids(tmp_path: Path) -> None:
    path = labels_file(
        tmp_path / "f.xlsx",
        [
            fault(
                ISSUE + "1",
                "Training  & Evaluation",
                "Program Failure",
                "out of memory",
                "fix behaviour logic",
                0,
            ),
            fault(
                ISSUE + "2", "Data and Model preparation", None, "hang & timeout", "fix batch size & use tmux"
            ),
        ],
    )
    first, second = import_labels(path).faults
    assert (first.symptom, first.stage, first.fix, first.cause, first.distributed) == (
        "D.1.2",
        "D",
        ("behavior_logic",),
        ("divergent_ranks",),
        False,
    )
    assert (second.id, second.symptom, second.fix) == ("o/r#2", "C.4", ("batch_or_partition", "other"))
    assert import_labels(path).unlisted_fixes == {"use tmux": 1}


def test_columns_are_found_by_their_header_in_any_order(tmp_path: Path) -> None:
    row = fault(ISSUE + "1", SETUP, None, "setup failure", "fix network setting")
    path = labels_file(tmp_path / "f.xlsx", [row[::-1]], header=FAULT_HEADER[::-1])
    assert import_labels(path).faults[0].symptom == "B.1"


def test_a_row_without_a_link_is_a_further_fault_of_the_post_above(tmp_path: Path) -> None:
    rows = [
        fault(ISSUE + "1", SETUP, None, "setup failure", "fix network setting"),
        fault(None, "package build & import", None, "import error", "fix dependency path"),
    ]
    assert [f.id for f in import_labels(labels_file(tmp_path / "f.xlsx", rows)).faults] == ["o/r#1", "o/r#1"]


def test_howtos_carry_topic_and_subtopic(tmp_path: Path) -> None:
    path = labels_file(
        tmp_path / "f.xlsx",
        howtos=[
            ("SO", "https://stackoverflow.com/questions/7", "Device usage", "memory & utilization"),
            ("SO", None, "API Usage ", None),
        ],
    )
    one, two = import_labels(path).howtos
    assert (one.id, one.topic, one.subtopic) == ("stackoverflow#7", "device usage", "memory and utilization")
    assert (two.id, two.topic, two.subtopic) == ("stackoverflow#7", "api usage", None)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (fault(ISSUE + "1", "inference", None, "hang", "fix network setting"), "no such stage: 'inference'"),
        (fault(ISSUE + "1", TRAIN, None, "hang", "change hardware"), "no such stage"),
        (
            fault(ISSUE + "1", SETUP, None, "hung", "fix network setting"),
            "no such leaf below B",
        ),
        (fault(ISSUE + "1", SETUP, None, "setup failure", "x", "maybe"), "must be 0 or 1"),
        (fault(ISSUE + "1", SETUP, None, "setup failure", ""), "no fix pattern"),
        (fault("x", SETUP, None, "setup failure", "change hardware"), "isn't a link to an issue"),
        (
            fault(None, SETUP, None, "setup failure", "change hardware"),
            "first row has no link",
        ),
    ],
)
def test_a_row_that_does_not_fit_is_told_with_a_remedy(tmp_path: Path, row: Row, told: str) -> None:
    with pytest.raises(DataError, match=told) as caught:
        import_labels(labels_file(tmp_path / "f.xlsx", [row]))
    assert caught.value.remedy


def test_an_unknown_topic_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such topic: 'cooking'"):
        import_labels(labels_file(tmp_path / "f.xlsx", howtos=[("SO", ISSUE + "1", "cooking", None)]))


def test_broken_workbooks_are_told_with_a_remedy(tmp_path: Path) -> None:
    text = tmp_path / "text.xlsx"
    text.write_text("no workbook")
    no_sheet = workbook(tmp_path / "sheet.xlsx", {"other": [("Link",)]})
    no_column = labels_file(tmp_path / "column.xlsx", header=FAULT_HEADER[:-1])
    empty = workbook(tmp_path / "empty.xlsx", {"how-to questions": [], "faults": []})
    for path, told in (
        (text, "isn't a readable"),
        (no_sheet, "no sheet"),
        (no_column, "no column"),
        (empty, "no col"),
    ):
        with pytest.raises(DataError, match=told) as caught:
            import_labels(path)
        assert caught.value.remedy
    with pytest.raises(DataError, match="isn't a readable"):
        import_labels(tmp_path / "absent.xlsx")


def test_counts_part_single_from_any_and_leave_out_faults_of_one_device(tmp_path: Path) -> None:
    rows = [
        fault(ISSUE + "1", TRAIN, "program failure", "others", "change hardware"),
        fault(ISSUE + "2", TRAIN, "program failure", "others", "change hardware & use tmux"),
        fault(ISSUE + "3", TRAIN, "unexpected performance", "others", "change hardware", 0),
    ]
    counted = count(import_labels(labels_file(tmp_path / "f.xlsx", rows)))
    assert (counted.scopes["D.other"].faults, counted.scopes["D.other"].distributed) == (3, 2)
    assert (counted.fixes["D.1"]["hardware"].single, counted.fixes["D.1"]["hardware"].any) == (1, 2)
    assert counted.fixes["D.2"] == {}


def test_the_counts_file_is_written_from_a_sheet(tmp_path: Path) -> None:
    rows = [fault(ISSUE + "1", SETUP, None, "setup failure", "fix network setting")]
    sheet, target = labels_file(tmp_path / "f.xlsx", rows), tmp_path / "counts.json"
    write_counts(sheet, target)
    assert '"network": 1' in target.read_text("utf-8")


def test_a_slash_inside_a_name_parts_nothing() -> None:
    assert fix_ids("fix build/install configuration") == (("build_config",), ())
    assert fix_ids("Fix Framework Version / fix model structure") == (
        ("framework_version", "model_construction"),
        (),
    )
    assert fold(" Data  AND Model ") == "data & model"


def test_links_become_ids() -> None:
    assert case_id("https://github.com/o/r/pull/3") == "o/r#3"
    assert case_id("https://stackoverflow.com/questions/5/how-to") == "stackoverflow#5"


def test_kappa_takes_off_what_chance_agrees() -> None:
    agreed = agreement_of([("a", "a")] * 20 + [("b", "b")] * 15 + [("a", "b")] * 5 + [("b", "a")] * 10)
    assert agreed.n == 50
    assert agreed.raw == pytest.approx(0.7)
    assert agreed.kappa == pytest.approx(0.4)
    assert agreement_of([("a", "a")]).kappa == 1
    with pytest.raises(ValueError, match="no pair"):
        agreement_of([])


def reliability_folder(tmp_path: Path, first: Sequence[Row], second: Sequence[Row]) -> Path:
    sheets = {"label1": [LABEL_HEADER, *first], "label2": [LABEL_HEADER, *second]}
    workbook(tmp_path / "reliability_analysis_round1.xlsx", sheets)
    return tmp_path


def test_a_row_that_slipped_to_the_left_is_repaired(tmp_path: Path) -> None:
    first = (
        ISSUE + "1",
        "fault",
        None,
        1,
        SETUP,
        None,
        "setup failure",
        "fix network setting",
    )
    second = (
        ISSUE + "1",
        "fault",
        None,
        1,
        SETUP,
        "setup failure",
        "fix network setting",
        None,
    )
    study = import_reliability(reliability_folder(tmp_path, [first], [second]))
    assert study.repaired == 1
    assert study.items[0].second.symptom == "B.1"
    assert study.items[0].second.fix == ("network",)


def test_posts_are_paired_by_link_and_part(tmp_path: Path) -> None:
    a = (ISSUE + "1", "fault", None, 1, SETUP, None, "setup failure", "change hardware")
    b = (None, "fault", None, 1, "package build & import", None, "import error", "PENDING")
    c = (
        ISSUE + "2",
        "fault",
        None,
        0,
        TRAIN,
        "program failure",
        "pending",
        "change hardware",
    )
    gap = (None, None, None, None, None, None, None, None)
    study = import_reliability(reliability_folder(tmp_path, [a, b, gap, c], [c, a]))
    assert [(item.id, item.part) for item in study.items] == [("o/r#1", 0), ("o/r#2", 0)]
    assert study.unpaired == 1
    assert study.agreement("symptom").n == 2
    assert study.agreement("symptom", decided_only=True).n == 1


def test_asking_for_what_was_not_labelled_is_told(tmp_path: Path) -> None:
    howto = (ISSUE + "1", "how-to question", "model", None, None, None, None, None)
    study = import_reliability(reliability_folder(tmp_path, [howto], [howto]))
    assert study.agreement("topic").raw == 1
    with pytest.raises(DataError, match="didn't label 'colour'"):
        study.agreement("colour")
    with pytest.raises(DataError, match="There are no two stage labels"):
        study.agreement("stage")


def test_missing_reliability_sheets_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no reliability_analysis_round"):
        import_reliability(tmp_path)
    orphan = (None, "fault", None, 1, SETUP, None, "setup failure", "change hardware")
    with pytest.raises(DataError, match="row 2: the link is missing"):
        import_reliability(reliability_folder(tmp_path, [orphan], []))


@pytest.mark.shared
@needs_study
def test_the_shipped_counts_are_those_of_the_studys_sheet() -> None:
    counted = as_json(count(import_labels(STUDY / "final_categories.xlsx")))
    assert json.loads(COUNTS_FILE.read_text("utf-8")) == counted


@pytest.mark.shared
@needs_study
def test_the_tables_of_the_study_are_reproduced() -> None:
    """Expected figures: stages, all leaves, and fix patterns per stage as single/any."""
    counted = count(import_labels(STUDY / "final_categories.xlsx"))
    leaves = {s: (c.faults, c.distributed) for s, c in counted.scopes.items()}
    assert {s: leaves[s] for s in ("A", "B", "C", "D", "D.1", "D.2", "all")} == {
        "A": (82, 81),
        "B": (133, 133),
        "C": (57, 46),
        "D": (365, 309),
        "D.1": (215, 178),
        "D.2": (150, 131),
        "all": (637, 569),
    }
    assert leaves["D.1.5"] == (25, 9)
    assert leaves["C.other"] == (10, 3)
    single_any = {
        fix: tuple(_single_any(counted.fixes[stage].get(fix)) for stage in ("A", "B", "C", "D", "all"))
        for fix in load_taxonomy().ids("fix")
    }
    assert single_any["dependency_version"] == ((35, 36), (19, 25), (2, 2), (36, 42), (92, 105))
    assert single_any["dependency_path"] == ((12, 13), (2, 2), (0, 0), (3, 3), (17, 18))
    assert single_any["build_config"] == ((11, 12), (1, 1), (1, 1), (3, 3), (16, 17))
    assert single_any["framework_version"] == ((6, 8), (8, 10), (7, 7), (25, 28), (46, 53))
    assert single_any["hardware"] == ((5, 5), (1, 1), (0, 0), (7, 7), (13, 13))
    assert single_any["comm_config"] == ((0, 0), (44, 47), (6, 6), (24, 25), (74, 78))
    assert single_any["network"] == ((1, 1), (22, 26), (1, 1), (4, 4), (28, 32))
    assert single_any["device_consistency"] == ((2, 2), (9, 11), (0, 0), (10, 10), (21, 23))
    assert single_any["device_assignment"] == ((0, 0), (6, 6), (6, 6), (27, 28), (39, 40))
    assert single_any["distributed_api"] == ((0, 0), (5, 5), (9, 9), (42, 44), (56, 58))
    assert single_any["batch_or_partition"] == ((0, 0), (0, 0), (3, 3), (19, 21), (22, 24))
    assert single_any["behavior_logic"] == ((0, 0), (1, 1), (1, 1), (21, 21), (23, 23))
    assert single_any["save_single_device"] == ((0, 0), (0, 0), (1, 1), (19, 19), (20, 20))
    assert single_any["model_construction"] == ((0, 0), (0, 0), (1, 1), (17, 19), (18, 20))
    assert single_any["memory_or_core"] == ((0, 0), (1, 1), (1, 1), (11, 14), (13, 16))
    assert single_any["other"] == ((5, 8), (5, 6), (7, 7), (31, 32), (48, 53))


def _single_any(counted: object) -> tuple[int, int]:
    return (counted.single, counted.any) if counted else (0, 0)  # type: ignore[attr-defined]


@pytest.mark.shared
@needs_study
def test_the_corpus_carries_the_labels_of_the_sheet() -> None:
    study = import_labels(STUDY / "final_categories.xlsx")
    human = [case for case in load_cases() if case.label_source.startswith("human")]
    for case in human:
        faults = [fault for fault in study.faults if fault.id == case.id]
        assert {fault.symptom for fault in faults} == set(case.labels.symptom), case.id
        assert {fix for fault in faults for fix in fault.fix} == set(case.labels.fix), case.id
        if case.labels.type == "howto":
            topics = {(h.topic, h.subtopic) for h in study.howtos if h.id == case.id}
            assert (case.labels.topic, case.labels.subtopic) in topics


@pytest.mark.shared
@needs_study
@pytest.mark.parametrize("axis", sorted(PUBLISHED))
def test_the_published_agreement_is_reproduced(axis: str) -> None:
    counted = import_reliability(STUDY).as_published(axis)
    assert counted.n == 280
    assert round(counted.raw, 2) == PUBLISHED[axis]


@pytest.mark.shared
@needs_study
def test_the_slipped_rows_of_round_four_are_repaired_and_kept() -> None:
    study = import_reliability(STUDY)
    repaired = [item for item in study.items if item.round == 4 and item.second.repaired]
    assert len(repaired) == 19
    assert all(item.second.symptom for item in repaired)
    assert study.agreement("symptom").n == 297
