"""Reading a request's body without letting it grow."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

BODY_LIMIT = 2 * 1024 * 1024
"""Bytes; GitHub would send up to 25 MB, an issue with its comment is far below two."""


class TooLarge(Exception):
    """The body is larger than the limit."""


class Malformed(Exception):
    """The body is not what it says it is."""


async def read_body(request: Request, limit: int = BODY_LIMIT) -> bytes:
    """The raw body; raises `TooLarge` as soon as it is known, `Malformed` when the sender went away."""
    declared = request.headers.get("content-length", "")
    if declared.isdecimal() and len(declared) < 20 and int(declared) > limit:
        raise TooLarge
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > limit:
                raise TooLarge
    except ClientDisconnect as error:
        raise Malformed from error
    return bytes(body)


def form_of(body: bytes, content_type: str) -> dict[str, str]:
    """The fields of a small urlencoded form, the first of each name; raises `Malformed`, for any other kind too."""
    if content_type.partition(";")[0].strip().lower() != "application/x-www-form-urlencoded":
        raise Malformed
    try:
        fields = parse_qs(body.decode(), keep_blank_values=True, max_num_fields=10)
    except ValueError as error:
        raise Malformed from error
    return {name: values[0] for name, values in fields.items()}


def json_object(body: bytes, content_type: str) -> dict[str, Any]:
    """The JSON object in a webhook's body, plain or in the form field "payload"; raises `Malformed`."""
    try:
        text = body.decode()
        if content_type.startswith("application/x-www-form-urlencoded"):
            text = parse_qs(text, strict_parsing=True, max_num_fields=10)["payload"][0]
        value = json.loads(text)
    except (ValueError, KeyError, RecursionError) as error:
        raise Malformed from error
    if not isinstance(value, dict):
        raise Malformed
    return value
