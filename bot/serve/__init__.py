"""The processes of the service, and the one place that wires them: compose.py."""
