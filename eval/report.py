"""The evaluation as one self-contained HTML page: no script, no network, light and dark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from eval.ceiling import AxisCeiling, Ceiling
from eval.failures import failures
from eval.llm_part import HEADINGS, LlmPart, verdict_of
from eval.plots import class_bars, confusion, reliability, risk_coverage
from eval.predictions import Predictions
from eval.summary import AxisSummary, Summary
from eval.table import COLUMNS, DETAILS
from knowledge.errors import UserError
from knowledge.taxonomy import Taxonomy, load_taxonomy

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
    runs: Sequence[Predictions], summaries: Sequence[Summary], ceiling: Ceiling, llm: LlmPart | None = None
) -> str:
    """The page; the first system leads, the others stand beside it; `llm` tells of an LLM where one was asked."""
    lead = summaries[0]
    environment = Environment(
        loader=PackageLoader("eval", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    name = namer(load_taxonomy())
    return environment.get_template("report.html.j2").render(
        lead=lead,
        summaries=summaries,
        columns=[column for column in COLUMNS if column[1] in lead.axes],
        details=DETAILS,
        tiles=_tiles(lead, ceiling),
        sections=[_section(axis, summaries, ceiling, name) for axis in lead.axes],
        failures=failures(runs[0], ceiling),
        ceiling=ceiling,
        name=name,
        llm=llm,
        llm_headings=HEADINGS,
        llm_verdict=verdict_of(llm.worth) if llm and llm.worth else "",
    )


def _environment() -> Environment:
    return Environment(
        loader=PackageLoader("eval", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
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


def _section(
    axis: str, summaries: Sequence[Summary], ceiling: Ceiling, name: Callable[[str], str]
) -> Section:
    of = {summary.system: summary.axes[axis] for summary in summaries if axis in summary.axes}
    lead = summaries[0].axes[axis]
    human = ceiling.axes.get(axis)
    return Section(
        lead,
        human,
        axis in _OPEN or len(summaries[0].axes) == 1,
        risk_coverage(of),
        reliability(lead),
        class_bars(lead, human.classes if human else {}, name),
        confusion(lead, name),
    )
