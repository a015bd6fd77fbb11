-- Logs and versions that people posted in the thread of a shared answer (redacted), by the message that holds them.
CREATE TABLE slack_replies (
    triage_id text NOT NULL REFERENCES slack_triages (id) ON DELETE CASCADE,
    ts text NOT NULL,
    by_user text NOT NULL,
    text text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (triage_id, ts)
);
ALTER TABLE slack_triages ADD COLUMN updates integer NOT NULL DEFAULT 0;
