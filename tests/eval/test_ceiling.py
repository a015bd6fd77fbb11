from pathlib import Path

import pytest

from eval.ceiling import SHIPPED, ceiling_of, shipped_ceiling
from eval.protocol import SCORED
from knowledge.errors import DataError
from knowledge.taxonomy import load_taxonomy
from knowledge.taxonomy.reliability import PUBLISHED

SHEETS = Path(__file__).parents[3] / "shared" / "study1"


def test_published_agreements_are_the_study_s_own() -> None:
    for axis, raw in PUBLISHED.items():
        assert shipped_ceiling().axes[axis].published
        assert round(shipped_ceiling().axes[axis].agreement, 2) == raw


def test_every_axis_has_a_ceiling_with_a_kappa_below_its_agreement() -> None:
    for axis in SCORED:
        one = shipped_ceiling().axes[axis]
        assert 0 < one.kappa < one.agreement < 1


def test_the_source_is_told() -> None:
    assert "Liu et al., TOSEM 2023" in shipped_ceiling().source


def test_classes_are_ids_of_the_taxonomy() -> None:
    taxonomy = load_taxonomy()
    for axis in ("stage", "symptom", "cause", "fix"):
        assert set(shipped_ceiling().axes[axis].classes) <= set(taxonomy.ids(axis)) | {"D.other"}


@pytest.mark.shared
def test_the_shipped_figures_are_those_of_the_sheets() -> None:
    if not SHEETS.exists():
        pytest.skip("needs the data beside the repository: ../shared/study1")
    assert ceiling_of(SHEETS) == shipped_ceiling()
    assert SHIPPED.read_text("utf-8") == ceiling_of(SHEETS).model_dump_json(indent=1) + "\n"


def test_a_folder_without_sheets_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="reliability_analysis_round"):
        ceiling_of(tmp_path)
