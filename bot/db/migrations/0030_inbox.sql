-- The list of the maintainers' page, newest first, reads no more triages than it shows.
CREATE INDEX triages_newest ON triages (at DESC, id DESC);
-- Its filters, which would otherwise unpack every triage.
CREATE INDEX triages_symptom ON triages ((triage #>> '{symptom,answer,0}'), at DESC, id DESC);
CREATE INDEX triages_drafts ON triages (at DESC, id DESC) WHERE coalesce(triage #>> '{answer,verified}', '') = 'true';
-- What a delivery of an issue brought, newest first.
CREATE INDEX deliveries_lock ON deliveries (lock, received_at DESC);
-- Who signed in with GitHub: a hash of the cookie, and the repositories that the person may write to.
CREATE TABLE page_sessions (
    id text PRIMARY KEY,
    login text NOT NULL,
    repos bigint[] NOT NULL,
    expires timestamptz NOT NULL
);
