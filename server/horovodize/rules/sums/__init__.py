"""Sums and averages over the steps of divided loops."""
