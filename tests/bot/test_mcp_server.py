"""`bot mcp` spoken to over standard input and output by the SDK's own client."""

from __future__ import annotations

import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import pytest
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

from bot.http.body import BODY_LIMIT
from knowledge.engine import Knowledge
from tests.conftest import CACHE

ROOT = Path(__file__).parents[2]
REPORT = (ROOT / "examples" / "hang.md").read_text("utf-8")
SECRET = "ghp_" + "A1b2C3d4E5" * 3 + "F6g7H8"


def talk(use: Callable[[Client], Awaitable[None]]) -> None:
    """Start the server as an editor does, and let `use` call it."""
    env = {**os.environ, "DISTRIAGE_DATA_DIR": str(CACHE.parent), "PYTHONPATH": os.pathsep.join(sys.path)}
    server = StdioServerParameters(command=sys.executable, args=["-m", "bot", "mcp"], env=env, cwd=ROOT)

    async def go() -> None:
        async with Client(stdio_client(server)) as client:
            await use(client)

    anyio.run(go)


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.fixture(autouse=True)
def indexed(knowledge: Knowledge) -> None:
    """The index exists before the server is asked."""


def test_its_tools_are_described_and_read_only() -> None:
    async def use(client: Client) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"triage", "explain_failure", "search_failures", "diagnose"}
        for tool in tools.values():
            assert tool.description
            assert tool.annotations
            assert tool.annotations.read_only_hint
            assert not tool.annotations.destructive_hint
            assert not tool.annotations.open_world_hint
            for schema in tool.input_schema["properties"].values():
                assert schema["description"]

    talk(use)


def test_a_report_is_triaged_explained_and_gets_a_script() -> None:
    async def use(client: Client) -> None:
        report = f"{REPORT}\nexport GITHUB_TOKEN={SECRET}\n"
        triage = text_of(await client.call_tool("triage", {"report": report}))
        assert "docker0" in triage
        assert SECRET not in triage
        found = text_of(await client.call_tool("search_failures", {"text": "docker0 interface", "count": 3}))
        ids = [line.split(":")[0] for line in found.splitlines()]
        assert len(ids) == 3
        explained = text_of(await client.call_tool("explain_failure", {"id": ids[0].upper()}))
        assert "## Fix" in explained
        script = text_of(await client.call_tool("diagnose", {"report": REPORT}))
        assert script.startswith("#!/bin/sh")

    talk(use)


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("triage", {"report": " \n"}, "The report is empty."),
        ("diagnose", {"report": "x" * (BODY_LIMIT + 1)}, "Send only the part around the first error."),
        ("explain_failure", {"id": "cuda-driver-too-new"}, "Did you mean cuda-driver-too-old"),
        ("search_failures", {"text": "hang", "count": 1000}, "less than or equal to 20"),
        ("triage", {}, "report"),
    ],
)
def test_a_wrong_call_is_answered_and_the_server_goes_on(
    tool: str, arguments: dict[str, object], said: str
) -> None:
    async def use(client: Client) -> None:
        wrong = await client.call_tool(tool, arguments)
        assert wrong.is_error
        assert said in text_of(wrong)
        assert not (await client.call_tool("search_failures", {"text": "hang"})).is_error

    talk(use)
