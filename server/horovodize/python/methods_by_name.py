"""Methods that a call looks up by a name it is handed: `getattr(hook, name)(self)` of `self.call("after_step")`."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from horovodize.python.flags import Level, constant
from horovodize.python.module import Module


def runs_another(module: Module, levels: Sequence[Level]) -> bool:
    """Whether a call that may look up a method surely looks up another one than the function that a level is of.

    levels: innermost first; of the first one it is asked how its function is called"""
    _, function, call = levels[0]
    texts = [_text(module, name, levels[1:]) for name in _names(module, call.func)]
    return bool(texts) and all(text is not None and text != function.name for text in texts)


def _names(module: Module, func: ast.expr) -> list[ast.expr]:
    """The names in what a call looks up, if that is all that it may run."""
    origins = [func] if isinstance(func, ast.Call) else [o.node for o in module.values.origins(func)]
    found = list[ast.expr]()
    for node in origins:
        match node:
            case ast.Call(func=ast.Name(id="getattr"), args=[_, name, *_]):
                found.append(name)
            case _:
                return []
    return found


def _text(module: Module, name: ast.expr, levels: Sequence[Level]) -> str | None:
    """What a name is by the calls that lead there: `"on_" + event`, `f"on_{event}"`; None where they don't tell."""
    match name:
        case ast.JoinedStr(values=parts):
            texts = [
                _text(module, p.value if isinstance(p, ast.FormattedValue) else p, levels) for p in parts
            ]
            return "".join(t for t in texts if t is not None) if None not in texts else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            before, after = _text(module, left, levels), _text(module, right, levels)
            return before + after if before is not None and after is not None else None
        case _:
            known = constant(module, name, levels)
            return known.value if known is not None and isinstance(known.value, str) else None


__all__ = ["runs_another"]
