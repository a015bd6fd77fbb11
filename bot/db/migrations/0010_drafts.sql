-- What maintainers decided on the page about an answer that an LLM drafted.
CREATE TABLE draft_decisions (
    installation_id bigint NOT NULL,
    repo_id bigint NOT NULL,
    repo_name text NOT NULL,
    number integer NOT NULL,
    input_hash text NOT NULL,
    decision text NOT NULL,
    sentences text[] NOT NULL,
    by_login text NOT NULL,
    at timestamptz NOT NULL,
    PRIMARY KEY (repo_id, number, input_hash)
);
