"""Where the server is asked: a base URL, and what Azure's older addresses want besides.

Azure's own form names the deployment in the path and the API's version in the query, and wants the key in a header
of its own; its newer form (`/openai/v1/`) is like everybody's.
https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit, urlunsplit

from knowledge.errors import SettingsError

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
            "DISTRIAGE_LLM_BASE_URL is not an http(s) URL.", "Use one like http://127.0.0.1:11434/v1."
        )
    query = parse_qs(parts.query)
    if parts.fragment or (parts.query and set(query) != {_VERSION}):
        raise SettingsError(
            "DISTRIAGE_LLM_BASE_URL has an unsupported query.",
            "Only Azure's ?api-version=... is supported; remove the rest.",
        )
    path = parts.path.rstrip("/").removesuffix("/chat/completions")
    return Address(urlunsplit((parts.scheme, parts.netloc, path, "", "")), query.get(_VERSION, [None])[0])
