"""Tables of numbers that training is steered by, one a step: `rates[i]`, `momentum_schedule[it]`. The index counts; it selects
no data."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from horovodize.python.syntax import COMPREHENSIONS, FUNCTIONS, Function, argument
from horovodize.source.nodes import walk

if TYPE_CHECKING:
    from horovodize.summary.feeding import Feeding

_LIMIT = 400  # nodes that a table may be made of
_DEPTH = 16  # steps back that a table is followed
_CURVES = frozenset(("linspace", "logspace", "geomspace"))  # whatever they are given
_COUNTS = frozenset(("arange", "ones", "zeros", "range", "len"))
_OF_NUMBERS = frozenset(
    "concatenate hstack append array asarray full tile repeat clip maximum minimum cos sin exp power sqrt tanh log "
    "float int max min abs round sum list".split()
)
_SETTERS = frozenset("assign assign_add assign_sub set_value append print write".split())
_RATES = frozenset(("learning_rate", "lr"))


def is_from_schedule(feeding: Feeding, item: ast.Subscript, body: list[ast.AST]) -> bool:
    """Whether a subscript in the body of a loop picks the number of a step: from a table that is a curve of numbers alone, to
    set something, or show it, or from any table that a rate is set from; nothing that trains is given it."""
    if _sets_rate(feeding, item, body) or _feeds_rate(feeding, item, body):
        return True
    return _is_set(feeding, item, body) and (
        _is_curve(feeding, item.value) or _is_of_rates(feeding, item, body)
    )


def _sets_rate(feeding: Feeding, item: ast.expr, body: list[ast.AST]) -> bool:
    """Whether an item is what a rate is set to, at once or by a name that nothing else is done with but to show it."""
    reads = _read_by_name(feeding, item, body) or [item]
    statements = [feeding.syntax.statement(n) for n in reads]
    return any(_is_to_rate(s) for s in statements) and all(_sets(feeding, s) for s in statements)


def feeds_rate(feeding: Feeding, call: ast.Call) -> bool:
    """Whether what a call in a loop gives is what sessions feed a rate: `{rate: rate_at(i)}`."""
    loops = feeding.syntax.loops(call)
    return bool(loops) and _feeds_rate(feeding, call, [n for s in loops[0].body for n in walk(s)])


def _feeds_rate(feeding: Feeding, item: ast.expr, body: list[ast.AST]) -> bool:
    """Whether an item is what sessions feed a rate, `{rate: rates[i]}`, at once or by a name that is but shown beside that."""
    reads = _read_by_name(feeding, item, body) or [item]
    fed = [n for n in reads if _is_fed_to_rate(feeding, n)]
    return bool(fed) and all(n in fed or _sets(feeding, feeding.syntax.statement(n)) for n in reads)


def _is_fed_to_rate(feeding: Feeding, e: ast.expr, depth: int = 3) -> bool:
    """Whether a placeholder of which an optimizer's rate is made gets what is made of an expression, also by a function that is
    handed it."""
    inside: ast.AST = e
    for around in feeding.syntax.ancestors(e):
        match around:
            case ast.Dict(keys=keys, values=values) if inside in values:
                return _is_rates(feeding, next(k for k, v in zip(keys, values, strict=True) if v is inside))
            case ast.Assign(targets=[ast.Subscript(slice=key)]):
                return _is_rates(feeding, key)
            case ast.Call() if isinstance(callee := feeding.values.callee(around), FUNCTIONS) and depth:
                return _is_handed_to_rate(feeding, callee, inside, depth - 1)
            case ast.stmt() | ast.Subscript():
                return False
        inside = around
    return False


def _is_handed_to_rate(feeding: Feeding, callee: Function, given: ast.AST, depth: int) -> bool:
    """Whether all that a function does with what it is handed is to feed a rate."""
    bound = feeding.module.scopes.names[callee]
    names = {
        b.name
        for found in bound.values()
        for b in found
        if b.kind == "parameter" and given in feeding.values.passed(b)
    }
    reads = [n for s in callee.body for n in walk(s) if isinstance(n, ast.Name) and n.id in names]
    return bool(reads) and all(_is_fed_to_rate(feeding, n, depth) for n in reads)


def _is_rates(feeding: Feeding, key: ast.expr | None) -> bool:
    made = feeding.values.calls(key) if key is not None else []
    return any(_makes_rate(feeding, c) for c in made)


def _makes_rate(feeding: Feeding, placeholder: ast.Call) -> bool:
    """Whether an optimizer's rate is made of a placeholder, or of a variable that is set to it."""
    if not feeding.names.last(placeholder.func).startswith("placeholder"):
        return False
    depends, calls_called = feeding.values.depends, feeding.module.calls_called
    set_to = [c.args for c in calls_called("assign") if len(c.args) > 1]
    set_to += [[c.func.value, *c.args] for c in calls_called("assign") if isinstance(c.func, ast.Attribute)]
    kept = {
        made
        for variable, value, *_ in (parts for parts in set_to if len(parts) > 1)
        if placeholder in depends([value], _LIMIT)
        for made in feeding.values.calls(variable)
    }
    for call in feeding.syntax.calls:
        rate = argument(call, "learning_rate", 0) if feeding.module.is_optimizer(call) else None
        if rate is not None and not {placeholder, *kept}.isdisjoint(depends([rate], _LIMIT)):
            return True
    return False


def _is_of_rates(feeding: Feeding, item: ast.Subscript, body: list[ast.AST]) -> bool:
    """Whether a rate is set from the same table elsewhere in the loop: `print(rates[i // 100])` beside it."""
    table = ast.unparse(item.value)
    return any(
        isinstance(n, ast.Subscript)
        and n is not item
        and ast.unparse(n.value) == table
        and _sets_rate(feeding, n, body)
        for n in body
    )


def _is_curve(feeding: Feeding, table: ast.expr) -> bool:
    made_of = feeding.values.depends([table], _LIMIT)
    return any(_bends(feeding, n) for n in made_of) and _is_of_numbers(feeding, table, _DEPTH)


def _bends(feeding: Feeding, n: ast.AST) -> bool:
    """Whether numbers that are computed so aren't just counted."""
    if isinstance(n, ast.BinOp):
        return isinstance(n.op, (ast.Div, ast.Pow))
    return isinstance(n, ast.Call) and feeding.names.last(n.func) in _CURVES | {"cos", "exp"}


def _is_of_numbers(feeding: Feeding, e: ast.expr, depth: int) -> bool:
    """Whether a value, or all in a table, is computed of numbers that the script says."""
    origins = list(feeding.values.origins(e)) if depth else []
    return bool(origins) and all(
        not o.path and isinstance(o.node, ast.expr) and _is_number(feeding, o.node, depth - 1)
        for o in origins
    )


def _is_number(feeding: Feeding, e: ast.expr, depth: int) -> bool:
    match e:
        case ast.Constant():
            return isinstance(e.value, (int, float))
        case ast.Attribute():
            return feeding.names.of(e) in ("numpy.pi", "math.pi")
        case ast.UnaryOp(operand=inner):
            return _is_of_numbers(feeding, inner, depth)
        case ast.BinOp():
            return _is_of_numbers(feeding, e.left, depth) and _is_of_numbers(feeding, e.right, depth)
        case ast.Tuple() | ast.List():
            return all(_is_of_numbers(feeding, item, depth) for item in e.elts)
        case ast.ListComp(
            generators=[ast.comprehension(target=ast.Name(id=turn), iter=ast.Call() as counts)]
        ):
            numbered = feeding.names.last(counts.func) == "range"
            return numbered and all(_is_of_turn(feeding, n, turn, depth) for n in walk(e.elt))
        case ast.Call():
            last = feeding.names.last(e.func)
            given = [*e.args, *(k.value for k in e.keywords if k.arg != "dtype")]
            return last in _CURVES | _COUNTS or (
                last in _OF_NUMBERS and all(_is_of_numbers(feeding, a, depth) for a in given)
            )
    return False


def _is_of_turn(feeding: Feeding, n: ast.AST, turn: str, depth: int) -> bool:
    """Whether a part of an expression is nothing but the number of a turn, and other numbers."""
    if isinstance(n, ast.Name):
        function = isinstance(feeding.syntax.parent[n], (ast.Attribute, ast.Call))
        return n.id == turn or function or _is_of_numbers(feeding, n, depth)
    return not isinstance(n, (ast.Subscript, ast.Starred, *COMPREHENSIONS))


def _is_set(feeding: Feeding, item: ast.expr, body: list[ast.AST]) -> bool:
    reads = _read_by_name(feeding, item, body)
    if reads is None:
        return _sets(feeding, feeding.syntax.statement(item))
    return bool(reads) and all(_sets(feeding, feeding.syntax.statement(n)) for n in reads)


def _read_by_name(feeding: Feeding, item: ast.expr, body: list[ast.AST]) -> list[ast.expr] | None:
    """Where the body of a loop reads a name that it sets from an item; None if it sets none."""
    statement = feeding.syntax.statement(item)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    if not isinstance(target, ast.Name):
        return None
    return [n for n in body if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)]


def _is_to_rate(statement: ast.stmt) -> bool:
    """Whether a statement sets a rate: `optimizer.lr = …`, `optimizer.lr.assign(…)`, `K.set_value(optimizer.lr, …)`."""
    if isinstance(statement, ast.Assign):
        return all(_is_rate(t) for t in statement.targets)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
        return False
    return _is_rate(call.func.value) or (call.func.attr == "set_value" and any(map(_is_rate, call.args[:1])))


def _is_rate(e: ast.expr) -> bool:
    return isinstance(e, ast.Attribute) and e.attr in _RATES


def _sets(feeding: Feeding, statement: ast.stmt) -> bool:
    """Whether a statement only sets a variable or a rate, or shows a number."""
    if isinstance(statement, ast.Assign):
        return all(map(_is_rate, statement.targets))
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and feeding.names.last(call.func) in _SETTERS
