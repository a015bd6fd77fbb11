"""GitHub's webhook signature, over the raw bytes.

https://docs.github.com/webhooks/using-webhooks/validating-webhook-deliveries
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

_PREFIX = b"sha256="


def signed(body: bytes, header: bytes | None, secrets: Sequence[bytes]) -> bool:
    """Whether one of the secrets made the header (X-Hub-Signature-256) for this body.

    Only sha256 counts. Whatever the header holds, the answer is False and never an error.
    """
    if header is None or not header.startswith(_PREFIX):
        return False
    given = header[len(_PREFIX) :]
    # Every secret is tried, so that the time taken does not tell which one is in use.
    matches = [
        hmac.compare_digest(hmac.new(secret, body, hashlib.sha256).hexdigest().encode(), given)
        for secret in secrets
    ]
    return any(matches)
