"""The sample report: every line is a consequence, and mpirun names the rank that ended first."""

from __future__ import annotations

from pathlib import Path

from knowledge.evidence import read_report
from knowledge.report import Report
from knowledge.signatures import SignatureTable

SAMPLE = Path(__file__).parents[3] / "examples" / "hang.md"


def test_the_first_line_of_the_rank_that_the_launcher_names_is_the_root() -> None:
    reading = read_report(Report("hang.md", "Training hangs", SAMPLE.read_text("utf-8")), SignatureTable())
    first = reading.decisive[0]
    assert (first.role, first.rank) == ("root", 4)
    assert "Connection refused" in first.text
