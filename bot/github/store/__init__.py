"""GitHub's tables in PostgreSQL."""
