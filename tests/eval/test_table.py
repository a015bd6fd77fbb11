"""The README shows what `bot eval --table` prints: structure is compared, figures are not."""

from pathlib import Path

import pytest
import re2

from eval.ceiling import shipped_ceiling
from eval.compare import compare
from eval.summary import COLUMNS, DETAILS, differences, markdown, note_of, summarise
from tests.eval.factory import predicted, run_of

README = Path(__file__).parents[2] / "README.md"
NUMBER = re2.compile(r"\d+\.\d+|\d+")


def run() -> list:  # type: ignore[type-arg]
    cases = [predicted(f"r#{n}", ["A.1"], {"A.1" if n % 3 else "B.1": 0.7}) for n in range(30)]
    return [summarise(run_of(cases, name), 50) for name in ("distriage", "majority")]


def test_the_table_has_a_row_for_each_system_and_for_people() -> None:
    printed = markdown(run(), shipped_ceiling(), note="A note.")
    rows = [line.split("|")[1].strip() for line in printed.splitlines() if line.startswith("|")]
    assert rows == ["", "---", "distriage", "majority", "two people agree", "axis", "---", "symptom"]
    assert "| 0.67 (" in printed
    assert "0.86 (κ 0.85)" in printed


def test_every_row_of_a_table_has_as_many_cells() -> None:
    blocks = markdown(run(), shipped_ceiling(), note="A note.").split("\n\n")
    for block in blocks:
        widths = {line.count("|") for line in block.splitlines() if line.startswith("|")}
        assert len(widths) <= 1


def test_the_note_says_how_it_is_counted() -> None:
    note = note_of(run()[0], shipped_ceiling())
    assert "any label" in note and "95 % bootstrap" in note and "TOSEM 2023" in note


def test_differences_say_which_is_better() -> None:
    good = run_of([predicted(f"r#{n}", ["A.1"], {"A.1": 1.0}) for n in range(30)])
    bad = run_of([predicted(f"r#{n}", ["A.1"], {"B.1": 1.0}) for n in range(30)])
    assert "| better |" in differences(compare(bad, good), "a", "b")
    assert "| worse |" in differences(compare(good, bad), "a", "b")
    assert "no difference shown" in differences(compare(good, good), "a", "b")


def test_the_readme_shows_the_table_that_the_command_prints() -> None:
    if not README.exists():
        pytest.skip("README.md is not written yet")
    text = README.read_text("utf-8")
    head = "|  | " + " | ".join(heading for heading, _, _ in COLUMNS) + " |"
    assert head in text
    details = "| axis | cases | " + " | ".join(heading for heading, _ in DETAILS) + " |"
    assert details in text
    for row in ("distriage", "majority", "tfidf", "minilm", "knn", "two people agree"):
        found = [line for line in text.splitlines() if line.startswith(f"| {row} | ")]
        assert found, f"README.md has no row {row}: make it with bot eval --table"
        assert found[0].count("|") == head.count("|")
        assert NUMBER.search(found[0])
