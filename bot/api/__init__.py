"""For programs: the HTTP API and the MCP server, both read-only."""
