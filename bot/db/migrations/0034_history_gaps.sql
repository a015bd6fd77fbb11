-- A vote that a correction of axes cast: it goes when the correction is undone.
ALTER TABLE history_votes ADD COLUMN corrected boolean NOT NULL DEFAULT false;
-- The issue that somebody in Slack calls the same failure: "12" or "owner/name#12".
ALTER TABLE slack_corrections ADD COLUMN same text NOT NULL DEFAULT '';
-- Why an issue was closed as not planned, as a word of ours (bot/github/past_outcome.py).
ALTER TABLE history_issues ADD COLUMN why text NOT NULL DEFAULT '';
-- Read by a back-fill, so nobody knows what it shows: it waits for somebody like others, and is part of no wave.
ALTER TABLE noted_reports ADD COLUMN backfilled boolean NOT NULL DEFAULT false;
