"""The web side: webhooks in, health and metrics out, the maintainers' page."""
