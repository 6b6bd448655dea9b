"""Whether all that a generator function yields is drawn, or the same in each turn: then it tells nothing of how often it was
asked, and may be asked by each rank for itself.

One that yields the number of its turns, or of its passes, beside what it draws, is asked size() times less often by each of
several ranks, and tells each of them another number than alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from horovodize.python.syntax import Function, Syntax, arguments
from horovodize.source.nodes import names_in, names_set, walk

_STORES = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)
_ROUNDS = 8  # that what is drawn is followed from name to name


def tells_no_turns(syntax: Syntax, function: Function, draws: Callable[[ast.Call], bool]) -> bool:
    """Whether each part of what a generator function yields is drawn or never changes.

    draws: whether a call draws, or runs a function of the program that does"""
    inside = [n for n in walk(function) if syntax.function(n) is function]
    if any(isinstance(n, ast.YieldFrom) for n in inside):
        return False
    given = [part for n in inside if isinstance(n, ast.Yield) and n.value for part in _parts(n.value)]
    drawn = _drawn(inside, draws)
    changing = _set_in_turns(syntax, inside)
    return bool(given) and all(
        _is_drawn(part, drawn, draws) or not names_in(part) & changing for part in given
    )


def counts_turns_at_once(syntax: Syntax, function: Function) -> bool:
    """Whether nothing is counted on in the function but beside its yield, in the loop around it: once for each yield."""
    own = [n for n in walk(function) if syntax.function(n) is function]
    around = {id(syntax.loops(n)[0]) for n in own if isinstance(n, ast.Yield) and syntax.loops(n)}
    counted = [n for n in own if isinstance(n, ast.AugAssign)]
    return all(syntax.loops(n) and id(syntax.loops(n)[0]) in around for n in counted)


def _parts(value: ast.expr) -> Iterator[ast.expr]:
    """The items of a tuple, a list or a dictionary that is yielded, or what is."""
    if isinstance(value, (ast.Tuple, ast.List)):
        for item in value.elts:
            yield from _parts(item)
    elif isinstance(value, ast.Dict):
        for item in value.values:
            yield from _parts(item)
    else:
        yield value


def _drawn(inside: list[ast.AST], draws: Callable[[ast.Call], bool]) -> set[str]:
    """The names that stand for what is drawn, or what is made of it."""
    names = set[str]()
    for _ in range(_ROUNDS):
        before = len(names)
        for n in inside:
            if isinstance(n, _STORES) and n.value is not None and _is_drawn(n.value, names, draws):
                targets = n.targets if isinstance(n, ast.Assign) else [n.target]
                names |= {name for t in targets for name in names_set(t)}
            elif isinstance(n, (ast.For, ast.AsyncFor)) and _is_drawn(n.iter, names, draws):
                names |= names_in(n.target)
            elif isinstance(n, ast.Expr) and isinstance(n.value, ast.Call):
                names |= _filled(n.value, names, draws)
        if len(names) == before:
            break
    return names


def _filled(call: ast.Call, drawn: set[str], draws: Callable[[ast.Call], bool]) -> set[str]:
    """What a statement draws into: `shuffle(order)` its order, `rows.append(x[i])` its list."""
    if not draws(call) and not any(_is_drawn(a, drawn, draws) for a in arguments(call)):
        return set()
    held = [call.func.value] if isinstance(call.func, ast.Attribute) else []
    return {name for e in (*arguments(call), *held) for name in names_in(e)}


def _is_drawn(e: ast.expr, names: set[str], draws: Callable[[ast.Call], bool]) -> bool:
    return any(
        (isinstance(n, ast.Call) and draws(n)) or (isinstance(n, ast.Name) and n.id in names) for n in walk(e)
    )


def _set_in_turns(syntax: Syntax, inside: list[ast.AST]) -> set[str]:
    """The names that a function sets in a loop of its own."""
    names = set[str]()
    for n in inside:
        if isinstance(n, (ast.For, ast.AsyncFor)):
            names |= names_in(n.target)
        elif isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load) and syntax.loops(n):
            names.add(n.id)
    return names
