"""What is worth running: what a probe may tell, and what fits into a script."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from knowledge.diagnostics.choose import (
    COMPILED_TABLES,
    compiled_tables,
    expected_bits,
    read_tables,
    tables_of,
)
from knowledge.diagnostics.probe import CAUSES, catalogue
from knowledge.errors import DataError

EVEN = dict.fromkeys(CAUSES, 1 / len(CAUSES))


def test_a_damaged_file_of_tables_is_named_with_the_command_that_makes_it_anew(tmp_path: Path) -> None:
    damaged = tmp_path / "tables.json"
    with pytest.raises(DataError, match=r"\btables\.json\b"):
        read_tables(damaged)
    for text in ("{", json.dumps({"owner": []})):
        damaged.write_text(text, "utf-8")
        with pytest.raises(DataError) as error:
            read_tables(damaged)
        assert error.value.remedy == "Run: python -m knowledge.findings.compile"


def test_tables_are_read_as_they_were_written(tmp_path: Path) -> None:
    made = tables_of(catalogue()[:3])
    (tmp_path / "t.json").write_text(compiled_tables(made), "utf-8")
    again = read_tables(tmp_path / "t.json")
    assert all(np.array_equal(getattr(made, name), getattr(again, name)) for name in type(made).__slots__)


def test_the_shipped_tables_say_of_a_probe_what_it_says_itself() -> None:
    shipped = expected_bits(EVEN, catalogue())
    assert shipped[:3] == pytest.approx(expected_bits(EVEN, catalogue()[:3]))
    assert COMPILED_TABLES.is_file()


def test_who_knows_the_cause_learns_nothing_from_a_probe() -> None:
    sure = {cause: float(cause == CAUSES[0]) for cause in CAUSES}
    assert max(expected_bits(sure, catalogue()[:3])) == pytest.approx(0, abs=1e-9)
