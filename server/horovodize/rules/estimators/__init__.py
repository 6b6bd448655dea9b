"""E1: Estimators, their input, their steps and their checkpoints."""
