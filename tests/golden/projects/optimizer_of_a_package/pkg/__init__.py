from .rates import RATE
