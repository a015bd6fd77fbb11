"""From files and standard input to reports."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from bot.reports import files
from bot.reports import files as raw_input
from bot.reports.files import is_batch, read_batch, read_input, read_together
from knowledge.errors import InputError
from knowledge.evidence import read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable

TABLE = SignatureTable()
JSON_LOG = (
    '{"time":"2026-05-03T10:02:29Z","level":"info","msg":"step 1"}\n'
    '{"time":"2026-05-03T10:02:31Z","level":"error","rank":2,"msg":"KeyError: \'labels\'"}\n'
)


class _Stdin:
    def __init__(self, text: str) -> None:
        self.buffer = io.BytesIO(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        JSON_LOG,
        JSON_LOG.splitlines()[1],
        "{'lr': 0.1}\nKeyError: 'labels'\n",
        "{\"lr\": 0.1}\nKeyError: 'labels'\n",
    ],
)
def test_what_a_program_printed_on_standard_input_is_a_log(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setattr("sys.stdin", _Stdin(text))
    report = read_input("-")
    assert report.is_log
    assert read_report(report, TABLE).decisive[0].text == "KeyError: 'labels'"


@pytest.mark.parametrize("text", ['{"title": "x", "bo', "[1, 2]", '{"foo": 1}', '{\n "title": 3\n}'])
def test_a_damaged_issue_is_still_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "issue.json").write_text(text, "utf-8")
    with pytest.raises(InputError):
        read_input(str(tmp_path / "issue.json"))


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson"])
def test_a_file_of_json_log_lines_is_a_log(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"train{suffix}"
    path.write_text(JSON_LOG, "utf-8")
    assert not is_batch(str(path))
    assert read_input(str(path)).is_log


def test_records_are_still_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "batch.jsonl"
    path.write_text(
        json.dumps({"id": "a", "title": "Hang", "body": "it hangs", "event": "x"}) + "\n", "utf-8"
    )
    assert is_batch(str(path))


@pytest.mark.parametrize("from_stdin", [True, False])
def test_a_log_that_is_cut_keeps_the_files_line_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, from_stdin: bool
) -> None:
    monkeypatch.setattr(raw_input, "MAX_BYTES", 40_000)
    monkeypatch.setattr(raw_input, "_TAIL", 10_000)
    text = "".join(f"step {number} loss 0.1\n" for number in range(1, 20_001)) + "KeyError: 'labels'\nend\n"
    path = tmp_path / "big.log"
    path.write_text(text, "utf-8")
    monkeypatch.setattr("sys.stdin", _Stdin(text))
    found = read_report(read_input("-" if from_stdin else str(path)), TABLE).decisive[0]
    assert (found.number, found.text) == (20_001, "KeyError: 'labels'")


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_a_log_of_wide_characters_that_is_cut_stays_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    monkeypatch.setattr(raw_input, "MAX_BYTES", 40_000)
    monkeypatch.setattr(raw_input, "_TAIL", 10_000)
    text = "\ufeff" + "step loss 0.1\n" * 20_000 + "KeyError: 'labels'\n"
    path = tmp_path / "big.log"
    path.write_bytes(text.encode(encoding))
    found = read_report(read_input(str(path)), TABLE).decisive[0]
    assert (found.number, found.text) == (20_001, "KeyError: 'labels'")


@pytest.mark.parametrize("deep", ["[" * 200_000, '{"title": ' + "[" * 200_000])
def test_json_that_is_nested_too_deeply_is_refused(tmp_path: Path, deep: str) -> None:
    (tmp_path / "issue.json").write_text(deep, "utf-8")
    with pytest.raises(InputError):
        read_input(str(tmp_path / "issue.json"))
    (tmp_path / "batch.jsonl").write_text(deep + '\n{"title": "a", "body": "b"}\n', "utf-8")
    assert [type(one).__name__ for one in read_batch(str(tmp_path / "batch.jsonl"))] == [
        "BadRecord",
        "Report",
    ]


def test_logs_of_one_job_are_read_together_with_the_rank_of_their_names(tmp_path: Path) -> None:
    (tmp_path / "rank0.log").write_text("RuntimeError: Connection closed by peer [10.0.0.2]:2312\n", "utf-8")
    (tmp_path / "rank1.log").write_text("step 3\nKeyError: 'labels'\n", "utf-8")
    (tmp_path / "notes.bin").write_bytes(b"\0\1")
    paths = [str(tmp_path / "rank0.log"), str(tmp_path / "rank1.log")]
    for given in (read_together(paths), read_together([str(tmp_path)])):
        found = read_report(given.report, TABLE).decisive[0]
        assert (found.rank, found.text) == (1, "KeyError: 'labels'")
        assert given.place(found.number) == "rank1.log:2"
        assert "rank0.log, rank1.log" in given.report.notes[0]


def test_a_line_of_several_files_has_the_number_of_its_own_file(tmp_path: Path) -> None:
    (tmp_path / "rank0.txt").write_text("It hangs after the first epoch on two nodes.\na\nb", "utf-8")
    long = "x" * 99 + "\n"
    count = files.MAX_BYTES // len(long) + 50_000
    (tmp_path / "rank1.log").write_text(long * count + "KeyError: 'labels'\n", "utf-8")
    given = read_together([str(tmp_path)])
    lines = given.report.body.split("\n")
    assert given.place(2) == "rank0.txt:1"
    assert lines[1].startswith("It hangs"), "a first sentence is not lost as a title"
    last = lines.index("KeyError: 'labels'") + 1
    assert given.place(last) == f"rank1.log:{count + 1}"


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="contains no log"):
        read_together([str(tmp_path)])


SEQUENCES = "\x1b]0;PWNED\x07\x1b[2J\u009b31m"


def harmless(text: str) -> bool:
    return text.isprintable() and "\ufffd" in text


def test_an_issues_address(tmp_path: Path) -> None:
    file = tmp_path / "issue.json"
    url = f"https://github.com/acme/{SEQUENCES}/issues/5"
    file.write_text(json.dumps({"title": "Hang", "body": "It hangs.", "html_url": url}))
    assert harmless(read_input(str(file)).id)


def test_a_files_name(tmp_path: Path) -> None:
    file = tmp_path / f"a{SEQUENCES}.log"
    file.write_text("Watchdog caught a timeout\n")
    assert harmless(read_input(str(file)).id)
    file.write_text("")
    with pytest.raises(InputError) as told:
        read_input(str(file))
    assert harmless(told.value.message)


@pytest.mark.parametrize("name", ["missing", "folder"])
def test_a_path_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}{SEQUENCES}"
    if name == "folder":
        path.mkdir()
    with pytest.raises(InputError) as told:
        read_input(str(path))
    assert harmless(told.value.message)


def test_a_record_of_a_batch(tmp_path: Path) -> None:
    file = tmp_path / "batch.jsonl"
    file.write_text(json.dumps({"id": f"x{SEQUENCES}", "title": "Hang"}) + "\n")
    [report] = read_batch(str(file))
    assert isinstance(report, Report)
    assert harmless(report.id)


@pytest.mark.parametrize(
    ("stated", "day"),
    [
        ({"created_at": "2021-03-04T05:06:07Z"}, "2021-03-04"),
        ({"opened": "2021-03-04"}, "2021-03-04"),
        ({"created_at": "last week"}, ""),
        ({}, ""),
    ],
)
def test_the_day_an_issue_was_opened(tmp_path: Path, stated: dict[str, str], day: str) -> None:
    file = tmp_path / "issue.json"
    file.write_text(json.dumps({"title": "It hangs", "body": "On two nodes.", **stated}), "utf-8")
    assert read_input(str(file)).opened == day
