"""G7: moving averages of weights, and windows over the last steps."""
