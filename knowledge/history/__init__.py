"""A repository's own history: records of its reports, the nearest earlier ones, and why two show the same failure."""
