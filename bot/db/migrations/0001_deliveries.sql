-- One row per webhook call; the payload holds no text of a report.
CREATE TABLE deliveries (
    id text PRIMARY KEY,
    source text NOT NULL,
    event text NOT NULL,
    action text,
    lock text NOT NULL,
    coalesce_key text,
    payload jsonb NOT NULL,
    state text NOT NULL DEFAULT 'queued' CHECK (state IN ('queued', 'done', 'superseded', 'dead')),
    attempts integer NOT NULL DEFAULT 0,
    outcome text,
    reason text,
    error text,
    received_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    seq bigint GENERATED ALWAYS AS IDENTITY,
    finished_at timestamptz
);
CREATE INDEX deliveries_newest ON deliveries (received_at DESC);
CREATE INDEX deliveries_coalesce ON deliveries (coalesce_key, seq) WHERE state = 'queued';
CREATE INDEX deliveries_dead ON deliveries (finished_at) WHERE state = 'dead';
-- The queue asks of every candidate whether a job of the same lock stands before it.
CREATE INDEX jobs_by_lock ON procrastinate_jobs (lock, status, id) WHERE status IN ('todo', 'doing');
