"""G2, K6, K8 and S4: all ranks begin with rank 0's variables, and what is trained with stays the same on all."""
