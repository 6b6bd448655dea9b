"""Weak or strong scaling: which a step gets, and strong scaling of steps that see all rows."""
