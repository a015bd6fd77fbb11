-- What the GitHub App remembers; an issue is (repo_id, number), names are as last seen.
CREATE TABLE installations (
    id bigint PRIMARY KEY,
    account text NOT NULL,
    state text NOT NULL
);
CREATE TABLE installation_repos (
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    full_name text NOT NULL,
    PRIMARY KEY (installation_id, repo_id)
);
CREATE TABLE repo_switches (
    repo_id bigint PRIMARY KEY,
    is_on boolean NOT NULL,
    by_login text NOT NULL,
    at timestamptz NOT NULL
);
CREATE TABLE repo_configs (
    repo_id bigint PRIMARY KEY,
    etag text,
    good_text text,
    error text,
    noted_error text
);
CREATE TABLE triages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    input_hash text NOT NULL,
    title text NOT NULL,
    triage jsonb NOT NULL,
    mode text NOT NULL,
    outcome text NOT NULL,
    reason text NOT NULL,
    would_post text NOT NULL,
    would_label text[] NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX triages_issue ON triages (repo_id, number, at DESC, id DESC);
CREATE INDEX triages_installation ON triages (installation_id, at DESC);
CREATE TABLE comment_notes (
    repo_id bigint NOT NULL,
    number integer NOT NULL,
    installation_id bigint NOT NULL,
    repo_name text NOT NULL,
    comment_id bigint,
    intended_at timestamptz,
    state text NOT NULL,
    explained boolean NOT NULL,
    first_noted timestamptz NOT NULL,
    PRIMARY KEY (repo_id, number)
);
CREATE INDEX comment_notes_recent ON comment_notes (repo_id, first_noted DESC);
CREATE TABLE label_facts (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    label text NOT NULL,
    added boolean NOT NULL,
    by_login text NOT NULL,
    by_us boolean NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX label_facts_issue ON label_facts (repo_id, number, id);
-- A comment_id below zero is a correction from the maintainers' page: minus the id of the triage.
CREATE TABLE corrections (
    comment_id bigint PRIMARY KEY,
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    by_login text NOT NULL,
    at timestamptz NOT NULL,
    labels jsonb NOT NULL,
    title text NOT NULL,
    body text NOT NULL
);
CREATE INDEX corrections_issue ON corrections (repo_id, number, at);
CREATE TABLE diagnostics_results (
    comment_id bigint PRIMARY KEY,
    repo_id bigint NOT NULL,
    number integer NOT NULL,
    by_login text NOT NULL,
    text text NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX diagnostics_results_issue ON diagnostics_results (repo_id, number, at);
CREATE TABLE commands_done (
    comment_id bigint NOT NULL,
    digest text NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (comment_id, digest)
);
CREATE TABLE dismissals (
    repo_id bigint NOT NULL,
    number integer NOT NULL,
    by_login text NOT NULL,
    how text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (repo_id, number)
);
CREATE TABLE content_writes (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    installation_id bigint NOT NULL,
    at timestamptz NOT NULL,
    count integer NOT NULL
);
CREATE INDEX content_writes_recent ON content_writes (installation_id, at);
