"""K1, K2, K7, G1, G3 and S2: the optimizer or the tape averages gradients over all ranks."""
