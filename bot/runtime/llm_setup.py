"""The composition of the second reader by the settings; without an LLM nothing of it is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from bot.settings import Settings
from knowledge.errors import SettingsError

if TYPE_CHECKING:
    from llm.calls import LlmAccess
    from llm.fusion import Measured
    from llm.second_reader import SecondReader
    from llm.values import LlmConfig


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
    from bot.db.llm_ledger import open_ledger
    from llm.calls import Caller, FileCache
    from llm.openai_client import OpenAiClient
    from llm.second_reader import SecondReader
    from llm.values import RealClock

    cache = FileCache(settings.data_dir / "cache" / "llm", config)
    cache.forget()
    clock = RealClock()
    with OpenAiClient(config) as client:
        caller = Caller(config, client, cache, open_ledger(settings), clock)
        yield SecondReader(config, caller, clock, measured.weights if measured else None)


def llm_access(settings: Settings, *, writer: bool = False) -> LlmAccess | None:
    """What an evaluation needs to ask the LLM; None where none is configured.

    An evaluation scores rankings, and nobody reads what is written: the writer and its verifier are asked only where
    `writer` wants to know what they take.
    """
    from bot.db.llm_ledger import open_ledger
    from llm.calls import FileCache, LlmAccess
    from llm.openai_client import OpenAiClient
    from llm.values import DUTIES, RANKING

    config = llm_config(settings)
    if config is None:
        return None
    measured = measurement(settings, config)
    wanted = {duty for duty in config.duties if duty in RANKING} | ({"writer"} if writer else set())
    config = replace(config, duties=tuple(duty for duty in DUTIES if duty in wanted))
    cache = FileCache(settings.data_dir / "cache" / "llm", config)
    return LlmAccess(config, open_ledger(settings), cache, measured, lambda: OpenAiClient(config))


def measurement(settings: Settings, config: LlmConfig) -> Measured | None:
    """What is known of the configured model; None before `bot eval --fit-fusion`. DataError when damaged."""
    from llm.fusion import read_measured

    return read_measured(settings.data_dir, config)


def why_silent(config: LlmConfig, measured: Measured | None) -> str | None:
    """A sentence for people on why a configured LLM is not asked; None when it is."""
    if config.use == "always" or measured is None or measured.use:
        return None
    return (
        f"{config.model} is configured but disabled, based on its measurement: {measured.why} "
        "DISTRIAGE_LLM_USE=always overrides this."
    )


def standing(settings: Settings) -> str | None:
    """A sentence on the configured LLM and what is known of it, for `bot doctor`; None without one."""
    config = llm_config(settings)
    if config is None:
        return None
    measured = measurement(settings, config)
    silent = why_silent(config, measured)
    if silent or measured is None:
        return (
            silent
            or f"{config.model} is used. It hasn't been measured, so it counts only "
            "as far as it agrees with the local model"
        )
    return f"{config.model} is used; measured: {measured.why}"


def llm_config(settings: Settings) -> LlmConfig | None:
    """The configuration, None without an LLM.

    Raises `SettingsError` for a URL that is none, and for a budget that cannot be kept.
    """
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    from llm.dialect import address_of
    from llm.values import DUTIES, MAX_WAIT, LlmConfig

    address_of(settings.llm_base_url)
    budgets = (settings.llm_daily_budget, settings.llm_repository_daily_budget)
    if any(b is not None for b in budgets) and settings.llm_price_input + settings.llm_price_output == 0:
        raise SettingsError(
            "An LLM budget is set, but both LLM prices are 0, so the budget would have no effect.",
            "Set DISTRIAGE_LLM_PRICE_INPUT and DISTRIAGE_LLM_PRICE_OUTPUT, or unset the budget.",
        )
    return LlmConfig(
        base_url=settings.llm_base_url,
        model=settings.llm_model,
        api_key=settings.llm_api_key.get_secret_value() if settings.llm_api_key else "",
        answers_as=settings.llm_answers_as,
        timeout=min(settings.llm_timeout, MAX_WAIT),
        duties=tuple(duty for duty in DUTIES if duty in settings.llm_duties.split(",")),
        reason_mode=settings.llm_reason,
        daily_budget=settings.llm_daily_budget,
        repository_daily_budget=settings.llm_repository_daily_budget,
        concurrency=settings.llm_concurrency,
        price_input=settings.llm_price_input,
        price_output=settings.llm_price_output,
        max_output=settings.llm_max_output,
        use=settings.llm_use,
    )
