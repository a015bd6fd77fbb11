from eval.benchmark import groups_of
from knowledge.report import issue_of
from tests.eval.factory import prepared, record

TEXT = (
    "Training with eight workers stops after the first epoch since one worker never leaves the barrier, "
    "while the others wait in allreduce until the job is killed by the scheduler after ten minutes."
)
OTHER = "pip cannot build the wheel because nvcc is missing from the image that the cluster gives us today."


def test_tellings_of_one_issue_are_one_group() -> None:
    groups = groups_of(prepared(record("O/r#1", "hang", TEXT), record("o/R#1", "no wheel", OTHER)))
    assert groups == ["o/r#1", "o/r#1"]


def test_near_duplicates_are_one_group() -> None:
    groups = groups_of(
        prepared(
            record("o/r#2", "hang at a barrier", TEXT),
            record("a/b#7", "hang at a barrier", TEXT + " Help!"),
            record("o/r#3", "wheel", OTHER),
        )
    )
    assert groups == ["a/b#7", "a/b#7", "o/r#3"]


def test_groups_join_across_links_of_both_kinds() -> None:
    groups = groups_of(
        prepared(
            record("o/r#1", "wheel", OTHER),
            record("o/r#2", "hang", TEXT),
            record("O/R#1", "hang", TEXT),
        )
    )
    assert len(set(groups)) == 1


def test_short_unlike_texts_stay_apart() -> None:
    assert len(set(groups_of(prepared(record("o/r#1", "hang"), record("o/r#2", "crash"))))) == 2


def test_no_record_has_no_group() -> None:
    assert groups_of([]) == []


def test_an_issue_is_one_under_the_former_name_of_its_repository() -> None:
    assert (
        issue_of("microsoft/DeepSpeed#17")
        == issue_of("deepspeedai/DeepSpeed#17")
        == "deepspeedai/deepspeed#17"
    )
    assert issue_of("train.log") == "train.log"
