"""The edges: command line, web service, GitHub, Slack, worker, rendering."""
