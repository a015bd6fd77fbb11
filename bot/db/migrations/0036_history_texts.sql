-- Bodies of a history's issues, redacted: only where the operator keeps texts (DISTRIAGE_KEEP_TEXTS). Apart from the
-- issues, so that all of them can be deleted without touching what is searched. Titles are with the issues.
CREATE TABLE history_texts (
    repo bigint NOT NULL,
    id text NOT NULL,
    body text NOT NULL,
    PRIMARY KEY (repo, id),
    FOREIGN KEY (repo, id) REFERENCES history_issues ON DELETE CASCADE
);
-- The replays that go with them.
CREATE INDEX history_replays_quoting ON history_replays (repo) WHERE result @> '{"comments": [{"quoted": true}]}';
