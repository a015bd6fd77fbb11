-- A threshold that fits itself (docs/history.md). One that somebody had fitted before or will have is left alone.
ALTER TABLE history_repos ADD COLUMN by_hand boolean NOT NULL DEFAULT false;
UPDATE history_repos SET by_hand = true WHERE threshold IS NOT NULL;
-- How many marks and votes of the same failure there were when it last did.
ALTER TABLE history_repos ADD COLUMN fitted bigint NOT NULL DEFAULT 0;
