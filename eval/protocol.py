"""What is evaluated (anything that learns from prepared reports and ranks ids for others), and its predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from knowledge.errors import DataError, reason
from knowledge.judging.axes import Judged
from knowledge.taxonomy import Taxonomy
from knowledge.training.items import Prepared

# What an LLM took and did in an evaluation: money, time, fallbacks, and what it made up.


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CallUsage(_Value):
    """One question to an LLM. What it took is None where a kept answer does not say."""

    duty: str
    kept: bool
    """The answer comes from a cassette or the cache: what it took is of the day it was asked for."""
    failed: bool = False
    tokens_in: int | None = None
    tokens_out: int | None = None
    estimated: bool = False
    """The server did not report all of its tokens."""
    cost: float | None = None
    """US dollars, at the prices of this run."""
    seconds: float | None = None
    """Until its reply was read, a second attempt included."""


class Usage(_Value):
    """What one report took of an LLM, and what came of it."""

    used: bool
    """Its judgement is in the answer."""
    asked: bool
    """A question really went to the server."""
    cached: bool
    """A reply came from the cache: tokens, cost and seconds are not those of a fresh call."""
    tokens_in: int
    tokens_out: int
    cost: float
    """US dollars."""
    seconds: float
    """What the LLM added to the time of the triage."""
    faults: list[str] = []
    """Why a duty was not done, in a word each."""
    made_up: int = 0
    """Lines, cases and versions that do not exist, as the model wrote them; all were dropped."""
    voided: bool = False
    """The reason, or the whole answer, was void, since it named what does not exist."""
    fabricated: int = 0
    """Ids, lines and cases that do not exist in what came out."""
    late: bool = False
    """The time did not suffice for a written answer."""
    calls: list[CallUsage] = []
    """Each question of the duties, now or when it was recorded."""


class Asked(_Value):
    """The LLM that a system asked; prices are US dollars per million tokens, `weights` says what fused it."""

    model: str
    duties: list[str]
    price_input: float
    price_output: float
    weights: str
    note: str = ""
    """Where the answers come from, unless they were asked for."""

    @property
    def priced(self) -> bool:
        """Whether a price is set."""
        return self.price_input + self.price_output > 0

    @property
    def replayed(self) -> bool:
        """Whether the answers are recorded ones."""
        return bool(self.note)


@dataclass(frozen=True, slots=True)
class UsageSummary:
    """Sums over reports. Means and times are over `fresh` reports: asked about, without the cache."""

    reports: int
    used: int
    fresh: int
    cached: int
    tokens_in: float | None
    """Mean of a fresh report; None where none is fresh."""
    tokens_out: float | None
    cost: float
    """US dollars spent in this run."""
    cost_each: float | None
    """Mean US dollars of a fresh report."""
    p50: float | None
    """Seconds."""
    p95: float | None
    fallbacks: int
    """Reports on which the LLM said nothing of use: the local answer alone, or none."""
    partial: int
    """Reports of which one duty failed."""
    faults: Mapping[str, int]
    made_up: int
    voided: int
    fabricated: int

    @property
    def fabrication_rate(self) -> float:
        """Share of reports whose answer holds something made up: reports are counted, not things."""
        return self.fabricated / self.reports if self.reports else 0.0

    @property
    def fallback_rate(self) -> float:
        """Share of reports on which the LLM said nothing of use."""
        return self.fallbacks / self.reports if self.reports else 0.0


def sum_up(usages: Sequence[Usage]) -> UsageSummary | None:
    """All reports of a system; None where it asked no LLM."""
    if not usages:
        return None
    fresh = [one for one in usages if one.asked and not one.cached]
    p50, p95 = _percentiles([one.seconds for one in fresh])
    return UsageSummary(
        reports=len(usages),
        used=sum(one.used for one in usages),
        fresh=len(fresh),
        cached=sum(one.cached for one in usages),
        tokens_in=_mean([one.tokens_in for one in fresh]),
        tokens_out=_mean([one.tokens_out for one in fresh]),
        cost=sum(one.cost for one in usages),
        cost_each=_mean([one.cost for one in fresh]),
        p50=p50,
        p95=p95,
        fallbacks=sum(not one.used for one in usages),
        partial=sum(one.used and bool(one.faults) for one in usages),
        faults=dict(Counter(fault for one in usages for fault in one.faults).most_common()),
        made_up=sum(one.made_up for one in usages),
        voided=sum(one.voided for one in usages),
        fabricated=sum(one.fabricated > 0 for one in usages),
    )


@dataclass(frozen=True, slots=True)
class DutySummary:
    """What one duty took. Sums and times are over the `measured` calls, those known to have taken something."""

    calls: int
    """Questions that were put, in this run or when they were recorded."""
    failed: int
    """Without an answer of use; what they took counts."""
    measured: int
    recorded: int
    """Of the measured ones, those put when the cassette was recorded."""
    estimated: int
    """Of the measured ones, those whose tokens the server did not report."""
    tokens_in: int | None
    """None where nothing was measured."""
    tokens_out: int | None
    cost: float | None
    """US dollars; None also where no price is set."""
    p50: float | None
    """Seconds."""
    p95: float | None


def sum_up_duties(usages: Sequence[Usage], *, priced: bool) -> dict[str, DutySummary]:
    """What each duty took that was asked for, or answered from a cassette or the cache."""
    calls: dict[str, list[CallUsage]] = {}
    for call in (call for one in usages for call in one.calls):
        calls.setdefault(call.duty, []).append(call)
    return {duty: _duty(own, priced=priced) for duty, own in calls.items()}


def _duty(calls: Sequence[CallUsage], *, priced: bool) -> DutySummary:
    known = [call for call in calls if call.seconds is not None]
    p50, p95 = _percentiles([call.seconds or 0.0 for call in known])
    return DutySummary(
        calls=len(calls),
        failed=sum(call.failed for call in calls),
        measured=len(known),
        recorded=sum(call.kept for call in known),
        estimated=sum(call.estimated for call in known),
        tokens_in=sum(call.tokens_in or 0 for call in known) if known else None,
        tokens_out=sum(call.tokens_out or 0 for call in known) if known else None,
        cost=sum(call.cost or 0.0 for call in known) if known and priced else None,
        p50=p50,
        p95=p95,
    )


def _mean(values: Sequence[float]) -> float | None:
    return float(np.mean(values)) if values else None


def _percentiles(values: Sequence[float]) -> tuple[float | None, float | None]:
    if not values:
        return None, None
    return float(np.percentile(values, 50)), float(np.percentile(values, 95))


SCORED: tuple[Judged, ...] = ("type", "distributed", "stage", "symptom", "cause", "fix")
"""The axes that are scored, in the order in which they are reported."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What a system says on one axis: ids with probabilities, best first; what it claims; its answer set.

    Probabilities of 0 throughout = the system gives none. `answer` empty = "cannot tell"; `answer_set` empty =
    the system gives none. What is not given is unscored, not missed.
    """

    ranking: tuple[tuple[str, float], ...]
    answer: tuple[str, ...] = ()
    answer_set: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """A system's opinions on one report; an axis it lacks (a failed call, say) counts as unscored.

    `neighbours` are the ids of the cases it shows, nearest first.
    """

    axes: Mapping[Judged, Opinion]
    neighbours: tuple[str, ...] = ()
    usage: Usage | None = None
    """What it took of an LLM, where one was asked."""


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """What a fold leaves to learn from; `corpus` are those of them that may be shown as neighbours."""

    learn: Sequence[Prepared]
    corpus: Sequence[Prepared]
    taxonomy: Taxonomy


class System(Protocol):
    """A system under evaluation. `fit` is called once a fold and forgets what was learned before."""

    @property
    def name(self) -> str:
        """How tables and files call it."""
        ...

    def fit(self, train: TrainingSet) -> None:
        """Learn from a fold's training set, and from nothing else."""
        ...

    def rank(self, items: Sequence[Prepared]) -> list[Verdict]:
        """One verdict for each report, in their order; the reports' labels must not be looked at."""
        ...


# Predictions as values and as a JSON file: all that metrics, comparisons and the report are made from.


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


class Origin(_Value):
    """Where a result comes from."""

    made: str
    """Day and time, UTC."""
    version: str
    commit: str
    """Of the checkout; "-dirty" where files differ from it, "" outside of one."""
    command: str
    data: str

    def facts(self) -> list[tuple[str, str]]:
        """Names and values, in the order in which they are shown."""
        commit = self.commit or "not known: installed from a package"
        return [
            ("made", self.made),
            ("version", self.version),
            ("commit", commit),
            ("command", self.command),
            ("data", self.data),
        ]


class Predictions(_Value):
    """Every prediction of one system; `split` says how they were kept apart from what was learned."""

    format: Literal[1] = 1
    system: str
    split: str
    learned_from: str
    types_only: bool = False
    asked: Asked | None = None
    """The LLM, where the system asked one."""
    origin: Origin | None = None
    """Of a run that was written with a report."""
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
        raise DataError(f"Can't read {file}: {reason(error)}.", "Check the path.") from error
    except ValidationError as error:
        raise DataError(
            f"{file} {what} ({error.error_count()} problems).", f"Create it with: {made_by}"
        ) from error
