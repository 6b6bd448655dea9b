"""What is said of a place in a script, as text: what the thing there is, and what distributing would do to it."""

from horovodize.explaining.explanation import explain, explain_problem
from horovodize.explaining.markup import Markup
from horovodize.explaining.view import View

__all__ = ["Markup", "View", "explain", "explain_problem"]
