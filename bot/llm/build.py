"""The composition of the second reader by the settings; without an LLM nothing of it is imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bot.llm.config import llm_config
from bot.settings import Settings

if TYPE_CHECKING:
    from bot.llm.second_reader import SecondReader


@contextmanager
def open_second_reader(settings: Settings) -> Iterator[SecondReader | None]:
    """The second reader of the settings, closed at the end; None where no LLM is configured.

    Raises `SettingsError` when the settings contradict each other. The server is not asked anything yet.
    """
    config = llm_config(settings)
    if config is None:
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
        yield SecondReader(config, Caller(config, client, cache, open_ledger(settings), clock), clock)
