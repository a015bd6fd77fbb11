-- What resolved a closed issue; `said` is the redacted comment that says so.
CREATE TABLE resolutions (
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    closed_at timestamptz NOT NULL,
    reason text NOT NULL,
    by_login text NOT NULL,
    commit text NOT NULL,
    pull_request text NOT NULL,
    said text NOT NULL,
    said_by text NOT NULL,
    role text NOT NULL,
    PRIMARY KEY (repo_id, number)
);
