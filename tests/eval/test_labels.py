"""`bot eval labels`: forward in time, honest about what cannot be judged, figures with intervals."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from eval.labels import by_label, examples_of, figures, forward, is_dated, read_labelled, table
from eval.metrics import wilson
from knowledge.errors import InputError
from knowledge.history.heads import Example
from tests.knowledge.history.labelled import examples, tracker
from tests.knowledge.history.tiny import WordEncoder


def written(folder: Path, *records: object) -> Path:
    file = folder / "export.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def test_each_issue_is_judged_by_heads_of_older_ones_alone() -> None:
    judged = forward(examples(200))
    assert [one.example.id for one in judged] == [str(n) for n in range(101, 201)]
    # Labels that are new in the second half cannot be known to heads of the first.
    turned = [
        replace(one, labels=frozenset({"new"})) if n >= 100 else one for n, one in enumerate(examples(200))
    ]
    assert all("new" not in one.set for one in forward(turned)[:20])
    told = figures(judged, dated=True)
    assert told.precision.value == 1.0 and (told.share.value or 0) > 0.9


def test_without_dates_each_issue_is_judged_once_by_heads_of_the_others() -> None:
    undated = [replace(one, opened=None) for one in examples(200)]
    judged = forward(undated)
    assert sorted(int(one.example.id) for one in judged) == list(range(1, 201))
    assert not is_dated(undated)
    assert "No dates" in table({"": figures(judged, dated=False)})


def test_heads_can_be_learned_from_another_export() -> None:
    judged = forward(examples(40), examples(200))
    assert len(judged) == 40 and figures(judged, dated=True).precision.value == 1.0


def test_figures_count_what_people_said_and_nothing_else() -> None:
    judged = forward(examples(200))
    [first, *rest] = [one for one in judged if one.set == ("bug",)]

    def precision(changed: Example) -> tuple[float | None, int]:
        told = figures([replace(first, example=changed), *rest], dated=True)
        [bug] = [row for row in told.labels if row.label == "bug"]
        return bug.precision.value, bug.precision.n

    n = len(rest) + 1
    assert precision(first.example) == (1.0, n)
    assert precision(replace(first.example, labels=frozenset())) == (pytest.approx((n - 1) / n), n)
    assert precision(replace(first.example, labels=frozenset(), unsure=frozenset({"bug"}))) == (1.0, n - 1)
    assert precision(replace(first.example, given=frozenset({"bug"}))) == (1.0, n - 1)
    assert precision(replace(first.example, judged=frozenset({"feature"}))) == (1.0, n - 1)


def test_a_label_is_to_be_switched_on_only_with_enough_right_ones() -> None:
    rows = by_label(figures(forward(examples(200)), dated=True))
    assert sum("switch on" in row for row in rows) == 3
    lot = by_label(figures(forward(examples(240, mixed=1.0)), dated=True))
    assert not any("switch on" in row for row in lot) and any("100%" in row for row in lot)


def test_intervals_are_wilsons() -> None:
    # Wilson's interval of 9 in 10, as any table of it has it.
    found = wilson(9, 10)
    assert (found.low, found.high) == (pytest.approx(0.596, abs=1e-3), pytest.approx(0.982, abs=1e-3))
    assert wilson(0, 0).value is None


def test_an_export_is_read_by_repository_without_issues_that_nobody_labelled(tmp_path: Path) -> None:
    found = read_labelled(
        written(
            tmp_path,
            {"id": "acme/b#2", "opened": "2024-02-01", "title": "x", "body": "", "labels": ["bug", "bug"]},
            {"id": "acme/b#1", "opened": "2024-01-01", "title": "x", "body": "", "labels": ["bug"]},
            {"id": "acme/b#3", "title": "x", "body": "", "labels": []},
            {"id": "7", "title": "x", "body": None, "labels": ["wish"]},
        )
    )
    assert {name: [one.post.id for one in issues] for name, issues in found.items()} == {
        "acme/b": ["acme/b#1", "acme/b#2"],
        "": ["7"],
    }
    assert found["acme/b"][1].labels == ("bug",)
    [example] = examples_of(found[""], WordEncoder())
    assert example.labels == {"wish"} and example.opened is None


@pytest.mark.parametrize("labels", ["bug", [1], {"bug": 1}])
def test_labels_that_are_no_list_of_names_are_refused_with_their_line(tmp_path: Path, labels: object) -> None:
    file = written(tmp_path, {"id": "1", "title": "x", "body": "", "labels": labels})
    with pytest.raises(InputError, match="line 1"):
        read_labelled(file)


def test_an_export_without_labels_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no issues with labels"):
        read_labelled(written(tmp_path, {"id": "1", "title": "x", "body": ""}))


def test_the_tracker_of_these_tests_has_every_label() -> None:
    assert {label for _, label in tracker(240)} == {"bug", "feature", "question"}
