-- An open or recently closed issue as the maintainers' page counts it: what it shows, and whom it waits for.
CREATE TABLE noted_reports (
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    opened timestamptz NOT NULL,
    author text NOT NULL,
    -- Redacted.
    title text NOT NULL,
    -- "failure:ID", "signature:ID", "same:NUMBER": what reports of one wave have in common.
    keys text[] NOT NULL,
    -- Component to version.
    versions jsonb NOT NULL,
    framework text NOT NULL,
    launcher text NOT NULL,
    -- When somebody of the project first wrote below it.
    answered_at timestamptz,
    closed_at timestamptz,
    PRIMARY KEY (repo_id, number)
);
CREATE INDEX noted_reports_opened ON noted_reports (opened);
CREATE TABLE waves (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    keys text[] NOT NULL,
    -- Times at which its first and its newest report were opened.
    since timestamptz NOT NULL,
    last timestamptz NOT NULL,
    ended_at timestamptz,
    -- Reports with these keys in the months before.
    earlier integer NOT NULL,
    -- "torch 2.6" and the day of the first report on it, where the wave began soon after; else empty and null.
    after text NOT NULL,
    after_day date,
    -- The message about it, and a hash of what that says now.
    slack_channel text,
    slack_ts text,
    told text NOT NULL DEFAULT ''
);
CREATE INDEX waves_repo ON waves (repo_id, since);
-- The rate at which a repository gets such reports is counted over its history.
CREATE INDEX history_issues_opened ON history_issues (repo, opened);
