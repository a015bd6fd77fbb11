-- What the Slack app remembers. A workspace is a team's id, or an enterprise's for an organisation-wide install.
-- Tokens and response URLs are encrypted (bot/slack/vault.py); texts are redacted.
CREATE TABLE slack_installations (
    workspace text PRIMARY KEY,
    name text NOT NULL,
    bot_user text NOT NULL,
    scopes text NOT NULL,
    sealed_token text NOT NULL,
    installed_at timestamptz NOT NULL
);
CREATE TABLE slack_triages (
    id text PRIMARY KEY,
    workspace text NOT NULL,
    asker text NOT NULL,
    channel text NOT NULL,
    body text NOT NULL,
    notes text[] NOT NULL,
    triage jsonb NOT NULL,
    at timestamptz NOT NULL,
    shared_channel text,
    shared_ts text
);
CREATE INDEX slack_triages_shared ON slack_triages (workspace, shared_channel, shared_ts);
CREATE INDEX slack_triages_asker ON slack_triages (workspace, asker, at DESC);
CREATE INDEX slack_triages_age ON slack_triages (at);
CREATE TABLE slack_results (
    delivery_id text PRIMARY KEY,
    triage_id text NOT NULL REFERENCES slack_triages (id) ON DELETE CASCADE,
    by_user text NOT NULL,
    text text NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX slack_results_triage ON slack_results (triage_id, at);
-- Without a reference: a correction outlives the triage that it corrects.
CREATE TABLE slack_corrections (
    delivery_id text PRIMARY KEY,
    workspace text NOT NULL,
    triage_id text NOT NULL,
    by_user text NOT NULL,
    labels jsonb NOT NULL,
    body text NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX slack_corrections_triage ON slack_corrections (triage_id, at);
CREATE INDEX slack_corrections_workspace ON slack_corrections (workspace);
-- Calls that count against the rate limit.
CREATE TABLE slack_calls (
    id text PRIMARY KEY,
    workspace text NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX slack_calls_recent ON slack_calls (workspace, at);
-- A message under way or sent: what is noted here is never sent a second time.
CREATE TABLE slack_sends (
    delivery_id text NOT NULL,
    what text NOT NULL,
    sent boolean NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (delivery_id, what)
);
CREATE INDEX slack_sends_age ON slack_sends (at);
-- Uses of a response URL, which has five.
CREATE TABLE slack_reply_uses (
    digest text PRIMARY KEY,
    uses integer NOT NULL,
    at timestamptz NOT NULL
);
CREATE INDEX slack_reply_uses_age ON slack_reply_uses (at);
