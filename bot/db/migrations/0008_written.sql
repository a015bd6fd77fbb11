-- Whether a maintainer had the answer posted that the LLM drafted.
ALTER TABLE comment_notes ADD COLUMN written boolean NOT NULL DEFAULT false;
