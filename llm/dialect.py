"""Where the server is asked, and what it understands of the API, found out by asking.

https://platform.openai.com/docs/api-reference/chat/create names the parameters; servers know parts of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import parse_qs, urlsplit, urlunsplit

from knowledge.errors import SettingsError
from llm.values import ChatRequest, LlmConfig

# Where the server is asked: a base URL, and what Azure's older addresses want besides.
#
# Azure's own form names the deployment in the path and the API's version in the query, and wants the key in a header
# of its own; its newer form (`/openai/v1/`) is like everybody's.
# https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle

_VERSION = "api-version"


@dataclass(frozen=True, slots=True)
class Address:
    """`version` is Azure's api-version, None at every other server."""

    base_url: str
    version: str | None

    @property
    def url(self) -> str:
        """Where a question goes, in full."""
        query = f"?{_VERSION}={self.version}" if self.version else ""
        return f"{self.base_url.rstrip('/')}/chat/completions{query}"

    def key_header(self, key: str) -> dict[str, str]:
        """The header that carries the key."""
        return {"api-key": key} if self.version else {"Authorization": f"Bearer {key}"}


def address_of(base_url: str) -> Address:
    """Read DISTRIAGE_LLM_BASE_URL. SettingsError when it is no http(s) URL, or has a query that means nothing."""
    try:
        parts = urlsplit(base_url.strip())
        known = bool(parts.hostname) and parts.scheme in ("http", "https")
    except ValueError:
        known = False
    if not known:
        raise SettingsError(
            "DISTRIAGE_LLM_BASE_URL isn't an http(s) URL.", "Use one like http://127.0.0.1:11434/v1."
        )
    query = parse_qs(parts.query)
    if parts.fragment or (parts.query and set(query) != {_VERSION}):
        raise SettingsError(
            "DISTRIAGE_LLM_BASE_URL has an unsupported query string.",
            "Only Azure's ?api-version=... is supported. Remove everything else.",
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return Address(urlunsplit((parts.scheme, parts.netloc, path, "", "")), query.get(_VERSION, [None])[0])


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
