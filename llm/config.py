"""How the LLM is asked: endpoint, duties, limits and prices."""

from __future__ import annotations

from dataclasses import dataclass

from llm.values import RANKING, Duty, ReasonMode, Tokens, Use

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class LlmConfig:
    """How the LLM is asked. Prices are US dollars per million tokens, budgets US dollars a day (UTC)."""

    base_url: str
    model: str
    api_key: str = ""
    answers_as: str | None = None
    """The name that replies carry where it is not `model` (an Azure deployment, an alias)."""
    timeout: float = 15.0
    duties: tuple[Duty, ...] = RANKING
    reason_mode: ReasonMode = "ids-only"
    daily_budget: float | None = None
    repository_daily_budget: float | None = None
    concurrency: int = 2
    price_input: float = 0.0
    price_output: float = 0.0
    max_output: int = 2000
    use: Use = "measured"

    def cost(self, tokens: Tokens) -> float:
        """US dollars."""
        return (tokens.input * self.price_input + tokens.output * self.price_output) / MILLION
