"""A repository's own history: filled from GitHub or an export, kept in PostgreSQL, searched for the same failure."""
