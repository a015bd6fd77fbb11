"""What `bot eval` prints and writes: progress, tables, the report, comparisons, the gate."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from eval.ceiling import ceiling_of, shipped_ceiling
from eval.compare import Baseline, baseline_of, compare, judge_run, read_baseline, regressions, write_baseline
from eval.findings import AXIS, FailureAxis, axis_rows, failures_part, failures_text
from eval.llm_part import llm_markdown, llm_part
from eval.origin import data_of, origin_of, read_parts
from eval.protocol import Origin, Predictions, System, file_names, read_predictions, write_predictions
from eval.report import comparison_html, report_html
from eval.summary import differences, figures_json, markdown, note_of, summarise
from knowledge.errors import UserError, reason


@contextmanager
def ticking() -> Iterator[Callable[[str, int], None]]:
    """A line of progress on standard error, one for each kind of step."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        tasks: dict[str, TaskID] = {}

        def tick(what: str, count: int) -> None:
            kind = what.partition(",")[0]
            if kind not in tasks:
                tasks[kind] = progress.add_task(kind, total=None)
            progress.advance(tasks[kind], count)

        yield tick


def prepare(report: Path | None, gate: Path | None) -> Baseline | None:
    """Make the report's folder and read the baseline before minutes are spent. UserError when that fails."""
    if report:
        try:
            report.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"Can't create {report}: {reason(error)}.", "Choose another folder.") from error
    return read_baseline(gate) if gate else None


def origin(data: str) -> Origin:
    """The origin of what this command measures on `data`."""
    return origin_of(sys.argv[1:], data, datetime.now(UTC))


def show(
    runs: Mapping[str, Predictions],
    study1: Path | None,
    report: Path | None,
    found: FailureAxis | None,
    data: Sequence[str],
) -> None:
    """Print the tables; write the page, all predictions and what it is made of into the folder `report`.

    `found`: how well known failures were found; `data`: names of the files that were scored.
    """
    summaries = [summarise(predictions) for predictions in runs.values()]
    ceiling = ceiling_of(study1) if study1 else shipped_ceiling()
    rows = axis_rows(found) if found else []
    sys.stdout.write(markdown(summaries, ceiling, note=note_of(summaries[0], ceiling), more=rows))
    llm = llm_part(runs)
    if llm:
        sys.stdout.write("\n" + llm_markdown(llm))
    if found:
        sys.stdout.write("\n" + failures_text(found))
    if report:
        made = origin(data_of(data, next(iter(runs.values())).cases))
        kept = []
        for name, file in file_names(runs).items():
            write_predictions(runs[name].model_copy(update={"origin": made}), report / file)
            kept.append(file)
        parts = [*([failures_part(found)] if found else []), *read_parts(report)]
        page = report / "report.html"
        html = report_html(list(runs.values()), summaries, ceiling, llm, origin=made, parts=parts, more=rows)
        page.write_text(html, "utf-8")
        figures = figures_json(summaries[0]) | ({AXIS: found.figures()} if found else {})
        for name, values in (("llm", llm and llm.values()), ("figures", figures)):
            if values:
                kept.append(f"{name}.json")
                (report / kept[-1]).write_text(json.dumps(values, indent=2) + "\n", "utf-8")
        print(f"\nReport: {page}; also written: {', '.join(kept)}", file=sys.stderr)


def compare_files(first: Path, second: Path, report: Path | None) -> None:
    """Print how the predictions of the second file differ from the first's; as a page into the folder `report`."""
    a, b = read_predictions(first), read_predictions(second)
    sys.stdout.write(differences(compare(a, b), f"{a.system} ({first})", f"{b.system} ({second})"))
    if report:
        prepare(report, None)
        page = report / "comparison.html"
        page.write_text(comparison_html(a, b, origin(f"{first.name}, {second.name}")), "utf-8")
        print(f"\nReport: {page}", file=sys.stderr)


def keep_fusion(runs: Mapping[str, Predictions], systems: Sequence[System]) -> None:
    """Keep the fitted weights and whether the LLM is asked, and say where. UserError when too little was measured."""
    from bot.settings import load_settings
    from eval.llm_systems import store
    from eval.session import together

    part, system = llm_part(runs), together(systems)
    assert part is not None and part.worth is not None, "distriage runs with it"
    file, measured = store(load_settings().data_dir, system.config, system.rows, part.worth)
    what = "enabled" if measured.use else "disabled (DISTRIAGE_LLM_USE=always overrides this)"
    print(f"\n{system.config.model} is now {what}. Saved to {file}", file=sys.stderr)


def save_baseline(run: Predictions, file: Path) -> None:
    """Store what the gate needs of a run."""
    write_baseline(baseline_of(run), file)


def passes(stored: Baseline, run: Predictions) -> bool:
    """Print the differences to the stored baseline; False when one is significantly worse."""
    changes = judge_run(stored, run)
    worse = regressions(changes)
    print(f"\n{differences(changes, 'baseline', 'this run')}", file=sys.stderr)
    if worse:
        what = ", ".join(f"{one.axis} {one.metric} {one.delta:+.3f}" for one in worse)
        print(f"bot: this run is significantly worse than the baseline: {what}.", file=sys.stderr)
    return not worse
