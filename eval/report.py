"""The evaluation, and a comparison of two runs, as self-contained HTML pages: no script, no network, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eval.ceiling import AxisCeiling, Ceiling
from eval.compare import changed, compare
from eval.llm_part import DUTY_HEADINGS, HEADINGS, LlmPart, verdict_of
from eval.metrics import UNRANKED, Scored, scored
from eval.origin import Part, issue_url
from eval.plots import class_bars, confusion, intervals, reliability, risk_coverage, risk_scale
from eval.protocol import CasePrediction, Origin, Predictions
from eval.summary import COLUMNS, DETAILS, AxisSummary, Summary
from knowledge.errors import UserError
from knowledge.taxonomy import Taxonomy, load_taxonomy

# The ten most instructive failures: confident, of different kinds, each with what it stood on.

COUNT = 10
_HARD = 0.75
"""Below this agreement people themselves are unsure of a class."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A case whose first id on `axis` is wrong; `remarks` say what can be learned from it."""

    case: CasePrediction
    axis: str
    labels: tuple[str, ...]
    ranking: tuple[tuple[str, float], ...]
    place: int
    claimed: bool
    remarks: tuple[str, ...]


def failures(predictions: Predictions, ceiling: Ceiling, count: int = COUNT) -> list[Failure]:
    """Failures on the symptom (on the type where only types are known), the most confident first.

    Each pair of label and prediction is shown once before any is shown again: ten of one kind teach one thing.
    """
    axis = "type" if predictions.types_only else "symptom"
    s = scored(predictions, axis)
    human = ceiling.axes[axis].classes if axis in ceiling.axes else {}
    wrong = sorted((at for at in range(len(s)) if not s.hit1[at]), key=lambda at: (-s.confidence[at], at))
    first: list[int] = []
    again: list[int] = []
    seen: set[tuple[str, str]] = set()
    for at in wrong:
        kind = (s.cases[at].labels[axis][0], s.classes[s.predicted[at]])
        (again if kind in seen else first).append(at)
        seen.add(kind)
    return [_failure(s, at, human) for at in [*first, *again][:count]]


def _failure(s: Scored, at: int, human: Mapping[str, float]) -> Failure:
    case = s.cases[at]
    opinion = case.axes[s.axis]
    labels = tuple(case.labels[s.axis])
    remarks = tuple(_remarks(s, at, human))
    return Failure(
        case, s.axis, labels, tuple(opinion.ranking[:3]), int(s.place[at]) + 1, bool(s.answered[at]), remarks
    )


def _remarks(s: Scored, at: int, human: Mapping[str, float]) -> list[str]:
    case, place, answered = s.cases[at], int(s.place[at]) + 1, bool(s.answered[at])
    out = ["claimed, and wrong" if answered else "not claimed: the triage says it cannot tell"]
    if place <= 3:
        out.append(f"the label is ranked {'second' if place == 2 else 'third'}")
    else:
        out.append(
            f"the label is ranked only {place}th" if place <= UNRANKED else "the label is not ranked at all"
        )
    if case.axes[s.axis].answer_set:
        out.append("the answer set holds it" if s.set_right[at] else "the answer set misses it, too")
    if s.axis == "symptom" and case.neighbours:
        near = [bool({*n.symptom} & {*case.labels["symptom"]}) for n in case.neighbours]
        if not any(near):
            out.append("no near case has this symptom")
        elif near[0]:
            out.append("the nearest case has the right symptom")
    told = case.axes.get("type")
    if s.axis != "type" and told and told.ranking[0][0] != "fault":
        out.append(f"taken for a {told.ranking[0][0]}")
    agreement = min((human[id] for id in case.labels[s.axis] if id in human), default=1.0)
    if agreement < _HARD:
        out.append(f"two people agree on this class only {agreement:.2f} of the time")
    if not case.lines:
        out.append("no decisive line was found in the text")
    return out


_OPEN = ("stage", "symptom")
"""Axes whose section is unfolded at first."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A headline figure, and what two people reach."""

    title: str
    value: str
    interval: str
    human: str


@dataclass(frozen=True, slots=True)
class Section:
    """One axis with its plots."""

    axis: AxisSummary
    human: AxisCeiling | None
    open: bool
    risk: Markup
    reliability: Markup
    bars: Markup
    confusion: Markup


def report_html(
    runs: Sequence[Predictions],
    summaries: Sequence[Summary],
    ceiling: Ceiling,
    llm: LlmPart | None = None,
    *,
    origin: Origin,
    parts: Sequence[Part] = (),
    more: Sequence[Sequence[str]] = (),
) -> str:
    """The page; the first system leads, the others stand beside it; `llm` tells of an LLM where one was asked.

    `parts` are measurements of their own that are shown with it; `more` are further rows of the table of axes.
    """
    lead = summaries[0]
    name = namer(load_taxonomy())
    scale = risk_scale(_of_axis(axis, summaries) for axis in lead.axes)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            lead=lead,
            summaries=summaries,
            columns=[column for column in COLUMNS if column[1] in lead.axes],
            details=DETAILS,
            tiles=_tiles(lead, ceiling),
            sections=[_section(axis, summaries, ceiling, name, scale) for axis in lead.axes],
            origin=origin,
            parts=parts,
            more=more,
            failures=failures(runs[0], ceiling),
            ceiling=ceiling,
            name=name,
            llm=llm,
            llm_headings=HEADINGS,
            duty_headings=DUTY_HEADINGS,
            llm_verdict=verdict_of(llm.worth) if llm and llm.worth else "",
        )
    )


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("eval", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["issue_url"] = issue_url
    return environment


def comparison_html(a: Predictions, b: Predictions, origin: Origin) -> str:
    """Two runs on the same cases as a page: each difference with its interval, and the cases that moved.

    UserError when they have no case in common.
    """
    found = compare(a, b)
    return (
        _environment()
        .get_template("comparison.html.j2")
        .render(runs=(a, b), found=found, plot=intervals(found), changed=changed(a, b), origin=origin)
    )


def namer(taxonomy: Taxonomy) -> Callable[[str], str]:
    """Ids to names in words; the id itself, without underscores, where the taxonomy has none."""

    def name(id: str) -> str:
        try:
            return taxonomy.entry(id).name
        except UserError:
            return id.replace("_", " ")

    return name


def _tiles(lead: Summary, ceiling: Ceiling) -> list[Tile]:
    out = []
    for title, axis, metric in COLUMNS:
        if axis not in lead.axes:
            continue
        figure = lead.axes[axis].figures[metric]
        human = ceiling.axes[axis].agreement if axis in ceiling.axes and metric == "top1" else None
        interval = "" if figure.low is None else f"{figure.low:.2f}–{figure.high:.2f}"
        value = "–" if figure.value is None else f"{figure.value:.2f}"
        out.append(Tile(title, value, interval, f"people {human:.2f}" if human is not None else ""))
    return out


def _of_axis(axis: str, summaries: Sequence[Summary]) -> dict[str, AxisSummary]:
    return {summary.system: summary.axes[axis] for summary in summaries if axis in summary.axes}


def _section(
    axis: str, summaries: Sequence[Summary], ceiling: Ceiling, name: Callable[[str], str], scale: float
) -> Section:
    lead = summaries[0].axes[axis]
    human = ceiling.axes.get(axis)
    return Section(
        lead,
        human,
        axis in _OPEN or len(summaries[0].axes) == 1,
        risk_coverage(_of_axis(axis, summaries), scale),
        reliability(lead),
        class_bars(lead, human.classes if human else {}, name),
        confusion(lead, name),
    )
