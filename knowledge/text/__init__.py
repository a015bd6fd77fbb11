"""Text hygiene: what is live in Markdown, and quoting that makes foreign text inert."""
