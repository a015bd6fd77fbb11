"""`bot eval --injected`: logs of injected faults, read by distriage as it ships."""

from __future__ import annotations

import sys
from pathlib import Path


def run_injected(path: Path, report: Path | None) -> None:
    """Print the figures; into the folder `report` what was read wrongly of the half that is developed on.

    Raises DataError when `path` holds no injected faults.
    """
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from eval.injected import failures, read_injected, score_injected, table
    from knowledge.engine import load_knowledge, triage

    records = read_injected(path)
    settings = load_settings()
    knowledge = load_knowledge(settings.model_dir, settings.cache)
    with ticking() as tick:
        rows = score_injected(
            records,
            lambda one: triage(one, knowledge),
            progress=lambda n: tick("reading injected faults", n),
        )
    sys.stdout.write(table(rows))
    if report:
        report.mkdir(parents=True, exist_ok=True)
        (report / "injected.jsonl").write_text(failures(rows), "utf-8")
