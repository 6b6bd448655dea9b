"""What averages gradients, made and given to nothing: `hvd.DistributedOptimizer(optimizer)` as a statement (part of HVD304)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.horovod.horovod_use import TAPES, WRAPPERS
from horovodize.python.syntax import FUNCTIONS
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Fix, Violation
from horovodize.source import Edit


def find(context: Context, restriction: Restriction) -> Iterator[Violation]:
    """The wrappers that nothing gets, where no other one is around the same optimizer or tape."""
    use = context.facts.horovod
    made = use.calls(*WRAPPERS, *TAPES)
    unused = [call for call in made if _is_unused(context, call)]
    wrapped = {_wrapped(context, call) for call in made if call not in unused}
    for call in unused:
        if (
            _wrapped(context, call) in wrapped
            or _is_tried(context, call)
            or context.facts.never_run.is_at(call)
        ):
            continue
        kind = "tape" if use.is_call(call, *TAPES) else "optimizer"
        yield restriction.at(
            context,
            call,
            f"nothing uses the {kind} that this gives: each rank goes on with the plain one, which averages nothing; use what "
            "the call gives",
            fixes=[_fix(context, call)],
        )


def _wrapped(context: Context, call: ast.Call) -> tuple[ast.AST | None, str]:
    """What is wrapped, as it is written, and in which function."""
    inner = context.facts.horovod.inside(call)
    return context.syntax.function(call), context.text(inner) if inner is not None else ""


def _is_unused(context: Context, call: ast.Call) -> bool:
    """Whether nothing reads what a call gives. What a module or an object keeps, others may read."""
    parent = context.syntax.parent.get(call)
    if isinstance(parent, ast.Expr):
        return True
    if not isinstance(parent, ast.Assign) or not all(isinstance(t, ast.Name) for t in parent.targets):
        return False
    function = context.syntax.function(call)
    names = {t.id for t in parent.targets if isinstance(t, ast.Name)}
    if function is None and not context.facts.horovod.is_whole:
        return False
    if function is not None and _are_declared(function, names):
        return False
    loads = (n for name in names for n in context.module.loads.get(name) if isinstance(n, ast.Name))
    return not any(b.statement is parent for n in loads for b in context.scopes.reaching(n))


def _are_declared(function: ast.AST, names: set[str]) -> bool:
    """Whether a function sets names of what is around it, or asks for all of its own: `global optimizer`, `locals()`."""
    return any(
        (isinstance(n, (ast.Global, ast.Nonlocal)) and not names.isdisjoint(n.names))
        or (isinstance(n, ast.Name) and n.id in ("locals", "vars", "eval", "exec"))
        for n in ast.walk(function)
    )


def _is_tried(context: Context, call: ast.Call) -> bool:
    """Whether a call is made to see whether it fails: `with pytest.raises(ValueError):`, or in a `try`."""
    for around in context.syntax.ancestors(call):
        if isinstance(around, FUNCTIONS):
            return False
        if isinstance(around, ast.Try) and any(context.syntax.inside(call, s) for s in around.body):
            return True
        if isinstance(around, (ast.With, ast.AsyncWith)):
            asked = (i.context_expr.func for i in around.items if isinstance(i.context_expr, ast.Call))
            if any("raises" in context.names.last(f).lower() for f in asked):
                return True
    return False


def _fix(context: Context, call: ast.Call) -> Fix | None:
    """`optimizer = hvd.DistributedOptimizer(optimizer)`, where the call is a statement about a name."""
    inner = context.facts.horovod.inside(call)
    if not isinstance(context.syntax.parent.get(call), ast.Expr) or not isinstance(inner, ast.Name):
        return None
    start = context.module.span(call).start
    return Fix(f"Let `{inner.id}` be what averages", (Edit.insert(start, f"{inner.id} = "),))
