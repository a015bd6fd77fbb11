"""Answers of the page: the headers of all of them, and its files (Pico CSS, our own style, one small script)."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fastapi.responses import HTMLResponse, RedirectResponse, Response

HEADERS = {
    "cache-control": "no-store",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "x-content-type-options": "nosniff",
    # Pico's arrows of select fields and of folds are pictures within its own file.
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
}
_FOLDER = Path(__file__).parent / "static"
_KINDS = {"pico.min.css": "text/css", "page.css": "text/css", "page.js": "text/javascript"}
_YEAR = "public, max-age=31536000, immutable"


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page; its address changes with its content, so that browsers can keep it."""

    url: str
    kind: str
    plain: bytes
    packed: bytes

    def answer(self, accepts: str) -> Response:
        """The file, compressed where the browser takes that."""
        headers = {"cache-control": _YEAR, "vary": "accept-encoding", "x-content-type-options": "nosniff"}
        if "gzip" not in accepts:
            return Response(self.plain, media_type=self.kind, headers=headers)
        return Response(self.packed, media_type=self.kind, headers={**headers, "content-encoding": "gzip"})


@cache
def assets() -> dict[str, Asset]:
    """All files, by name."""
    found = {}
    for name, kind in _KINDS.items():
        plain = (_FOLDER / name).read_bytes()
        digest = hashlib.sha256(plain).hexdigest()[:12]
        found[name] = Asset(f"/static/{name}?v={digest}", kind, plain, gzip.compress(plain, 9, mtime=0))
    return found


def page(html: str, status: int = 200) -> HTMLResponse:
    """A page of ours."""
    return HTMLResponse(html, status_code=status, headers=HEADERS)


def go_to(address: str) -> RedirectResponse:
    """What follows a form or a sign-in."""
    return RedirectResponse(address, status_code=303, headers=HEADERS)
