"""Numbers that statements carry on from step to step: what they begin as, and where they are made of their last value."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TypeAlias

from horovodize.python.binding import Binding
from horovodize.python.syntax import Loop
from horovodize.rules.drafting.draft import Draft
from horovodize.source.nodes import children

_FILLED = ("zeros", "ones", "full", "empty", "zeros_like", "ones_like")
REDUCING = (
    "mean",
    "var",
    "std",
    "max",
    "min",
    "sum",
    "reduce_mean",
    "reduce_std",
    "reduce_variance",
    "moments",
    "cov",
)
# what programs call the option of a rate
_RATES = frozenset("lr rate learning_rate learningrate init_lr initial_lr lr_init base_lr start_lr initial_learning_rate "
                   "learning_rate_init init_learning_rate start_learning_rate".split())  # fmt: skip

Read: TypeAlias = ast.Name | ast.Attribute | ast.Subscript  # where a number is read: a name, a field, an item


def bindings(draft: Draft, read: Read) -> list[Binding]:
    if isinstance(read, ast.Attribute):
        return draft.values.attribute_bindings(read)
    if isinstance(read, ast.Subscript):
        return [*draft.values.held.item_bindings(read), *_first_items(draft, read)]
    return list(draft.module.scopes.reaching(read))


def _first_items(draft: Draft, read: ast.Subscript) -> Iterator[Binding]:
    """What an item is in the dictionary that a program begins with: `{"mean": 0.0}`."""
    for origin in draft.values.origins(read.value):
        shown = origin.node
        for key, value in zip(shown.keys, shown.values, strict=True) if isinstance(shown, ast.Dict) else ():
            if key is not None and ast.dump(key) == ast.dump(read.slice) and not origin.path:
                yield Binding("assign", "", draft.syntax.statement(value), key, value)


def ever_bound(draft: Draft, read: Read) -> list[Binding]:
    """The same, of an attribute also what stands before a statement of its function that sets it again."""
    if not isinstance(read, ast.Attribute):
        return bindings(draft, read)
    homes = draft.values.receiver(read.value)
    named = draft.module.scopes.attributes.get(read.attr, ())
    same = [
        b
        for b in named
        if isinstance(b.anchor, ast.Attribute) and draft.values.receiver(b.anchor.value) & homes
    ]
    return same or bindings(draft, read)


def carries(draft: Draft, b: Binding, read: Read, loops: set[Loop]) -> bool:
    """Whether a statement makes the next number out of the last, from step to step."""
    if b.kind not in ("assign", "augment") or b.value is None or not isinstance(b.statement, ast.stmt):
        return False
    turns = turns_of(draft, b.statement)
    if not turns & loops:  # not the sum of a sequence in one step
        return False
    text = ast.unparse(read)
    return b.kind == "augment" or any(
        isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(n) == text
        for n in written_out(draft, b, text)
    )


def written_out(draft: Draft, b: Binding, kept: str) -> Iterator[ast.AST]:
    """What a statement gives a name, with what stands for names by which its function goes on from what is `kept`: of
    `new = k + 0.1 * d` and `k = new`, `k + 0.1 * d`."""
    todo: list[ast.AST] = [e for e in (part_of(b) or b.value,) if e is not None]
    while todo:
        n = todo.pop()
        made = _gone_on_from(draft, b, n, kept) if isinstance(n, ast.Name) else None
        if made is not None:
            todo.append(made)
            continue
        yield n
        todo += children(n)


def _gone_on_from(draft: Draft, b: Binding, name: ast.Name, kept: str, depth: int = 4) -> ast.expr | None:
    """What a name of the same turn is set to once, if that is made of what is kept."""
    bound = draft.module.scopes.reaching(name)
    once = bound[0] if len(bound) == 1 and bound[0].kind == "assign" and bound[0] is not b else None
    value = part_of(once) if once is not None and name.id != kept else None
    if once is None or value is None or not depth:
        return None
    syntax = draft.syntax
    if syntax.function(once.statement) is not syntax.function(b.statement):
        return None
    if syntax.loops(once.statement) != syntax.loops(b.statement):
        return None
    goes_on = any(
        (isinstance(n, (ast.Name, ast.Attribute, ast.Subscript)) and ast.unparse(n) == kept)
        or (isinstance(n, ast.Name) and _gone_on_from(draft, once, n, kept, depth - 1) is not None)
        for n in ast.walk(value)
    )
    return value if goes_on else None


def part_of(b: Binding) -> ast.expr | None:
    """What a name gets of `a, b = 2.0 * first, 2.0 * second`; None of what isn't taken apart so."""
    if isinstance(b.value, (ast.Tuple, ast.List)) and len(b.path) == 1 and isinstance(b.path[0], int):
        return b.value.elts[b.path[0]] if 0 <= b.path[0] < len(b.value.elts) else None
    return b.value if not b.path else None


def begins_as(draft: Draft, b: Binding, read: Read, is_such: Callable[[Draft, ast.expr], bool]) -> bool:
    """Whether what a statement carries on begins as something such before the loop."""
    turns = turns_of(draft, b.statement)
    # (the number that it goes on from may be read in it alone)
    text = ast.unparse(read)
    own = [n for n in written_out(draft, b, text) if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))]
    own = [n for n in own if ast.unparse(n) == text]
    bound = [
        o
        for n in (read, *own)
        if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))
        for o in ever_bound(draft, n)
    ]
    begins = [o for o in bound if o is not b and o.value is not None and not o.path]
    return any(
        (is_such(draft, o.value) or is_such is is_number and _gets_fraction(draft, o.value, b))
        and not _runs_in(draft, o.statement, turns)
        for o in begins
        if o.value
    )


def _gets_fraction(draft: Draft, first: ast.expr, b: Binding) -> bool:
    """`mean = 0`, then `mean = 0.99 * mean + 0.01 * found`: no count, though it begins as one. Likewise `mean = None` where a
    number comes in: not the output for each row."""
    whole = isinstance(first, ast.Constant) and type(first.value) is int
    empty = isinstance(first, ast.Constant) and first.value is None
    parts = list(ast.walk(b.value)) if (whole or empty) and b.value is not None else []
    comes_in = whole or any(isinstance(n, (ast.Name, ast.Call)) and is_reduced(draft, n) for n in parts)
    named = (
        n for n in parts if isinstance(n, (ast.Constant, ast.Name, ast.Attribute))
    )  # `lam` of `k + lam * found`
    return comes_in and any(is_number(draft, n) for n in named)


def is_number(draft: Draft, e: ast.expr, depth: int = 2) -> bool:
    """Whether an expression is a number with a fraction, or a tensor of one."""
    if isinstance(e, ast.UnaryOp):
        return is_number(draft, e.operand, depth)
    if isinstance(e, ast.Call) and isinstance(e.func, ast.Name) and e.func.id == "float":
        return draft.names.scopes.is_builtin(e.func) and len(e.args) == 1  # `float(params["rate"])`
    if _is_rate(e):
        return True
    if isinstance(e, ast.Call) and draft.names.last(e.func) in (
        "array",
        "constant",
        "convert_to_tensor",
        "float",
        "float32",
    ):
        return bool(e.args) and is_number(draft, e.args[0], depth)
    if isinstance(e, ast.Constant):
        return isinstance(e.value, float)
    origins = draft.values.origins(e) if isinstance(e, (ast.Name, ast.Attribute)) and depth else ()
    nodes = [o.node for o in origins if not o.path]
    return bool(nodes) and all(isinstance(n, ast.expr) and is_number(draft, n, depth - 1) for n in nodes)


def _is_rate(e: ast.expr) -> bool:
    """Whether an option is called as a rate is: `args.lr`, `config["learning_rate"]`."""
    match e:
        case ast.Attribute(attr=name) | ast.Subscript(slice=ast.Constant(value=str() as name)):
            return name.lower() in _RATES
    return False


def is_whole(draft: Draft, e: ast.expr) -> bool:
    """A length, a level: `length = 2`."""
    nodes = [o.node for o in draft.values.origins(e) if not o.path]
    return all(isinstance(n, ast.Constant) and type(n.value) is int for n in nodes)


def is_filled(draft: Draft, e: ast.expr) -> bool:
    """`np.zeros(4)`"""
    name = (draft.names.of(e.func) or "") if isinstance(e, ast.Call) else ""
    return name.startswith(("numpy.", "tensorflow.")) and name.rsplit(".", 1)[-1] in _FILLED


def is_reduced(draft: Draft, e: ast.expr, depth: int = 4) -> bool:
    """Whether an expression is seen to be one number, made of a mean or the like: `1 / np.mean(losses)`, `2 * float(loss)`."""
    if isinstance(e, ast.BinOp):
        sides = [p for p in (e.left, e.right) if not isinstance(p, ast.Constant)]
        return bool(sides) and all(is_reduced(draft, p, depth) for p in sides)
    if isinstance(e, ast.Call):
        name = draft.names.last(e.func)
        whole = len(e.args) == 1 and not e.keywords
        if whole and (name in REDUCING or name == "float"):
            return True
        inside = whole and name in ("exp", "log", "sqrt", "abs", "tanh")
        return name == "result" or (inside and is_reduced(draft, e.args[0], depth))
    nodes = (
        [o.node for o in draft.values.origins(e) if not o.path] if isinstance(e, ast.Name) and depth else []
    )
    return bool(nodes) and all(isinstance(n, ast.expr) and is_reduced(draft, n, depth - 1) for n in nodes)


def turns_of(draft: Draft, statement: ast.AST) -> set[Loop]:
    """The innermost loops around a statement, of all ways there."""
    found = (
        next((loop for frame in way for loop in frame.loops), None) for way in draft.drive.ways(statement)
    )
    return {loop for loop in found if loop is not None}


def _runs_in(draft: Draft, statement: ast.AST, loops: set[Loop]) -> bool:
    """Whether a number begins again in each turn of loops."""
    return any(loop in loops for way in draft.drive.ways(statement) for frame in way for loop in frame.loops)


__all__ = [
    "REDUCING",
    "Read",
    "begins_as",
    "bindings",
    "carries",
    "ever_bound",
    "is_filled",
    "is_number",
    "is_reduced",
    "is_whole",
    "turns_of",
]
