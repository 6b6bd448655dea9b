"""Optimizers, their rates, and the schedules of these."""
