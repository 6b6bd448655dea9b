"""Where a rank takes its part of some data, by `shard`, by a slice of a stride, or by blocks of which the last one is longer or
shorter (HVD323)."""

from __future__ import annotations

import ast

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.binding import Binding
from horovodize.python.parts_taken import part_taken
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_LIMIT = 300


def dealt_at(context: Context, reason: object, data: ast.expr) -> ast.expr | None:
    """The `shard`, or the slice of a stride, by which a rank takes its part of some data; also in a class or a function that is
    given the rank, and by a slice that has a name. Or a block of which the last rank's has other bounds."""
    if not isinstance(reason, Varies) or reason.kind is not Source.HOST:
        return None
    for n in context.values.depends([data], _LIMIT):
        if isinstance(n, ast.Subscript) and _is_uneven_block(context, n):
            return n
    child = reason.where
    for a in context.syntax.ancestors(child):
        is_passed = isinstance(a, ast.Call) and child is not a.func and context.values.callee(a) is not None
        if is_passed or (isinstance(a, ast.Call) and part_taken(context.module, a) is not None):
            return _part_behind(context, data)
        if isinstance(a, (ast.Call, ast.Subscript)) and _is_part(context, a, child):
            return a
        if isinstance(a, (ast.Assign, ast.Return)):  # under a name, or by what a function gives
            return _part_behind(context, data)
        if isinstance(a, ast.stmt) or (isinstance(a, ast.Subscript) and isinstance(a.slice, ast.Slice)):
            return None
        child = a
    return None


def _part_behind(context: Context, data: ast.expr) -> ast.expr | None:
    """Where some data was divided by a rank that has a name there."""
    behind = (n for n in context.values.depends([data], _LIMIT) if isinstance(n, ast.expr))
    return next((n for n in behind if _is_part_of_rank(context, n)), None)


def _is_part(context: Context, a: ast.Call | ast.Subscript, rank: ast.AST) -> bool:
    """Whether a call is a `shard` that is given something, or an expression takes every so manieth row from there on."""
    if isinstance(a, ast.Call):
        return rank is not a.func and context.names.last(a.func) == "shard"
    if _is_of_parts(context, a):
        return True
    part = part_taken(context.module, a.slice)
    return part is not None and part.step is not None and part.upper is None


def _is_of_parts(context: Context, a: ast.Subscript) -> bool:
    """Whether an expression is one of the parts into which NumPy divides some rows among ranks, of which some have one more:
    `np.array_split(rows, hvd.size())[hvd.rank()]`."""
    made = context.values.calls(a.value)
    parts = argument(made[0], "indices_or_sections", 1) if len(made) == 1 else None
    return (
        parts is not None
        and context.names.of(made[0].func) == "numpy.array_split"
        and context.facts.horovod.depends_on(parts, "size", limit=60)
    )


def _is_part_of_rank(context: Context, n: ast.expr) -> bool:
    """Whether an expression is the part of a rank that it is given by a name."""
    if isinstance(n, ast.Call) and context.names.last(n.func) == "shard":
        return any(context.facts.rank_tests.is_rank(e) for e in n.args)
    if isinstance(n, ast.Subscript) and _is_of_parts(context, n):
        return context.facts.rank_tests.is_rank(n.slice)
    part = part_taken(context.module, n.slice) if isinstance(n, ast.Subscript) else None
    if not isinstance(n, ast.Subscript) or part is None or part.lower is None:
        return False
    return _is_part(context, n, n.slice) and context.facts.rank_tests.is_rank(part.lower)


def _is_uneven_block(context: Context, n: ast.Subscript) -> bool:
    """Whether an expression is a rank's block of rows that has another length on one rank: by a test of the rank (`end =
    len(rows) if hvd.rank() == hvd.size() - 1 else …`), or as the rows end first (`n = math.ceil(len(rows) / hvd.size())`)."""
    part, use, tests = part_taken(context.module, n.slice), context.facts.horovod, context.facts.rank_tests
    if part is None or part.lower is None or part.step is not None or not isinstance(n.ctx, ast.Load):
        return False
    if not use.depends_on(part.lower, "rank", limit=60):
        return False
    if part.upper is None:
        return tests.deciding(n) is not None
    ends = list(context.values.depends([part.upper], _LIMIT))
    return (
        any(isinstance(e, ast.IfExp) and tests.decides(e.test) for e in ends)
        or any(tests.deciding(b.statement) is not None for b in _bindings(context, part.upper))
        or any(
            isinstance(e, ast.Call)
            and context.names.last(e.func) == "ceil"
            and use.depends_on(e, "size", limit=60)
            for e in ends
        )
    )


def _bindings(context: Context, e: ast.expr) -> list[Binding]:
    """What sets a name, where several statements do."""
    found = context.scopes.reaching(e) if isinstance(e, ast.Name) else []
    return list(found) if len(found) > 1 else []


def is_cut(context: Context, dealt: ast.expr) -> bool:
    """Whether what is divided was cut by the number of ranks before, or the script asks for the rest of a division by it."""
    use, function = context.facts.horovod, context.syntax.function(dealt)
    for asked in context.syntax.every(ast.If, ast.IfExp, ast.Assert):
        parts = (n for n in ast.walk(asked.test) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Mod))
        if context.syntax.function(asked) is function and any(
            use.depends_on(n.right, "size", limit=60) for n in parts
        ):
            return True
    if isinstance(dealt, ast.Call):
        whole = dealt.func.value if isinstance(dealt.func, ast.Attribute) else dealt
    else:
        assert isinstance(dealt, ast.Subscript)
        whole = dealt.value
        if _is_shortened(context, dealt):
            return True
        if _is_of_parts(context, dealt):  # into which parts it is divided is no cut
            made = context.values.calls(dealt.value)[0]
            whole = argument(made, "ary", 0) or whole
    return _is_made_of_size(context, whole)


def _is_shortened(context: Context, dealt: ast.Subscript) -> bool:
    """Whether each rank keeps as many rows of its part: `rows[hvd.rank()::hvd.size()][:len(rows) // hvd.size()]`."""
    kept = context.syntax.parent.get(dealt)
    match kept:
        case ast.Subscript(value=of, slice=ast.Slice(lower=None, upper=ast.expr() as end, step=None)) if (
            of is dealt
        ):
            return context.facts.horovod.depends_on(end, "size", "local_size", limit=60)
    return False


def _is_made_of_size(context: Context, whole: ast.expr) -> bool:
    """Whether the number of ranks is in a value, but not by way of an elastic state, which holds an optimizer."""
    nodes = list(context.values.depends([whole], _LIMIT))
    states = [n for n in nodes if isinstance(n, ast.Name) and context.facts.collectives.is_elastic_state(n)]
    if not states:
        return context.facts.horovod.depends_on(whole, "size", "local_size", limit=_LIMIT)
    of_states = set(context.values.depends(states, _LIMIT))
    return any(context.facts.horovod.is_call(n, "size", "local_size") for n in nodes if n not in of_states)
