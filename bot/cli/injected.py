"""`bot eval --injected`: logs of injected faults, read by distriage as it ships."""

from __future__ import annotations

import sys
from pathlib import Path


def run_injected(path: Path, report: Path | None, *, plain: bool = False) -> None:
    """Print the figures; into the folder `report` what was read wrongly of the half that is developed on.

    Raises DataError when `path` holds no injected faults.
    """
    from bot.cli.evaluate_output import ticking
    from bot.settings import load_settings
    from eval.injected import PLAIN, failures, read_injected, score_injected, table
    from eval.log_prefixes import STYLES
    from knowledge.engine import load_knowledge, triage

    records = read_injected(path)
    settings = load_settings()
    knowledge = load_knowledge(settings.model_dir, settings.data_dir / "cache")
    styles = (PLAIN,) if plain else (PLAIN, *STYLES)
    with ticking() as tick:
        rows = score_injected(
            records,
            lambda one: triage(one, knowledge),
            styles=styles,
            progress=lambda n: tick("reading injected faults", n),
        )
    sys.stdout.write(table(rows))
    if report:
        report.mkdir(parents=True, exist_ok=True)
        (report / "injected.jsonl").write_text(failures(rows), "utf-8")
