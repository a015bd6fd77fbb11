-- What the bot's comment asked for, and whether it came.
CREATE TABLE requests (
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    item text NOT NULL,
    ask text NOT NULL,
    input_hash text NOT NULL,
    asked_at timestamptz NOT NULL,
    state text NOT NULL CHECK (state IN ('open', 'arrived', 'dropped')),
    ended_at timestamptz,
    PRIMARY KEY (repo_id, number, item)
);
