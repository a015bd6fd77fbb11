"""Slack: `/triage`, the message shortcut, the buttons under an answer, installing and uninstalling."""
