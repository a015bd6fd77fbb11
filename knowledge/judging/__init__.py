"""Judging: from a reading to calibrated distributions over the ids of each axis."""
