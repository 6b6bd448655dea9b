from .net import Net
from .training import Trainer
