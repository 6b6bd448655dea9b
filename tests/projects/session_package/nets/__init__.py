from .net import Net
from .sessions import make_session, save

__all__ = ["Net", "make_session", "save"]
