"""Predictions as values and as a JSON file: all that metrics, comparisons and the report are made from."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from eval.protocol import Opinion
from eval.usage import Asked, Usage
from knowledge.errors import DataError
from knowledge.judging.axes import Judged


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class AxisPrediction(_Value):
    """A ranking of ids with probabilities; the ids claimed (none = cannot tell) and the answer set (none given)."""

    ranking: list[tuple[str, float]]
    answer: list[str] = []
    answer_set: list[str] = []


class Shown(_Value):
    """A neighbour that was shown."""

    id: str
    url: str
    title: str
    symptom: list[str]


class CasePrediction(_Value):
    """One report: its labels, what the system said, and the evidence it stood on."""

    id: str
    group: str
    fold: str
    source: str
    repository: str
    framework: str | None
    title: str
    excerpt: str
    lines: list[str]
    labels: dict[str, list[str]]
    axes: dict[str, AxisPrediction]
    neighbours: list[Shown] = []
    usage: Usage | None = None


class Predictions(_Value):
    """Every prediction of one system; `split` says how they were kept apart from what was learned."""

    format: Literal[1] = 1
    system: str
    split: str
    learned_from: str
    types_only: bool = False
    asked: Asked | None = None
    """The LLM, where the system asked one."""
    cases: list[CasePrediction]


def axes_of(opinions: Mapping[Judged, Opinion]) -> dict[str, AxisPrediction]:
    """A verdict's opinions, probabilities rounded to five decimals."""
    return {axis: _axis(opinion) for axis, opinion in opinions.items()}


def _axis(opinion: Opinion) -> AxisPrediction:
    return AxisPrediction(
        ranking=[(id, round(p, 5)) for id, p in opinion.ranking],
        answer=list(opinion.answer),
        answer_set=list(opinion.answer_set),
    )


def write_predictions(predictions: Predictions, file: Path) -> None:
    """Write as JSON, the same bytes for the same predictions."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(predictions.model_dump_json(indent=None) + "\n", "utf-8")


def read_predictions(file: Path) -> Predictions:
    """Read back what `write_predictions` wrote. DataError when the file is something else."""
    return read_stored(Predictions, file, "does not contain predictions", "bot eval --report DIR")


def file_names(systems: Mapping[str, Predictions]) -> dict[str, str]:
    """The name of each system's file in a report folder."""
    return {name: f"predictions-{name}.json" for name in systems}


Model = TypeVar("Model", bound=BaseModel)


def read_stored(kind: type[Model], file: Path, what: str, made_by: str) -> Model:
    """What a file holds. DataError, saying `what` was expected and what it is `made_by`, when it is something else."""
    try:
        return kind.model_validate_json(file.read_bytes())
    except OSError as error:
        raise DataError(f"{file} cannot be read: {error.strerror}.", "Check the path.") from error
    except ValidationError as error:
        raise DataError(
            f"{file} {what} ({error.error_count()} problems).", f"Create it with: {made_by}"
        ) from error
