"""The job queue: one job a delivery, jobs of one issue one after the other, periodic work, rescue."""
