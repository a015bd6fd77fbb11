"""Error signatures: patterns that recognise what a line of a report means.

Data: data/<family>.toml, one `[[signature]]` each; see `Signature` for the fields.
"""

from __future__ import annotations

from knowledge.signatures.signature import (
    Signature,
    SignatureHit,
    SignatureTable,
    load_signatures,
    most_specific,
)

__all__ = ["Signature", "SignatureHit", "SignatureTable", "load_signatures", "most_specific"]
