"""One triage, many surfaces: terminal, Markdown, JSON, the GitHub comment."""
