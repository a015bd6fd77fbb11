"""The report: what came in, untrusted from first to last byte."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Report:
    """One incoming failure report, before anything has been read out of it.

    `id` names it for the caller ("owner/repo#12", a file name, "-"); `body` is Markdown or a bare log.
    """

    id: str
    title: str
    body: str
    framework: str | None = None
    """Known beforehand (the repository it was filed in), else None."""
    is_log: bool = False
    """True when the body is a log as printed, so that Markdown in it means nothing."""
    notes: tuple[str, ...] = ()
    """What could not be read of the input ("12 bytes were not UTF-8"), shown with the triage."""

    @property
    def content_hash(self) -> str:
        """SHA-256 over title and body: the identity of the input, re-checked before any write."""
        return hashlib.sha256(f"{self.title}\0{self.body}".encode("utf-8", "replace")).hexdigest()
