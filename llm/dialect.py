"""What a server understands of the API, found out by asking: the best first, one step down per refusal.

https://platform.openai.com/docs/api-reference/chat/create names the parameters; servers know parts of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from llm.config import LlmConfig
from llm.values import ChatRequest

Structure = Literal["json_schema", "json_object", "text"]
_LOWER: dict[Structure, Structure] = {"json_schema": "json_object", "json_object": "text"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which of the optional parameters are sent."""

    structure: Structure = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    stream_options: bool = True


def arguments(request: ChatRequest, config: LlmConfig, dialect: Dialect) -> dict[str, Any]:
    """The body of the request, exactly as it is sent."""
    body: dict[str, Any] = {
        "model": config.model,
        "messages": [
            {"role": "system", "content": request.system},
            {"role": "user", "content": request.user},
        ],
        "stream": True,
        dialect.limit: config.max_output,
    }
    if dialect.stream_options:
        body["stream_options"] = {"include_usage": True}
    if dialect.temperature:
        body["temperature"] = 0
    if dialect.structure == "json_schema":
        schema = {"name": request.name, "strict": True, "schema": request.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
    elif dialect.structure == "json_object":
        body["response_format"] = {"type": "json_object"}
    return body


def step_down(dialect: Dialect, complaint: str) -> Dialect | None:
    """The next simpler dialect after a 400 or 422; None when nothing is left to leave out.

    `complaint` is the server's message and parameter name. What it names goes first (all at once, when it
    names several); a complaint that names nothing known costs the structure one step.
    """
    lower = dialect
    if dialect.stream_options and "stream_options" in complaint:
        lower = replace(lower, stream_options=False)
    if dialect.temperature and "temperature" in complaint:
        lower = replace(lower, temperature=False)
    if dialect.limit == "max_tokens" and "max_tokens" in complaint and "max_completion_tokens" in complaint:
        lower = replace(lower, limit="max_completion_tokens")
    named = "response_format" in complaint or "json_schema" in complaint or lower == dialect
    if named and dialect.structure in _LOWER:
        lower = replace(lower, structure=_LOWER[dialect.structure])
    return lower if lower != dialect else None
