"""What of the settings concerns the LLM, checked; None where no LLM is configured."""

from __future__ import annotations

from dataclasses import dataclass

from bot.llm.address import address_of
from bot.llm.values import DUTIES, MAX_WAIT, Duty, ReasonMode, Tokens, Use
from bot.settings import Settings
from knowledge.errors import SettingsError

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
    duties: tuple[Duty, ...] = DUTIES
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


def llm_config(settings: Settings) -> LlmConfig | None:
    """The configuration, None without an LLM.

    Raises `SettingsError` for a URL that is none, and for a budget that cannot be kept.
    """
    if settings.llm_base_url is None or settings.llm_model is None:
        return None
    address_of(settings.llm_base_url)
    budgets = (settings.llm_daily_budget, settings.llm_repository_daily_budget)
    if any(b is not None for b in budgets) and settings.llm_price_input + settings.llm_price_output == 0:
        raise SettingsError(
            "An LLM budget is set, but both prices of the LLM are 0, so it would never be spent.",
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
