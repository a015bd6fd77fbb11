"""`bot eval duplicates`: forward in time, counted right, and useful errors."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.evaluate import register
from eval.history import KEPT, Ranked, rank, rank_plainly, recall, shown_line, table
from eval.origin import read_parts
from knowledge.errors import InputError, UserError
from knowledge.history.tracker import Tracker, read_tracker
from knowledge.history.verifier import load_weights
from tests.knowledge.history.tiny import AGAIN, OTHERS, WordEncoder, post


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    return made


def small() -> Tracker:
    """Five reports, then one that is the second again, and a later one that no query may see."""
    later = post("7", AGAIN.title, AGAIN.body, 20)
    return Tracker((*OTHERS, AGAIN, later), (1, 2, 3, 4, 5, 2, 6))


def test_the_marked_report_is_found_among_the_earlier_ones() -> None:
    found, later = rank(small(), WordEncoder(), load_weights())
    assert (later.id, later.right, later.shown[0]) == ("7", frozenset(), "6"), "shown, and nobody marked it"
    assert (found.id, found.right, found.near[0], found.place) == ("6", {"2"}, "2", 1)
    assert "7" not in found.near and "6" not in found.near


def test_later_reports_change_nothing() -> None:
    whole = small()
    cut = Tracker(whole.posts[:-1], whole.group[:-1])
    (first, _), second = (rank(tracker, WordEncoder(), load_weights()) for tracker in (whole, cut))
    assert [(one.near, [n.score for n in one.found]) for one in [first]] == [
        (one.near, [n.score for n in one.found]) for one in second
    ]


def test_the_baseline_finds_common_words() -> None:
    (found,) = rank_plainly(small())
    assert found.near[0] == "2" and len(found.near) == 5


def test_recall_counts_any_right_one_and_draws_groups_as_a_whole() -> None:
    hit = Ranked("a", 1, frozenset("xy"), ("q", "y"))
    miss = Ranked("b", 2, frozenset("x"), tuple("abcdefghij"))
    assert [recall([hit, miss], k).value for k in (1, 5, 10)] == [0.0, 0.5, 0.5]
    wide, narrow = (
        recall([hit, miss] * 10, 5),
        recall([Ranked(str(n), n, hit.right, hit.near) for n in range(20)], 5),
    )
    assert wide.low == 0.0 and wide.high == 1.0, "two groups of ten are two draws, not twenty"
    assert narrow.low == narrow.high == 1.0
    assert recall([], 1).value is None


def test_what_is_shown_of_all_reports_is_counted() -> None:
    text = shown_line(rank(small(), WordEncoder(), replace(load_weights(), threshold=0.0)))
    assert text.startswith("Shown: 3 matches below 2 reports; 0.33 ("), text
    assert "a marked earlier one, 1.00 (" in text
    assert recall(rank(small(), WordEncoder(), load_weights()), 1).value == 1.0, "only queries count"


def test_the_table_names_reports_queries_and_systems() -> None:
    tracker = small()
    text = table(tracker, {"plain TF-IDF": rank_plainly(tracker)})
    assert "7 reports, 1 with an earlier one" in text and "| plain TF-IDF | 1.00 (1.00–1.00) |" in text


def export(folder: Path, *, marked: bool = True) -> Path:
    tracker = small()
    file = folder / "export.jsonl.gz"
    with gzip.open(file, "wt", encoding="utf-8") as lines:
        for one in tracker.posts:
            record = {"id": one.id, "opened": str(one.opened), "title": one.title, "body": one.body}
            lines.write(
                json.dumps({**record, "duplicates": ["2"] if one.id == "6" and marked else []}) + "\n"
            )
    return file


def test_the_command_prints_both_and_writes_the_ranking(app: typer.Typer, tmp_path: Path) -> None:
    out = tmp_path / "ranked.jsonl"
    folder = tmp_path / "report"
    arguments = [str(export(tmp_path)), "--out", str(out), "--report", str(folder)]
    result = CliRunner().invoke(app, ["eval", "duplicates", *arguments])
    [part] = read_parts(folder)
    assert part.title == "Duplicates" and [row[0] for row in part.rows] == ["plain TF-IDF", "distriage"]
    assert part.origin is not None and part.origin.data
    assert result.exit_code == 0, result.output
    assert "| plain TF-IDF |" in result.stdout and "| distriage |" in result.stdout
    (line,) = map(json.loads, out.read_text("utf-8").splitlines())
    assert line["id"] == "6" and line["near"][0] == "2" and len(line["near"]) == 5
    assert len(line["p"]) == 5 and 0 <= min(line["p"]) <= max(line["p"]) <= 1
    assert line["shown"] in (["2"], [])
    assert "Shown: " in result.stdout


def test_errors_come_before_minutes_are_spent(app: typer.Typer, tmp_path: Path) -> None:
    unmarked = CliRunner().invoke(app, ["eval", "duplicates", str(export(tmp_path, marked=False))])
    assert isinstance(unmarked.exception, UserError) and "doesn't mark any report" in str(unmarked.exception)
    missing = CliRunner().invoke(app, ["eval", "duplicates", str(tmp_path / "none.jsonl")])
    assert isinstance(missing.exception, InputError)
    nowhere = ["eval", "duplicates", str(export(tmp_path)), "--out", str(tmp_path / "no" / "where.jsonl")]
    assert "Can't write" in str(CliRunner().invoke(app, nowhere).exception)


@pytest.mark.shared
def test_a_real_tracker_is_read_and_the_baseline_is_what_it_was_said_to_be(shared: Path) -> None:
    tracker = read_tracker(shared / "history" / "hadoop.jsonl.gz")
    ranked = rank_plainly(tracker)
    assert (len(tracker.posts), len(ranked)) == (2503, 66)
    shares = [recall(ranked, k).value or 0 for k in (1, 5, 10)]
    assert shares == pytest.approx([0.56, 0.83, 0.88], abs=0.04)
    assert all(len(one.near) == KEPT for one in ranked[1:])
