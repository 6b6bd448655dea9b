"""The attributes by which a Keras model gives its variables: all of them, and those that are trained."""

from __future__ import annotations

OF_MODEL = ("variables", "weights", "trainable_variables", "trainable_weights")

__all__ = ["OF_MODEL"]
