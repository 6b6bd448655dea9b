"""Whether a step trains one model in all turns of a loop, or in all calls of its function: by that it is known when rank 0's
variables have to be sent again. Part of G2."""

from __future__ import annotations

import ast

from horovodize.python.binding import Binding
from horovodize.python.syntax import Loop, says_none
from horovodize.rules.drafting.draft import Draft
from horovodize.summary.call_paths import Frame
from horovodize.summary.express_in_caller import lift

Way = tuple[Frame, ...]


def is_one_model(draft: Draft, way: Way, depth: int, expressions: list[ast.expr]) -> bool:
    """Whether every call of the loop's function trains the same model: it is called from one place, and what is trained is
    not made again in a loop around that."""
    function = way[depth].function
    if function is None or len(draft.values.callers(function)) != 1:
        return function is None
    for outer in range(depth + 1, len(way)):
        made = any(is_made_in_call(draft, way, k, expressions) for k in range(depth + 1, outer))
        if any(made or binds(draft, loop, expressions, way, outer) for loop in way[outer].loops):
            return False
    return True


def is_made_in_call(draft: Draft, way: Way, depth: int, expressions: list[ast.expr]) -> bool:
    """Whether each call of the loop's function makes what it trains: `def train(x): model, opt = build(), Adam()`. Each of them
    has a first batch."""
    function, scopes = way[depth].function, draft.module.scopes
    said = [lift(draft.module, e, way, depth) or way[depth].node for e in expressions]
    todo, seen = [n.id for e in said for n in ast.walk(e) if isinstance(n, ast.Name)], set[str]()
    while todo:
        name = todo.pop()
        scope = scopes.lookup(name, way[depth].node) if name not in seen else None
        seen.add(name)
        for b in scopes.names[scope][name] if scope is function and scope is not None else ():
            if b.kind == "parameter":
                continue
            if not _only_names(b):
                return True
            todo += [n.id for n in ast.walk(b.value or b.statement) if isinstance(n, ast.Name)]
    return False


def bindings_in(draft: Draft, loop: Loop, expressions: list[ast.expr], way: Way, depth: int) -> list[Binding]:
    """All bindings inside a loop that what expressions are called at some depth goes back to."""
    scopes, found = draft.module.scopes, list[Binding]()
    todo: list[ast.AST] = [lift(draft.module, e, way, depth) or way[depth].node for e in expressions]
    seen: set[str] = set()
    while todo:
        for name in {n.id for n in ast.walk(todo.pop()) if isinstance(n, ast.Name)} - seen:
            seen.add(name)
            scope = scopes.lookup(name, way[depth].node)
            for b in scopes.names[scope][name] if scope is not None else ():
                if draft.syntax.inside(b.statement, loop):
                    found.append(b)
                    todo += [b.value] if b.value is not None else []
    return found


def binds(draft: Draft, loop: Loop, expressions: list[ast.expr], way: Way, depth: int) -> bool:
    """Whether what expressions are called at some depth is bound in the turns of a loop there, also by functions that it
    calls."""
    names: set[str] = set()
    attributes: set[str] = set()
    for expression in expressions:
        said = lift(draft.module, expression, way, depth) or way[depth].node
        names |= {n.id for n in ast.walk(said) if isinstance(n, ast.Name)}
        attributes |= {n.attr for n in ast.walk(said) if isinstance(n, ast.Attribute)}
        if any(_is_one_of_several(draft, n, loop) for n in ast.walk(said)):
            return True
    scopes = draft.module.scopes
    todo, seen = list(names), set(names)
    while todo:
        name = todo.pop()
        scope = scopes.lookup(name, way[depth].node)
        for b in scopes.names[scope][name] if scope is not None else ():
            if not _runs_in(draft, b.statement, loop):
                continue
            if not _only_names(b):
                return True
            assert b.value is not None
            if any(_is_one_of_several(draft, n, loop) for n in ast.walk(b.value)):
                return True
            more = {n.id for n in ast.walk(b.value) if isinstance(n, ast.Name)} - seen
            attributes |= {n.attr for n in ast.walk(b.value) if isinstance(n, ast.Attribute)}
            todo += more
            seen |= more
    return any(_runs_in(draft, b.statement, loop) for a in attributes for b in scopes.attributes.get(a, ()))


def _runs_in(draft: Draft, binding: ast.AST, loop: Loop) -> bool:
    """Whether the turns of a loop come by a binding, but for one that only makes what isn't there: `if self.net is None:`."""
    if draft.syntax.inside(binding, loop):
        return True
    if draft.syntax.function(binding) is None or any(
        _is_for_none(test.test) for test, _ in draft.syntax.conditions(binding)
    ):
        return False
    return any(loop in frame.loops for way in draft.drive.ways(binding) for frame in way)


def _is_for_none(test: ast.expr) -> bool:
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    is_none = isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Is)
    return is_none and isinstance(test, ast.Compare) and says_none(test.comparators[0])


def _is_one_of_several(draft: Draft, n: ast.AST, loop: Loop) -> bool:
    """Whether a name is given now one value in a loop, now another: `if epoch % 2: net = first`, `else: net = second`."""
    bound = draft.module.scopes.reaching(n) if isinstance(n, ast.Name) else []
    values = (b.value for b in bound if draft.syntax.inside(b.statement, loop))
    return len({ast.unparse(v) for v in values if v is not None}) > 1


def _only_names(b: Binding) -> bool:
    """Whether a binding gives a name to what was there before: `variables = model.trainable_variables`."""
    made = (ast.Call, ast.Subscript, ast.Await, ast.Yield, ast.YieldFrom)
    plain = b.kind == "assign" and not b.path and b.value is not None
    return plain and not any(isinstance(n, made) for n in ast.walk(b.value))  # type: ignore[arg-type]


__all__ = ["Way", "bindings_in", "binds", "is_made_in_call", "is_one_model"]
