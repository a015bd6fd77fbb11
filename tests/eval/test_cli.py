"""`bot eval`'s own decisions, with the files of two runs; whole runs are in the other tests."""

import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from bot.cli.evaluate import register
from bot.cli.evaluate_output import passes, show
from eval.compare import baseline_of
from eval.origin import Part, keep_part
from eval.protocol import Predictions, read_predictions, write_predictions
from knowledge.errors import DataError, UserError
from tests.eval.factory import predicted, run_of
from tests.eval.test_failure_axis import AXIS


@pytest.fixture
def app() -> typer.Typer:
    made = typer.Typer()
    register(made)
    return made


def files(folder: Path) -> tuple[str, str]:
    for name, right in (("a", 10), ("b", 30)):
        cases = [predicted(f"r#{k}", ["A.1"], {"A.1" if k < right else "B.1": 1.0}) for k in range(40)]
        write_predictions(run_of(cases, name), folder / f"{name}.json")
    return str(folder / "a.json"), str(folder / "b.json")


def test_two_files_are_compared(app: typer.Typer, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["eval", "--compare", *files(tmp_path)])
    assert result.exit_code == 0, result.output
    assert "| symptom | top1 | 40 | 0.250 | 0.750 | +0.500" in result.output
    assert "| 0 / 20 | 0.000 | better |" in result.output


def test_predictions_read_back_as_written(tmp_path: Path) -> None:
    a, _ = files(tmp_path)
    assert read_predictions(Path(a)).system == "a"
    again = tmp_path / "again.json"
    write_predictions(read_predictions(Path(a)), again)
    assert again.read_bytes() == Path(a).read_bytes()


def test_what_is_no_file_of_predictions_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(DataError, match="does not contain predictions"):
        read_predictions(tmp_path / "x.json")
    with pytest.raises(DataError, match="Can't read"):
        read_predictions(tmp_path / "none.json")


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--cross-validate"], "need --data"),
        (["--skip-known"], "need --data"),
        (["--data", "x.jsonl", "--splits", "time"], "--splits needs --cross-validate"),
        (["--systems", "distriage,oracle"], "Unknown system: oracle"),
        (["--gate", "no such file"], "Can't read"),
        (["--report", "/dev/null/out"], "Can't create"),
    ],
)
def test_options_that_do_not_go_together_are_told(app: typer.Typer, arguments: list[str], why: str) -> None:
    result = CliRunner().invoke(app, ["eval", *arguments])
    assert isinstance(result.exception, UserError)
    assert why in str(result.exception)


@pytest.mark.parametrize(("right", "passed"), [(50, True), (30, False)])
def test_the_gate_prints_the_differences(
    right: int, passed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(hits: int) -> Predictions:
        return run_of([predicted(f"r#{k}", ["A.1"], {"A.1" if k < hits else "B.1": 1.0}) for k in range(60)])

    assert passes(baseline_of(run(50)), run(right)) is passed
    printed = capsys.readouterr().err
    assert "| symptom | top1 | 60 |" in printed
    assert ("significantly worse" in printed) is not passed


def test_a_report_s_folder_holds_the_page_and_all_that_it_is_made_of(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cases = [predicted(f"o/r#{n}", ["A.1"], {"A.1" if n % 3 else "B.1": 0.7}) for n in range(30)]
    own = Part(title="Duplicates", head=["", "R@1"], rows=[["distriage", "0.52"]])
    keep_part(own, "duplicates", tmp_path)
    show({"distriage": run_of(cases)}, None, tmp_path, AXIS, ["mine.jsonl"])
    page = (tmp_path / "report.html").read_text("utf-8")
    for words in ("mine.jsonl; 30 cases", "Known failures", "Duplicates", ">0.52<"):
        assert words in page
    origin = read_predictions(tmp_path / "predictions-distriage.json").origin
    assert origin is not None and origin.data.startswith("mine.jsonl; 30 cases")
    figures = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert figures["symptom"]["cases"] == 30 and figures["symptom"]["top1"]["value"] == pytest.approx(2 / 3)
    assert figures["failure"]["real"]["cases"] == 4
    assert "<td>failure, real</td>" in page
    assert "| failure, retold | 1 |" in capsys.readouterr().out


def test_a_comparison_is_written_as_a_page(app: typer.Typer, tmp_path: Path) -> None:
    arguments = ["eval", "--compare", *files(tmp_path), "--report", str(tmp_path / "out")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    assert "Two runs on the same cases" in (tmp_path / "out" / "comparison.html").read_text("utf-8")
