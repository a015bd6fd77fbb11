-- What is kept of a repository's own issues, so that the same failure is found again (docs/history.md).
-- Of an issue's text only its title (redacted), and words, frames and error lines as counts and fingerprints.
CREATE TABLE history_repos (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- Null: filled from an export of a tracker whose id on GitHub is not known.
    repo_id bigint UNIQUE,
    installation_id bigint,
    full_name text NOT NULL,
    -- The model that made the vectors.
    encoder text NOT NULL,
    -- Counts the transactions that changed evidence: whoever holds an index asks for what is newer.
    version bigint NOT NULL DEFAULT 0,
    -- P(same failure) from which on a match is shown here, fitted to its own marks; null: the shipped one.
    threshold double precision,
    -- How far the back-fill got; committed together with the rows of its page.
    progress jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX history_repos_name ON history_repos (lower(full_name));
CREATE UNIQUE INDEX history_repos_unnumbered ON history_repos (lower(full_name)) WHERE repo_id IS NULL;
CREATE TABLE history_issues (
    repo bigint NOT NULL REFERENCES history_repos ON DELETE CASCADE,
    id text NOT NULL,
    version bigint NOT NULL,
    content_hash text NOT NULL,
    title text NOT NULL,
    url text NOT NULL,
    opened timestamptz,
    -- knowledge.history.record.Record without its vectors; these as float16, little-endian, (2, dims).
    record jsonb NOT NULL,
    vectors bytea NOT NULL,
    is_open boolean NOT NULL,
    state text NOT NULL,
    reason text NOT NULL,
    closed_at timestamptz,
    closed_by text NOT NULL,
    fix_commit text NOT NULL,
    fixed_at timestamptz,
    released text NOT NULL,
    others integer NOT NULL,
    duplicates text[] NOT NULL,
    PRIMARY KEY (repo, id)
);
CREATE INDEX history_issues_newer ON history_issues (repo, version);
CREATE INDEX history_issues_unreleased ON history_issues (repo) WHERE fix_commit <> '' AND released = '';
-- Labels as GitHub's record of the issue has them: who set or removed which, and whether that was a person.
CREATE TABLE history_labels (
    repo bigint NOT NULL,
    id text NOT NULL,
    label text NOT NULL,
    added boolean NOT NULL,
    by_login text NOT NULL,
    by_person boolean NOT NULL,
    at timestamptz NOT NULL,
    FOREIGN KEY (repo, id) REFERENCES history_issues ON DELETE CASCADE
);
CREATE INDEX history_labels_issue ON history_labels (repo, id);
