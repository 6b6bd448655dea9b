"""What tells Keras to stop after this epoch: `model.stop_training = True`."""

from __future__ import annotations

import ast

from horovodize.python.scopes import Scopes


def stops(s: ast.Assign) -> bool:
    """`self.model.stop_training = True`."""
    given = isinstance(s.value, ast.Constant) and s.value.value is False
    return not given and any(isinstance(t, ast.Attribute) and t.attr == "stop_training" for t in s.targets)


def stops_by_name(scopes: Scopes, call: ast.Call) -> ast.expr | None:
    """What `setattr(model, "stop_training", value)` sets."""
    match call:
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value="stop_training"), value]):
            given = not (isinstance(value, ast.Constant) and value.value is False)
            return value if given and scopes.lookup("setattr", call.func) is None else None
    return None


def raises_well(raised: ast.expr | None) -> bool:
    """Whether what is raised ends the process as one that has done its work: `SystemExit`, without a status."""
    given = raised.args[:1] if isinstance(raised, ast.Call) else []
    made_by = raised.func if isinstance(raised, ast.Call) else raised
    is_exit = isinstance(made_by, ast.Name) and made_by.id == "SystemExit"
    return is_exit and all(isinstance(e, ast.Constant) and not e.value for e in given)
