"""The web application: bodies with a limit, connections, health, the script link."""
