"""What feeds each step, how many rows that has, and what a loss is over them."""
