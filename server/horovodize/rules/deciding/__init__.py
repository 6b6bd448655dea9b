"""G4: what decides how training goes on, and what is trained, comes out alike on all ranks, and ends for all."""
