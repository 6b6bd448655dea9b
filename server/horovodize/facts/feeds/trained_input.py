"""Steps that train their own input: style transfer, an adversarial example."""

from __future__ import annotations

import ast
import re

from horovodize.python.module import Module
from horovodize.python.syntax import CALLABLES
from horovodize.summary.site_kinds import Update

_KEEPING = re.compile(
    r"(concat|concatenate|stack|vstack|hstack|tile|pad|expand_dims|squeeze|reshape|transpose|resize\w*|crop\w*|roll|identity|cast|"
    r"convert_to_tensor|clip\w*|preprocess_input|per_image_standardization|reverse|flip\w*)$"
)


class TrainedInputs:
    """The variables of one module that are trained and that a model is called with."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def of(self, update: Update, targets: list[ast.expr]) -> ast.AST | None:
        """The variable that is trained, where a model is called with it: style transfer, an adversarial example."""
        values = self.module.values
        made = {
            c
            for v in update.variables
            for c in values.calls(v)
            if self.module.names.last(c.func) == "Variable"
        }
        if not made:
            return None
        for n in values.depends([*targets], 2000):
            if not isinstance(n, ast.Call) or (self.module.names.of(n.func) or "").startswith(
                ("tensorflow", "numpy")
            ):
                continue
            if (
                isinstance(values.callee(n), CALLABLES)
                or isinstance(n.func, ast.Attribute)
                and n.func.attr in ("assign",)
            ):
                continue
            if any(self._is_made_of(a, made) for a in n.args):
                return n
        return None

    def _is_made_of(self, e: ast.expr, made: set[ast.Call]) -> bool:
        """Whether an array is one of some variables: joined with others, in another shape, but not multiplied with one."""
        waiting, seen = [e], set[ast.expr]()
        while waiting:
            e = waiting.pop()
            if e in seen or len(seen) > 200:
                continue
            seen.add(e)
            if isinstance(e, (ast.List, ast.Tuple)):
                waiting += e.elts
            elif isinstance(e, (ast.Name, ast.Attribute, ast.Call)):
                calls = set(self.module.values.calls(e))
                if made & calls:
                    return True
                waiting += [a for c in calls if self._keeps_values(c) for a in c.args]
        return False

    def _keeps_values(self, call: ast.Call) -> bool:
        """Whether a library's function gives the values that it gets: joined with others, reshaped, resized."""
        names = self.module.names
        return (names.of(call.func) or "").startswith(("tensorflow", "numpy")) and bool(
            _KEEPING.match(names.last(call.func))
        )
