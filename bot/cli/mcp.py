"""`bot mcp`: distriage as a tool server for editors and agents."""

from __future__ import annotations

import typer

from bot.cli.examples import examples


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    epilog = examples("bot mcp")
    app.command(name="mcp", epilog=epilog)(mcp)


def mcp() -> None:
    """Serve triage, explanations, search and diagnostics scripts over MCP on standard input and output; read-only."""
    from bot.api.mcp_server import serve_stdio

    serve_stdio()
