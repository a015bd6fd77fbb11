-- The list of the maintainers' page, newest first, reads no more triages than it shows.
CREATE INDEX triages_newest ON triages (at DESC, id DESC);
-- What a delivery of an issue brought, newest first.
CREATE INDEX deliveries_lock ON deliveries (lock, received_at DESC);
-- Who signed in with GitHub: a hash of the cookie, and the repositories that the person may write to.
CREATE TABLE page_sessions (
    id text PRIMARY KEY,
    login text NOT NULL,
    repos bigint[] NOT NULL,
    expires timestamptz NOT NULL
);
