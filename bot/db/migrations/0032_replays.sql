-- What would have been shown of a repository's history, computed by a job (docs/history.md).
CREATE TABLE history_replays (
    repo bigint PRIMARY KEY REFERENCES history_repos ON DELETE CASCADE,
    at timestamptz NOT NULL,
    result jsonb NOT NULL
);
