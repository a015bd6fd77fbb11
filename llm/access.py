"""What it takes to ask the configured LLM."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

from llm.budget import Ledger
from llm.config import LlmConfig
from llm.measured import Measured
from llm.reply_cache import ReplyCache
from llm.values import ChatClient


@dataclass(frozen=True, slots=True)
class LlmAccess:
    """The configuration, where spending and replies are kept, what is known of the model, and who asks it."""

    config: LlmConfig
    ledger: Ledger
    cache: ReplyCache
    measured: Measured | None
    client: Callable[[], AbstractContextManager[ChatClient]]
