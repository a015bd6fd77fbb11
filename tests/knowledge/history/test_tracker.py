"""Exports as people have them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from knowledge.errors import InputError
from knowledge.history.tracker import Tracker, read_tracker


def written(folder: Path, *records: object, name: str = "export.jsonl") -> Path:
    file = folder / name
    text = "".join((record if isinstance(record, str) else json.dumps(record)) + "\n" for record in records)
    file.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return file


def ids(tracker: Tracker) -> list[str]:
    return [post.id for post in tracker.posts]


@pytest.mark.parametrize("name", ["export.jsonl", "export.jsonl.gz"])
def test_reports_are_put_in_order(tmp_path: Path, name: str) -> None:
    file = written(
        tmp_path,
        {"id": 10, "opened": "2024-05-02", "title": "c", "body": None},
        {"id": "9", "opened": "2024-05-02T00:00:00Z", "title": "b"},
        {"id": "11", "opened": "2024-05-01T23:00:00-02:00", "title": "d", "body": ""},
        {"id": "3", "opened": "2023-01-01T00:00:00", "title": "a", "body": "", "duplicates": None},
        name=name,
    )
    assert ids(read_tracker(file)) == ["3", "9", "10", "11"]


def test_a_report_without_a_date_stands_after_the_id_before_it(tmp_path: Path) -> None:
    days = {"X-1": "2024-01-01", "X-2": "2024-02-01", "X-9": None, "X-10": "2024-03-01"}
    file = written(
        tmp_path, *({"id": id, "opened": day, "title": "t", "body": ""} for id, day in days.items())
    )
    assert ids(read_tracker(file)) == ["X-1", "X-2", "X-9", "X-10"]


def test_marks_hold_in_both_directions_and_through_others(tmp_path: Path) -> None:
    marks = {"1": ["4"], "2": [], "3": ["4"], "4": [], "5": ["99"]}
    file = written(
        tmp_path,
        *(
            {"id": id, "opened": f"2024-01-0{id}", "title": id, "body": "", "duplicates": m}
            for id, m in marks.items()
        ),
    )
    tracker = read_tracker(file)
    found = {tracker.posts[at].id: right for at, right in tracker.queries().items()}
    assert found == {"3": {"1"}, "4": {"1", "3"}}


GOOD = {"id": "1", "title": "t", "body": "b", "opened": "2024-05-01"}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: not valid JSON"),
        ("[1]", "line 2: not a JSON object"),
        ('{"title": "t"}', '"id" must be'),
        ('{"id": true}', '"id" must be'),
        ('{"id": "1"}', "already in use"),
        ('{"id": "2", "title": 7}', '"title" must be a string'),
        ('{"id": "2", "opened": "yesterday"}', "\"opened\" isn't a date ('yesterday')"),
        ('{"id": "2", "duplicates": "1"}', '"duplicates" must be a list'),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(InputError) as error:
        read_tracker(written(tmp_path, GOOD, line))
    assert told in str(error.value) and "line 2" in str(error.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Can't read"):
        read_tracker(tmp_path / "nothing.jsonl")
    (tmp_path / "cut.jsonl.gz").write_bytes(gzip.compress(b'{"id": "1"}\n' * 1000)[:30])
    with pytest.raises(InputError, match="Can't read"):
        read_tracker(tmp_path / "cut.jsonl.gz")
    with pytest.raises(InputError, match="contains no records"):
        read_tracker(written(tmp_path, ""))
