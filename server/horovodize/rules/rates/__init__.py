"""C4, C5 and K5: learning rates, what they are made of, and schedules."""
