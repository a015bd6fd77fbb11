"""What tells a report that was made again from one of a series."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from knowledge.history.index import Index, Postings
from knowledge.history.pairs import TELLING, telling
from knowledge.history.record import Post, Record
from knowledge.history.verifier import closest, compare, has_reason, load_weights, verified
from tests.knowledge.history.tiny import AGAIN, OTHERS, WordEncoder, made, post

SUBJECTS = [
    "scheduler",
    "logger",
    "parser",
    "cache",
    "router",
    "mailer",
    "backup",
    "editor",
    "player",
    "printer",
]
FILLERS = [
    post(f"f{n}", f"The {word} is slow", f"RuntimeError: opening the {word} took long.")
    for n, word in enumerate(SUBJECTS)
]


def tells(new: str, earlier: str, body: str = "", before: str = "") -> dict[str, float]:
    """What is told of two reports with these titles, in a tracker with ten others."""
    index = Index(WordEncoder.dims)
    first, second, *others = made([post("1", earlier, before), post("2", new, body), *FILLERS])
    for record in [first, *others]:
        index.add(record)
    return dict(zip(TELLING, telling(second, [first], index.words)[0], strict=True))


def test_one_title_in_two_spellings_is_the_same_title() -> None:
    for new, earlier in (
        ("Progress bar of the journal node is wrong", "progress bar of the JournalNode is wrong"),
        ("Use a NoOp tracer", "Use a No-Op tracer"),
    ):
        told = tells(new, earlier)
        assert told["same_title"] == told["subject_words"] == 1.0, (new, earlier)
        assert told["things"] == 0


def test_titles_of_a_series_differ_in_a_thing() -> None:
    for new, earlier in (
        ("Image for building on Debian 8", "Image for building on Debian 7"),
        ("Upgrade numpy to 2.1.3", "Upgrade numpy to 2.0.2"),
        ("Remove the old sets from trainer-core", "Remove the old sets from trainer-cli"),
    ):
        told = tells(new, earlier)
        assert told["same_title"] == 0 and told["things"] == 1, (new, earlier)
        assert told["things_alike"] == told["subject_words"] > 0.2


def test_a_number_on_one_side_only_is_no_series() -> None:
    assert tells("Upgrade numpy to v2.0", "Upgrade numpy to 2.0")["things"] == 0, (
        "one number in two spellings"
    )
    assert tells("Upgrade numpy", "Upgrade numpy to 2.0.2")["things"] == 0


def test_a_version_in_both_titles_counts() -> None:
    same = tells("Bump numpy to 2.0.2", "Upgrade numpy to 2.0.2")
    other = tells("Bump numpy to 2.0.2", "Upgrade numpy to 2.1.3")
    assert same["versions"] > 0.3 and other["versions"] == 0


@pytest.mark.parametrize(
    ("new", "earlier", "same"),
    [
        ("TestRouting.testLongPath fails", "Fix TestRouting.testLongPath", True),
        (
            "TestRouting.testLongPath fails",
            "TestRouting.testLongPath and TestRouting.testShortPath fail",
            False,
        ),
        ("Flaky test_parse_header", "test_parse_header and test_parse_footer are flaky", False),
        ("The test is slow", "This test hangs", False),
    ],
)
def test_both_titles_name_the_same_test_and_no_other(new: str, earlier: str, same: bool) -> None:
    assert tells(new, earlier)["same_test"] == same


def test_what_any_task_or_complaint_says_is_no_part_of_the_subject() -> None:
    told = tells("Upgrade the quantizer version", "Bump quantizer")
    assert told["subject_words"] == 1.0 and told["same_title"] == 0
    assert tells("The quantizer fails", "The observer fails")["subject_words"] == 0
    assert tells("Fix failing test", "Fix failing test")["subject"] == 0, "nothing is left of it"


def test_two_subjects_that_the_other_report_nowhere_names_are_a_contrast() -> None:
    titles = "Remove the old sets", "Remove the old lists"
    assert tells(*titles)["contrast"] == 1
    assert tells(*titles, before="Sets and lists are old.")["contrast"] == 0
    assert tells("Remove the old sets", "Remove the old")["contrast"] == 0


def test_a_title_found_in_the_other_text_is_not_missing() -> None:
    absent = tells("Checkpoint is lost", "Training stops")
    present = tells("Checkpoint is lost", "Training stops", before="It stops, and the checkpoint is lost.")
    assert present["missing"] == 0 < absent["missing"]


def test_rare_words_in_both_errors_count_and_common_ones_do_not() -> None:
    rare = "RuntimeError: quantizer lacks a calibrated observer"
    told = tells("Export fails", "Cannot export", body=rare, before=rare)
    bare = tells("Export fails", "Cannot export", body="RuntimeError: ", before="RuntimeError: ")
    assert told["rare_error"] > 1 > bare["rare_error"]


def test_numbers_mean_the_same_in_a_small_and_in_a_large_tracker() -> None:
    first, second = made([post("1", "Upgrade numpy to 2.0.2"), post("2", "Bump numpy to 2.0.2")])
    small, large = Postings(), Postings()
    for n in range(20):
        small.add({"other": 1, f"word{n}": 1})
    for n in range(2000):
        large.add({"other": 1, f"word{n}": 1})
    column = TELLING.index("versions")
    assert abs(telling(second, [first], small) - telling(second, [first], large))[0, column] < 0.2


def test_odd_reports_and_none_at_all_give_finite_numbers() -> None:
    odd = made([post("1", "", ""), Post("2", "\ud800", "\x00" * 50), post("3", "日本語の報告", "8 8 8")])
    assert np.isfinite(telling(odd[0], odd, Postings())).all()
    assert telling(odd[0], [], Postings()).shape == (0, len(TELLING))


def test_a_report_made_again_is_more_probable_than_the_next_of_a_series() -> None:
    def p(new: str, earlier: str) -> float:
        index = Index(WordEncoder.dims)
        first, second, *others = made([post("1", earlier), post("2", new, "", 3), *FILLERS])
        for record in [first, *others]:
            index.add(record)
        return closest(second, index.records, index.words, load_weights())[0].p

    again = p("Image for building on Debian 8", "image for building on Debian 8")
    series = p("Image for building on Debian 8", "Image for building on Debian 7")
    assert again > 2 * series


def reasons(new: Record, earlier: Record) -> bool:
    """Whether there is a reason, in a tracker where many builds fail."""
    words = Postings()
    for n in range(60):
        words.add({"build": 1, "source": 1, f"word{n}": 1})
    return bool(has_reason(compare(new, [earlier], words), telling(new, [earlier], words))[0])


def test_a_title_that_many_reports_have_is_no_reason_where_the_error_is_another() -> None:
    title = "Build fails from source"
    one, same, other = made(
        [
            post("1", title, "ValueError: cannot find the header of zlib"),
            post("2", title, "ValueError: cannot find the header of zlib"),
            post("3", title, "ValueError: compiler killed while linking the server"),
        ]
    )
    assert reasons(same, one) and not reasons(other, one)


@pytest.mark.parametrize(
    ("new", "earlier", "is_reason"),
    [
        ("Gradient of quantizer is not clipped", "Quantizer gradient isn't clipped", True),
        ("Fix TestRouting.testLongPath from source", "TestRouting.testLongPath fails on build", True),
        ("Quantizer fails", "Observer fails", False),
        ("Build of quantizer fails", "Build of observer fails", False),
    ],
)
def test_a_rare_subject_or_a_test_in_both_titles_is_a_reason_whatever_the_logs(
    new: str, earlier: str, is_reason: bool
) -> None:
    one, other = made(
        [
            post("1", earlier, "RuntimeError: worker 3 left the ring"),
            post("2", new, "RuntimeError: worker 3 was late at the gate"),
        ]
    )
    assert reasons(other, one) == is_reason


def test_what_is_told_of_the_chosen_stands_in_their_rows() -> None:
    *earlier, again = made([*OTHERS, AGAIN])
    words = Postings()
    pairs = compare(again, earlier, words)
    scores = load_weights().scores(pairs)
    chosen = np.array([3, 1])
    seen = verified(pairs, scores, chosen, telling(again, [earlier[n] for n in chosen], words))
    whole = verified(pairs, scores, np.arange(5), telling(again, earlier, words))
    assert np.array_equal(seen, whole[chosen])


def test_a_date_changes_nothing_that_is_told() -> None:
    first, second = made([OTHERS[1], AGAIN])
    assert np.array_equal(
        telling(second, [first], Postings()), telling(replace(second, opened=None), [first], Postings())
    )
