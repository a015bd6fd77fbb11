"""What a running process is made of: pools, supervised processes, metrics, logs."""
