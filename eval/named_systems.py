"""The systems of `bot eval` by their names; those with an LLM are opened only when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from eval.baselines import BASELINES, baseline
from eval.protocol import System
from eval.session import Plan, Session
from knowledge.errors import UserError

if TYPE_CHECKING:
    from eval.llm_systems import LlmSystem
    from eval.predictions import Predictions
    from llm.access import LlmAccess

TOGETHER = "distriage+llm"
LLM = ("llm", TOGETHER)
NAMES = ("distriage", *BASELINES, *LLM)


def checked(names: Sequence[str]) -> list[str]:
    """The names, each once. UserError for a name that is none."""
    wanted = list(dict.fromkeys(name.strip() for name in names if name.strip()))
    unknown = [name for name in wanted if name not in NAMES]
    if unknown or not wanted:
        raise UserError(
            f"No such system: {', '.join(unknown) or '(none)'}.", f"Choose from: {', '.join(NAMES)}."
        )
    return wanted


def checked_llm(
    names: Sequence[str],
    *,
    fit_fusion: bool,
    fresh: bool,
    held_out: bool,
    cassette: Path | None = None,
    record: bool = False,
) -> None:
    """UserError when what is asked of the LLM needs other systems or other splits."""
    if fit_fusion and not {"distriage", TOGETHER} <= set(names):
        raise UserError(
            "--fit-fusion compares distriage with and without the LLM.",
            f"Use: --systems distriage,{TOGETHER} --fit-fusion",
        )
    if fit_fusion and held_out:
        raise UserError("--fit-fusion needs folds; held-out records have none.", "Add --cross-validate.")
    if record and cassette is None:
        raise UserError("--record requires --llm-cassette.", "Add --llm-cassette FILE.jsonl.")
    if cassette and fresh:
        raise UserError("--fresh asks everything anew; a cassette does not.", "Leave out one of them.")
    if cassette and not set(names) & set(LLM):
        raise UserError(
            "--llm-cassette requires a system with an LLM.", f"Use: --systems distriage,{TOGETHER}"
        )
    if fresh and not set(names) & set(LLM):
        raise UserError(
            "--fresh requires a system with an LLM.", f"Use: --systems distriage,{TOGETHER} --fresh"
        )


@contextmanager
def open_systems(
    wanted: Sequence[str],
    session: Session,
    plan: Plan,
    access: LlmAccess | None,
    *,
    fit_fusion: bool = False,
    fresh: bool = False,
) -> Iterator[list[System]]:
    """The systems in the order of their (checked) names."""
    if not any(name in LLM for name in wanted):
        yield [
            plan.distriage() if name == "distriage" else baseline(name, session.plain_encoder)
            for name in wanted
        ]
        return
    from eval.llm_systems import open_llm_systems

    local = plan.distriage()
    fits = None if "distriage" in wanted else next(name for name in wanted if name in LLM)
    with open_llm_systems(
        local, session.encoder, access, fits=fits, fit_fusion=fit_fusion, fresh=fresh
    ) as with_llm:
        yield [
            with_llm[name]
            if name in LLM
            else local
            if name == "distriage"
            else baseline(name, session.plain_encoder)
            for name in wanted
        ]


def finished(runs: Mapping[str, Predictions], systems: Sequence[System]) -> dict[str, Predictions]:
    """The runs with what only the whole of a run tells: the LLM that was asked, and the fusion in nested folds."""
    asking = _asking(systems)
    return {name: asking[name].finished(run) if name in asking else run for name, run in runs.items()}


def together(systems: Sequence[System]) -> LlmSystem:
    """The system that fuses distriage and the LLM."""
    return _asking(systems)[TOGETHER]


def _asking(systems: Sequence[System]) -> dict[str, LlmSystem]:
    if not any(system.name in LLM for system in systems):
        return {}
    from eval.llm_systems import LlmSystem

    return {system.name: system for system in systems if isinstance(system, LlmSystem)}
