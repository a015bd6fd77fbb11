"""What the terminal shows, as plain text."""

from __future__ import annotations

import io
from typing import Any

from rich.console import Console

from bot.render.terminal import print_brief, print_triage
from knowledge.taxonomy import load_taxonomy
from knowledge.triage import Triage


def printed(triage: Triage, width: int = 100, **more: Any) -> str:
    """The triage as the terminal shows it, without colours."""
    out = io.StringIO()
    print_triage(triage, load_taxonomy(), Console(file=out, width=width, highlight=False), **more)
    return out.getvalue()


def printed_brief(triage: Triage, width: int = 100) -> str:
    """The shortest form, without colours."""
    out = io.StringIO()
    print_brief(triage, load_taxonomy(), Console(file=out, width=width, highlight=False))
    return out.getvalue()
