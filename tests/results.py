"""A result of the diagnostics script, as the script makes it."""

from __future__ import annotations

from knowledge.diagnostics.runtime.main import checksum


def result(**changes: object) -> dict[str, object]:
    """A whole result with these fields changed, and the checksum of what came of it."""
    made: dict[str, object] = {
        "schema": "distriage-result/1",
        "script": "0" * 12,
        "host": "host-abcdef",
        "rank": 0,
        "world_size": 2,
        "platform": "linux",
        "python": "3.11.2",
        "started": 1_700_000_000,
        "seconds": 1.25,
        "probes": [
            {"id": "shm_size", "outcome": "tiny", "seconds": 0.01, "facts": {"total_mib": 64, "why": "é `x`"}}
        ],
    }
    made.update(changes)
    return {**made, "checksum": checksum(made)}
