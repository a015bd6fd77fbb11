"""Slack's request signature v0, over the raw bytes.

https://docs.slack.dev/authentication/verifying-requests-from-slack
"""

from __future__ import annotations

import hashlib
import hmac

WINDOW = 300
"""Seconds that the sender's clock may differ from ours, either way."""

_LONGEST_TIMESTAMP = 12


def signed(body: bytes, timestamp: bytes | None, signature: bytes | None, secret: bytes, now: float) -> bool:
    """Whether the secret made the signature for this body at this time, `now` in Unix seconds.

    Whatever the headers hold (None: absent), the answer is False and never an error.
    """
    if timestamp is None or signature is None or not secret:
        return False
    # bytes.isdigit knows only ASCII digits: no sign, blank or underscore, which int() would let through.
    if not timestamp.isdigit() or len(timestamp) > _LONGEST_TIMESTAMP:
        return False
    made = hmac.new(secret, b"v0:" + timestamp + b":" + body, hashlib.sha256).hexdigest()
    fits = hmac.compare_digest(b"v0=" + made.encode(), signature)
    return fits and abs(now - int(timestamp)) <= WINDOW
