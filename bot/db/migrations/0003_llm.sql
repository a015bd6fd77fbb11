-- US dollars spent on the LLM per day (UTC) and scope: '' is the whole installation, else "owner/name".
CREATE TABLE llm_spending (
    day date NOT NULL,
    scope text NOT NULL,
    dollars double precision NOT NULL,
    PRIMARY KEY (day, scope)
);
