-- How often a delivery was put off for no fault of its own: each next wait for an outage is longer.
ALTER TABLE deliveries ADD COLUMN waits integer NOT NULL DEFAULT 0;
