-- Heads of a repository's own labels (knowledge/history/heads.py), and what they need of an issue.
ALTER TABLE history_issues ADD COLUMN small bytea NOT NULL DEFAULT '';
ALTER TABLE history_repos ADD COLUMN heads bigint NOT NULL DEFAULT 0;
-- How many labels and votes of people the heads in use were learned from.
ALTER TABLE history_repos ADD COLUMN taught bigint NOT NULL DEFAULT 0;
CREATE TABLE label_vocabularies (
    key bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    repo bigint NOT NULL REFERENCES history_repos ON DELETE CASCADE,
    -- By block of knowledge/history/traits.py: how many words, and these one block behind the other.
    sizes integer[] NOT NULL,
    buckets integer[] NOT NULL,
    idf real[] NOT NULL
);
CREATE INDEX label_vocabularies_repo ON label_vocabularies (repo);
CREATE TABLE label_heads (
    repo bigint NOT NULL REFERENCES history_repos ON DELETE CASCADE,
    -- Heads of one family exclude each other; rest_* is the curve of none of them.
    family integer NOT NULL,
    place integer NOT NULL,
    label text NOT NULL,
    vocabulary bigint NOT NULL REFERENCES label_vocabularies,
    bias double precision NOT NULL,
    at integer[] NOT NULL,
    weights real[] NOT NULL,
    dense real[] NOT NULL,
    slope double precision NOT NULL,
    "offset" double precision NOT NULL,
    rest_slope double precision NOT NULL,
    rest_offset double precision NOT NULL,
    threshold double precision NOT NULL,
    examples integer NOT NULL,
    tested integer NOT NULL,
    "right" integer NOT NULL,
    through timestamptz,
    PRIMARY KEY (repo, family, place)
);
-- What people said of a label of an issue, or of an earlier issue shown below it.
CREATE TABLE history_votes (
    repo bigint NOT NULL REFERENCES history_repos ON DELETE CASCADE,
    id text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('label', 'same')),
    subject text NOT NULL,
    by_login text NOT NULL,
    role text NOT NULL CHECK (role IN ('maintainer', 'author', 'other')),
    agrees boolean NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (repo, id, kind, subject, by_login)
);
