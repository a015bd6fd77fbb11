"""What is known of distributed-training faults and the reasoning over it."""
