"""The systems of `bot eval` by their names; those with an LLM are opened only when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from eval.baselines import BASELINES, baseline
from eval.protocol import System
from eval.session import Plan, Session
from knowledge.errors import UserError

if TYPE_CHECKING:
    from bot.settings import Settings

LLM = ("llm", "distriage+llm")
NAMES = ("distriage", *BASELINES, *LLM)


def checked(names: Sequence[str]) -> list[str]:
    """The names, each once. UserError for a name that is none."""
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    unknown = [name for name in wanted if name not in NAMES]
    if unknown or not wanted:
        raise UserError(
            f"No such system: {', '.join(unknown) or '(none)'}.", f"Use some of: {', '.join(NAMES)}."
        )
    return wanted


@contextmanager
def open_systems(
    wanted: Sequence[str], session: Session, plan: Plan, settings: Settings
) -> Iterator[list[System]]:
    """The systems in the order of their (checked) names."""
    if not any(name in LLM for name in wanted):
        yield [plan.distriage() if name == "distriage" else baseline(name) for name in wanted]
        return
    from bot.eval_llm import open_llm_systems

    local = plan.distriage()
    with open_llm_systems(local, "distriage" not in wanted, session.encoder, settings) as with_llm:
        yield [
            with_llm[name] if name in LLM else local if name == "distriage" else baseline(name)
            for name in wanted
        ]
