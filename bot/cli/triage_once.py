"""Triages for the command line: by the engine, and by the LLM beside it where one is configured and asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.settings import load_settings, unknown_settings
from knowledge.errors import UserError

if TYPE_CHECKING:
    from knowledge.engine import Knowledge
    from knowledge.report import Report
    from knowledge.triage import Triage
    from llm.config import LlmConfig

Triager = Callable[["Report", str | None], "Triage"]
"""A report, and what its diagnostics script printed (None: nothing), to its triage."""


@contextmanager
def open_triager(knowledge: Knowledge, top: int) -> Iterator[Triager]:
    """What triages; one connection to the LLM serves all reports. Says so when a configured LLM is not asked."""
    from bot.runtime.llm_setup import llm_config, measurement, open_second_reader, why_silent
    from knowledge.engine import triage, triage_with_result

    settings = load_settings()
    for said in unknown_settings():
        print(f"warning: {said}", file=sys.stderr)
    config = llm_config(settings)
    silent = why_silent(config, measurement(settings, config)) if config else None
    if silent:
        print(silent, file=sys.stderr)
    with open_second_reader(settings) as reader:

        def one(report: Report, result: str | None = None) -> Triage:
            if reader is not None:
                return reader.triage(report, knowledge, top, result=result).triage
            if result is not None:
                return triage_with_result(report, result, knowledge, top=top)
            return triage(report, knowledge, top=top)

        yield one


def configured_llm() -> LlmConfig:
    """The LLM of the settings; UserError when there is none."""
    from bot.runtime.llm_setup import llm_config

    config = llm_config(load_settings())
    if config is None:
        raise UserError("No LLM is configured.", "Set DISTRIAGE_LLM_BASE_URL and DISTRIAGE_LLM_MODEL.")
    return config


def print_requests(reports: Iterable[Report], knowledge: Knowledge, config: LlmConfig) -> None:
    """Print the requests of all reports, both duties, as one JSON list; nothing is sent."""
    from llm.dry_run import dry_run

    asked = [request for report in reports for request in dry_run(report, knowledge, config)]
    print(json.dumps(asked, indent=2, ensure_ascii=False))
