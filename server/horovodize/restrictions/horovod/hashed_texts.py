"""Numbers that texts get by `hash`, which is another in each process (a part of HVD333): `hash(word) % 5000`.

Of whole numbers, and where the script speaks of `PYTHONHASHSEED`, nothing is said."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.sets_of_texts import gives_texts, is_text

_SEED = "PYTHONHASHSEED"
_AROUND = (ast.BinOp, ast.UnaryOp)


def hashed(context: Context) -> Iterator[ast.Call]:
    """The calls of `hash` whose remainders are kept as the numbers of texts."""
    calls = [c for c in context.module.calls_written.get("hash") if context.is_builtin(c.func, "hash")]
    if not calls or any(
        isinstance(n, ast.Constant) and n.value == _SEED for n in ast.walk(context.syntax.tree)
    ):
        return
    for call in calls:
        if len(call.args) == 1 and _is_kept(context, call) and _is_text(context, call.args[0]):
            yield call


def _is_kept(context: Context, call: ast.Call) -> bool:
    """Whether a remainder of it goes into a table or a list."""
    divided, inner = False, ast.AST()
    around: ast.AST | None = call
    while around is call or isinstance(around, _AROUND) or _converts(context, around):
        if isinstance(around, ast.BinOp) and isinstance(around.op, ast.Mod):
            divided = divided or around.left is inner
        inner, around = around, context.syntax.parent.get(around)  # type: ignore[assignment, arg-type]
    if not divided:
        return False
    match around:
        case ast.Assign(targets=[ast.Subscript(), *_]):
            return True
        case ast.DictComp(value=kept) | ast.ListComp(elt=kept) | ast.GeneratorExp(elt=kept):
            return kept is inner
        case ast.Call(func=ast.Attribute(attr="append")):
            return True
    return False


def _converts(context: Context, around: ast.AST | None) -> bool:
    return isinstance(around, ast.Call) and context.is_builtin(around.func, "abs", "int")


def _is_text(context: Context, e: ast.expr) -> bool:
    """Whether something is a text, also one of those that a loop goes through."""
    if is_text(context, e) or not isinstance(e, ast.Name):
        return is_text(context, e)
    bound = context.scopes.reaching(e)
    return bool(bound) and all(
        b.kind == "item" and not b.path and b.value is not None and gives_texts(context, b.value)
        for b in bound
    )


__all__ = ["hashed"]
