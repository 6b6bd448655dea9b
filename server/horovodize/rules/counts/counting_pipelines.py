"""Datasets that change their elements by how many there were before: part of G5.

    def stranger(x, y):
        step.assign_add(1)
        return x + noise(x) * tf.cast(step, tf.float32) / 1000, y
    dataset = dataset.map(stranger)

Where a dataset is divided before that, a rank counts its own elements only; so does `enumerate`. It is asked about."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.variable_additions import amount_added
from horovodize.python.syntax import CALLABLES, Function
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding, is_touched

_WHAT = "Let it change as fast for the rows that are seen"
_WHY = "Each rank takes size() times fewer steps; this goes by how much has been seen."
_COUNTED = (
    "this counts the elements of one rank, which are size() times fewer, and what `map` gives is made of the count: multiply "
    "it by `hvd.size()` there"
)
_NUMBERED = (
    "`enumerate` numbers the elements of one rank here, and what `map` gives is computed from the number: multiply it by "
    "`hvd.size()` there"
)
_FORMULA = (ast.Div, ast.Pow)
_FAR = 300
_PYTHON = {"py_function", "numpy_function", "py_func"}


def ask(draft: Draft) -> None:
    if draft.in_graph or not draft.divided:
        return
    for call in _maps(draft):
        for function in _functions(draft, call):
            counting = _counting(draft, function)
            if counting is not None and draft.once("counting pipeline", counting):
                draft.ask("G5", counting, _WHAT, _WHY, _COUNTED)
            number = _number(function)
            if (
                number is not None
                and _is_numbered(draft, call)
                and _is_computed_with(draft, function, number)
            ):
                if draft.once("numbered pipeline", call):
                    draft.ask("G5", call, _WHAT, _WHY, _NUMBERED)


def _maps(draft: Draft) -> Iterator[ast.Call]:
    """The calls of `map` by which what is trained on is made, of datasets that were divided before."""
    known = feeding(draft)
    feeds = [fed.x for fed in known.fits if fed.x is not None]
    feeds += [d.iterable for d in known.drivers if d.iterable is not None]
    found = dict[ast.Call, None]()
    for feed in feeds:
        for part in known.pipelines.trail(feed):
            if (
                isinstance(part, ast.Call)
                and isinstance(part.func, ast.Attribute)
                and part.func.attr == "map"
            ):
                before = known.pipelines.trail(part.func.value)
                if part.args and any(is_touched(draft, e) for e in (part.func.value, *before)):
                    found[part] = None
    yield from found


def _functions(draft: Draft, call: ast.Call) -> Iterator[Function | ast.Lambda]:
    """The function that `map` is given, and those that it calls, by `tf.numpy_function` too."""
    todo = [o.node for o in draft.values.origins(call.args[0]) if not o.path]
    for function in todo:  # grows
        if not isinstance(function, CALLABLES):
            continue
        yield function
        for n in (n for n in ast.walk(function) if isinstance(n, ast.Call)):
            called: list[ast.AST | None] = [draft.values.callee(n)]
            if draft.names.last(n.func) in _PYTHON and n.args:
                called = [o.node for o in draft.values.origins(n.args[0]) if not o.path]
            todo += [c for c in called if isinstance(c, CALLABLES) and c not in todo]


def _counting(draft: Draft, function: Function | ast.Lambda) -> ast.AST | None:
    """Where a function counts on what it gives something by: `step.assign_add(1)`, `count += 1` of `global count`."""
    for n in ast.walk(function):
        kept: ast.expr | None = None
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and amount_added(n) is not None:
            kept = n.func.value
        elif isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add) and _is_kept(function, n.target):
            kept = n.target
        if kept is not None and _gives(draft, function, ast.unparse(kept)):
            return n
    return None


def _is_kept(function: Function | ast.Lambda, target: ast.expr) -> bool:
    """Whether a count is not the function's own."""
    if isinstance(target, ast.Name):
        named = [n for s in ast.walk(function) if isinstance(s, (ast.Global, ast.Nonlocal)) for n in s.names]
        return target.id in named
    return True


def _gives(draft: Draft, function: Function | ast.Lambda, kept: str) -> bool:
    made_of = draft.values.depends(draft.values.returned(function), _FAR)
    read = (n for n in made_of if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load))
    return any(ast.unparse(n) == kept for n in read)


def _number(function: Function | ast.Lambda) -> str | None:
    named = [*function.args.posonlyargs, *function.args.args]
    return named[0].arg if len(named) > 1 else None


def _is_numbered(draft: Draft, call: ast.Call) -> bool:
    """Whether `map` is given what `enumerate` gives, of a dataset that was divided before."""
    before = call.func.value if isinstance(call.func, ast.Attribute) else None
    numbered = [o.node for o in draft.values.origins(before) if not o.path] if before is not None else []
    return any(
        isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr == "enumerate"
        and any(is_touched(draft, e) for e in (n.func.value, *feeding(draft).pipelines.trail(n.func.value)))
        for n in numbered
    )  # fmt: skip


def _is_computed_with(draft: Draft, function: Function | ast.Lambda, number: str) -> bool:
    """Whether what a function gives is computed from a number: `x * (1 - i / 100)`; not selected by it."""
    made_of = draft.values.depends(draft.values.returned(function), _FAR)
    return any(
        isinstance(n, ast.BinOp) and isinstance(n.op, _FORMULA)
        and any(isinstance(m, ast.Name) and m.id == number for m in ast.walk(n))
        for n in made_of
    )  # fmt: skip


__all__ = ["ask"]
