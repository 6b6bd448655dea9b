"""G4, K4 and S5: the steps of loops and of `fit` are divided among the ranks."""
