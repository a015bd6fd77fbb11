"""What it takes to ask the configured LLM."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from llm.budget import Ledger
from llm.config import LlmConfig
from llm.measured import Measured


@dataclass(frozen=True, slots=True)
class LlmAccess:
    """The configuration, where spending and replies are kept, and what is known of the model."""

    config: LlmConfig
    ledger: Ledger
    cache_dir: Path
    measured: Measured | None
