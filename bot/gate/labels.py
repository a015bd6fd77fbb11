"""Labels pass the gate only when a maintainer mapped them and the repository has them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from bot.gate.passed import PassedLabel


def pass_labels(
    wanted: Iterable[str], mapped: Collection[str], existing: Collection[str]
) -> list[PassedLabel]:
    """Those of `wanted` that are in the map and exist; GitHub compares names without case."""
    shown = {name.casefold(): name for name in existing}
    allowed = {name.casefold() for name in mapped}
    keys = [name.casefold() for name in wanted]
    return [PassedLabel(shown[key]) for key in keys if key in allowed and key in shown]
