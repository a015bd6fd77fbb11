"""What `bot eval` prints and writes: progress, tables, the report, comparisons, the gate."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from eval.ceiling import ceiling_of, shipped_ceiling
from eval.compare import Baseline, baseline_of, compare, judge_run, read_baseline, regressions, write_baseline
from eval.findings import FindingScore, findings_table
from eval.llm_part import llm_markdown, llm_part
from eval.protocol import Predictions, System, file_names, read_predictions, write_predictions
from eval.report import report_html
from eval.summary import differences, markdown, note_of, summarise
from knowledge.errors import UserError


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
            raise UserError(
                f"{report} cannot be created: {error.strerror}.", "Choose another folder."
            ) from error
    return read_baseline(gate) if gate else None


def show(runs: Mapping[str, Predictions], study1: Path | None, report: Path | None) -> None:
    """Print the tables; write the page and all predictions into the folder `report`."""
    summaries = [summarise(predictions) for predictions in runs.values()]
    ceiling = ceiling_of(study1) if study1 else shipped_ceiling()
    sys.stdout.write(markdown(summaries, ceiling, note=note_of(summaries[0], ceiling)))
    llm = llm_part(runs)
    if llm:
        sys.stdout.write("\n" + llm_markdown(llm))
    if report:
        names = file_names(runs)
        for name, predictions in runs.items():
            write_predictions(predictions, report / names[name])
        page = report / "report.html"
        page.write_text(report_html(list(runs.values()), summaries, ceiling, llm), "utf-8")
        kept = list(names.values())
        if llm:
            kept.append("llm.json")
            (report / "llm.json").write_text(json.dumps(llm.values(), indent=2) + "\n", "utf-8")
        print(f"\nReport: {page}; also written: {', '.join(kept)}", file=sys.stderr)


def show_findings(score: FindingScore | None, report: Path | None) -> None:
    """Print how well known failures were found; beside the page as findings.json."""
    if score is None:
        return
    sys.stdout.write("\n" + findings_table(score))
    if report:
        (report / "findings.json").write_text(json.dumps(asdict(score), indent=2) + "\n", "utf-8")


def compare_files(first: Path, second: Path) -> None:
    """Print how the predictions of the second file differ from the first's."""
    a, b = read_predictions(first), read_predictions(second)
    sys.stdout.write(differences(compare(a, b), f"{a.system} ({first})", f"{b.system} ({second})"))


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
        print(f"bot: the run is significantly worse than the baseline: {what}.", file=sys.stderr)
    return not worse
