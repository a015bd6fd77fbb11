"""The examples at the end of a command's help."""

from __future__ import annotations


def examples(*commands: str) -> str:
    """An epilog that shows these command lines; tests/bot/test_cli_manners.py checks that each parses."""
    return "\n".join(["Examples:" if len(commands) > 1 else "Example:", *commands])
