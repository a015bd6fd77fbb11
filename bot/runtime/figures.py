"""The figures of the whole service, read from the database for /metrics."""

from __future__ import annotations

from bot.db.connect import SyncPool
from bot.runtime.metrics import Sample

_LABELLED = {
    "distriage_deliveries": "SELECT state, count(*) FROM deliveries GROUP BY state",
    "distriage_queue_depth": (
        "SELECT status::text, count(*) FROM procrastinate_jobs WHERE status IN ('todo', 'doing')"
        " GROUP BY status"
    ),
    "distriage_triages": "SELECT outcome, count(*) FROM triages GROUP BY outcome",
    "distriage_abstentions": (
        "SELECT axis, count(*) FROM triages,"
        " unnest(ARRAY['type', 'stage', 'symptom', 'cause', 'fix']) AS axis"
        " WHERE triage -> axis -> 'answer' = '[]' GROUP BY axis"
    ),
    "distriage_comments": (
        "SELECT state, count(*) FROM comment_notes WHERE comment_id IS NOT NULL GROUP BY state"
    ),
    "distriage_noise": "SELECT how, count(*) FROM dismissals GROUP BY how",
}
_OLDEST = "SELECT extract(epoch FROM now() - min(received_at)) FROM deliveries WHERE state = 'queued'"
_WRITES = (
    "SELECT installation_id, 80 - coalesce(sum(count) FILTER (WHERE at > now() - interval '1 minute'), 0),"
    " 500 - sum(count) FROM content_writes WHERE at > now() - interval '1 hour' GROUP BY installation_id"
)


def read_figures(pool: SyncPool) -> dict[str, list[Sample]]:
    """Every gauge of `bot.runtime.metrics.GAUGES` with its samples."""
    samples: dict[str, list[Sample]] = {}
    with pool.connection() as connection:
        for name, query in _LABELLED.items():
            rows = connection.execute(query.encode()).fetchall()
            samples[name] = [((str(label),), _number(count)) for label, count in rows]
        row = connection.execute(_OLDEST).fetchone()
        samples["distriage_queue_oldest_seconds"] = [((), _number(row[0] if row else None))]
        left: list[Sample] = []
        for installation, minute, hour in connection.execute(_WRITES):
            left.append(((str(installation), "minute"), _number(minute)))
            left.append(((str(installation), "hour"), _number(hour)))
        samples["distriage_github_writes_left"] = left
    return samples


def _number(value: object) -> float:
    return float(str(value)) if value is not None else 0.0
