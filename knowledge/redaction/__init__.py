"""Secrets leave here, before anything stores, embeds, sends or shows the text."""

from knowledge.redaction.redact import redact, redaction_kinds, without_escapes

__all__ = ["redact", "redaction_kinds", "without_escapes"]
