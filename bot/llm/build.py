"""The composition of the second reader by the settings; without an LLM nothing of it is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.llm.config import LlmConfig, llm_config
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.llm.measured import Measured
    from bot.llm.second_reader import SecondReader


@contextmanager
def open_second_reader(settings: Settings) -> Iterator[SecondReader | None]:
    """The second reader of the settings, closed at the end; None where no LLM is configured, or none is asked.

    Raises `SettingsError` when the settings contradict each other, DataError when a measurement is damaged.
    The server is not asked anything yet.
    """
    config = llm_config(settings)
    measured = None if config is None else measurement(settings, config)
    if config is None or why_silent(config, measured):
        yield None
        return
    from bot.llm.calls import Caller
    from bot.llm.ledgers import open_ledger
    from bot.llm.openai_client import OpenAiClient
    from bot.llm.real_clock import RealClock
    from bot.llm.reply_cache import FileCache
    from bot.llm.second_reader import SecondReader

    cache = FileCache(settings.data_dir / "cache" / "llm")
    cache.forget()
    clock = RealClock()
    with OpenAiClient(config) as client:
        caller = Caller(config, client, cache, open_ledger(settings), clock)
        yield SecondReader(config, caller, clock, measured.weights if measured else None)


def measurement(settings: Settings, config: LlmConfig) -> Measured | None:
    """What is known of the configured model; None before `bot eval --fit-fusion`. DataError when damaged."""
    from bot.llm.measured import read_measured

    return read_measured(settings.data_dir, config)


def why_silent(config: LlmConfig, measured: Measured | None) -> str | None:
    """A sentence for people on why a configured LLM is not asked; None when it is."""
    if config.use == "always" or measured is None or measured.use:
        return None
    return (
        f"{config.model} is configured and not asked, by its measurement: {measured.why} "
        "DISTRIAGE_LLM_USE=always asks it all the same."
    )


def standing(settings: Settings) -> str | None:
    """A sentence on the configured LLM and what is known of it, for `bot doctor`; None without one."""
    config = llm_config(settings)
    if config is None:
        return None
    measured = measurement(settings, config)
    silent = why_silent(config, measured)
    if silent or measured is None:
        return silent or f"{config.model} is asked, weakly weighted: it was not measured (docs/llm.md)"
    return f"{config.model} is asked; measured: {measured.why}"
