"""Requests from outside: bodies with a limit, connections with a deadline."""
