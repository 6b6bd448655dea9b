"""Which values and decisions are the same on every rank, and what makes them differ."""
