-- Whether who dismissed a comment, or pasted a result, had write permission then.
ALTER TABLE dismissals ADD COLUMN by_maintainer boolean NOT NULL DEFAULT false;
ALTER TABLE diagnostics_results ADD COLUMN by_maintainer boolean NOT NULL DEFAULT false;
