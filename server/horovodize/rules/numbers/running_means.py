"""Means that a program keeps of the rows it has seen, and trains with: `mean += (row - mean) / n`. Part of G5.

A count that a sum is divided by is how much was added up, by this rank; it is told nothing of the others' steps. What is kept
so is of a rank's own rows, and another on each rank. Gradients that are added up before they are applied are averaged already.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted
from horovodize.rules.weights.target_networks import ASSIGNS
from horovodize.source.nodes import walk

_WHAT = "Keep the mean of what each rank has seen"
_WHY = "Ranks that each see a part of the rows each have a mean of their own."
_ASKED = (
    "this mean is of what a rank has seen itself, so it is another one on each rank: right if that may be, else compute it of "
    "all rows before training"
)

_SAME = {
    "cast",
    "float",
    "float32",
    "float64",
    "to_float",
    "numpy",
    "max",
    "maximum",
    "convert_to_tensor",
    "constant",
}
_DIVIDING = {"divide", "truediv", "div", "divide_no_nan", "div_no_nan"}
_SUMS = {"sum", "add_n", "reduce_sum", "accumulate_n"}
_FAR = 300  # nodes that a sum is looked for behind


def around(draft: Draft, read: ast.expr) -> ast.BinOp | None:
    """The quotient by which a mean is kept or taken, where a count is what it is divided by; None for other formulas."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        if isinstance(a, ast.stmt):
            return None
        if isinstance(a, ast.BinOp) and isinstance(a.op, ast.Div) and child is a.right:
            return a if _is_added_up(draft, a.left) or _moves_what_is_kept(draft, a) else None
        child = a
    return None


def is_of_gradients(draft: Draft, read: ast.expr) -> bool:
    """Whether a count is what gradients are divided by that were added up meanwhile, `total / count`: all ranks have the same
    of them, and each has added as many as it counts."""
    divided = _divided_by(draft, read)
    if divided is None:
        return False
    gradients = set(draft.sites.training_gradients)
    behind = set(draft.values.depends([divided], _FAR))
    for kept, by in _sums(draft):
        if gradients.isdisjoint(draft.values.depends([by], _FAR)):
            continue
        made = (n for n in draft.values.depends([kept], _FAR) if isinstance(n, (ast.Call, ast.ListComp)))
        if by in behind or any(n in behind for n in made):
            return True
    return _is_applied_with(draft, read)


def _is_applied_with(draft: Draft, read: ast.expr) -> bool:
    """Whether a count begins again under the test under which it is read, with an update: it is how many steps went into that,
    `if count == 4: apply([g / count for g in total]); count = 0`."""
    counter = counted.of(draft, read)
    steps = {u.call for u in draft.sites.updates}
    return counter is not None and any(
        draft.syntax.inside(read, around) and any(draft.syntax.inside(step, around) for step in steps)
        for start in counter.starts
        for around, _ in draft.syntax.conditions(start)
    )


def counts_what_is_added(draft: Draft, kept: ast.expr) -> bool:
    """Whether a layer divides by a count what it adds up of its own rows: `self.total / self.count`."""
    text, function = ast.unparse(kept), draft.syntax.function(kept)
    owner = draft.syntax.method_class(function)
    for read in draft.syntax.every(ast.Attribute) if owner is not None else ():
        if ast.unparse(read) == text and draft.syntax.method_class(draft.syntax.function(read)) is owner:
            divided = _divided_by(draft, read)
            total = ast.unparse(divided) if isinstance(divided, ast.Attribute) else ""
            if total and any(ast.unparse(added) == total for added, _ in _sums(draft)):
                return True
    return divides_means_of_rows(draft, text)


def divides_means_of_rows(draft: Draft, kept: str) -> bool:
    """Whether what is kept is moved by what a rank's rows gave, divided by a count, or by what that becomes with them:
    `total = self.n + rows`, `self.mean.assign_add(delta * rows / total)`.

    kept: the count, as it is written"""
    for read in draft.syntax.every(ast.Attribute, ast.Name):
        if isinstance(read, (ast.Attribute, ast.Name)) and isinstance(read.ctx, ast.Load):
            divided = _divided_by(draft, read)
            if divided is None or ast.unparse(read) != kept and not _goes_on_from(draft, read, kept):
                continue
            if _sets_what_is_kept(draft, read) and _is_of_rows(draft, divided):
                return True
    return False


def _goes_on_from(draft: Draft, read: ast.expr, kept: str) -> bool:
    """Whether a name stands for a count and what is added to it."""
    bound = draft.module.scopes.reaching(read) if isinstance(read, ast.Name) else []
    terms = [t for b in bound if b.value is not None and not b.path for t in _terms(b.value)]
    return any(ast.unparse(t) == kept for t in terms)


def _sets_what_is_kept(draft: Draft, read: ast.expr) -> bool:
    """Whether a statement with a place sets a field, a variable or an item, or a name that one is set to in its function."""
    statement = draft.syntax.statement(read)
    if isinstance(statement, (ast.Assign, ast.AugAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
        names = {p.id for p in parts if isinstance(p, ast.Name)}
        function = draft.syntax.function(statement)
        later = (
            [s for s in walk(function) if isinstance(s, ast.Assign)] if function is not None and names else []
        )
        given = {
            n.id for s in later if _has_fields(s.targets) for n in walk(s.value) if isinstance(n, ast.Name)
        }
        return _has_fields(targets) or not names.isdisjoint(given)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ASSIGNS


def _has_fields(targets: Sequence[ast.expr]) -> bool:
    parts = [p for t in targets for p in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return any(isinstance(p, (ast.Attribute, ast.Subscript)) for p in parts)


def _is_of_rows(draft: Draft, e: ast.expr) -> bool:
    return any(isinstance(r, Varies) and r.kind is Source.ROWS for r in draft.uniform.of_values.reasons(e))


def _divided_by(draft: Draft, read: ast.expr) -> ast.expr | None:
    """What is divided by a number itself: `total` of `total / tf.cast(count, tf.float32)`."""
    child: ast.AST = read
    for a in draft.syntax.ancestors(read):
        match a:
            case ast.BinOp(op=ast.Div(), right=right) if right is child:
                return a.left
            case ast.Call(args=[one, other]) if child is other and draft.names.last(a.func) in _DIVIDING:
                return one
            case ast.Call() if draft.names.last(a.func) in _SAME:
                child = a
            case ast.Attribute() | ast.keyword():
                child = a
            case _:
                return None
    return None


def _sums(draft: Draft) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Where something is added to what is kept: to what, and what."""
    for call in draft.syntax.calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr == "assign_add" and call.args:
            yield call.func.value, call.args[0]
        elif draft.names.last(call.func) in _SUMS and call.args:
            yield call, call.args[0]
    for n in draft.syntax.every(ast.AugAssign, ast.Assign):
        if isinstance(n, ast.AugAssign):
            if isinstance(n.op, ast.Add):
                yield n.target, n.value
        elif any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Add) for part in walk(n.value)):
            yield from ((target, n.value) for target in n.targets)


def ask(draft: Draft, mean: ast.BinOp, rule: str) -> None:
    """Asks whether the mean of a rank's rows will do, once."""
    if draft.once("running mean", draft.module.tree):
        draft.ask(rule, mean, _WHAT, _WHY, _ASKED)


def _is_added_up(draft: Draft, e: ast.expr) -> bool:
    """Whether an expression is a name for what is added up: `total`, `self.m2`."""
    if isinstance(e, ast.Attribute):
        bindings = draft.values.attribute_bindings(e)
    elif isinstance(e, ast.Name):
        bindings = draft.module.scopes.reaching(e)
    else:
        return False
    text = ast.unparse(e)
    return any(
        b.kind == "augment"
        or (b.value is not None and any(ast.unparse(part) == text for part in _terms(b.value)))
        for b in bindings
        if isinstance(b.statement, (ast.Assign, ast.AugAssign))
    )


def _moves_what_is_kept(draft: Draft, quotient: ast.BinOp) -> bool:
    """`mean = mean + (row - mean) / n`, `mean += (row - mean) / n`"""
    statement = draft.syntax.statement(quotient)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, (ast.Add, ast.Sub)):
        return quotient in _terms(statement.value)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    terms, kept = _terms(statement.value), ast.unparse(statement.targets[0])
    return quotient in terms and any(ast.unparse(t) == kept for t in terms)


def _terms(e: ast.expr) -> list[ast.expr]:
    """What a sum is made of."""
    if isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Add, ast.Sub)):
        return [*_terms(e.left), *_terms(e.right)]
    return [e]


__all__ = ["around", "ask", "counts_what_is_added", "divides_means_of_rows", "is_of_gradients"]
