from .base import Trainer
from .regression import Regression

__all__ = ["Regression", "Trainer"]
