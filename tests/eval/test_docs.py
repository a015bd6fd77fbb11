"""docs/evaluation.md names every metric, option, axis and system."""

from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.evaluate import register
from eval.metrics import METRICS
from eval.protocol import SCORED
from eval.session import NAMES

TEXT = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text("utf-8")
OPTIONS = (
    "data",
    "cross-validate",
    "skip-known",
    "systems",
    "splits",
    "report",
    "compare",
    "gate",
    "study1",
    "table",
    "fit-fusion",
    "fresh",
    "writer",
)


@pytest.mark.parametrize("name", [*METRICS, *NAMES])
def test_metrics_and_systems_are_explained(name: str) -> None:
    assert f"`{name}`" in TEXT


@pytest.mark.parametrize("option", OPTIONS)
def test_options_are_explained_and_exist(option: str) -> None:
    app = typer.Typer()
    register(app)
    printed = CliRunner().invoke(app, ["eval", "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
    assert f"--{option}" in TEXT
    assert f"--{option}" in printed


def test_axes_are_named() -> None:
    assert ", ".join(SCORED) in TEXT
