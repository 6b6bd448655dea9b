"""Tests of a number that a generator of the program yields beside each batch: part of G4.

    for step, x, y in batches(1000):
        train(x, y)
        if step % 100 == 0: save()

Each rank gets every size()-th batch with its number, so that the number of a turn differs between the ranks, and goes on by
size(): it may step over what it is tested for. What happens by it happens in the turn in which a rank comes to it. Where the
numbers are one more with each batch that is dealt out, that is known without asking (`dealt_numbers`)."""

from __future__ import annotations

import ast

from horovodize.python.syntax import FUNCTIONS
from horovodize.rules.drafting.decisions import Agreed, Asked
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.together.any_rank_test import agree, can_agree
from horovodize.source.nodes import walk

_WHAT = "Let it happen in the turn in which a rank comes to the number"
_WHY = "Each rank gets every size()-th batch, and the number that is yielded with it: one rank alone may come to this one."
_ASKED = (
    "each rank gets every size()-th batch, and the number that is yielded with it: a rank may step over the one that it is "
    "compared with here"
)


def decide_together(draft: Draft) -> None:
    """Lets all ranks do what one comes to by such a number."""
    rule = draft.loop_rule
    for test in draft.syntax.every(ast.Compare):
        if not isinstance(test.ops[0], ast.Eq) or not _is_own_number(draft, test.left):
            continue
        whole: ast.expr = test
        while isinstance(parent := draft.syntax.parent[whole], ast.BoolOp):  # `step % 100 == 0 and step != 0`
            whole = parent
        if any(draft.was(n, Agreed, Asked) for n in ast.walk(whole)):
            continue  # as `dealt_numbers` says, by the number alone
        if can_agree(draft, whole):
            agree(draft, whole, why=_WHY, what=_WHAT)
        elif draft.decide(whole, Asked(rule)):
            draft.ask(rule, whole, _WHAT, _WHY, _ASKED)


def _is_own_number(draft: Draft, e: ast.expr) -> bool:
    """Whether something is made of such a number: `step`, `(step + 1) % 100`"""
    while isinstance(e, ast.BinOp) and isinstance(e.op, (ast.Mod, ast.Add, ast.Sub, ast.FloorDiv)):
        e = e.left
    return isinstance(e, ast.Name) and draft.facts.dealt.is_own(e) and _is_yielded(draft, e)


def _is_yielded(draft: Draft, name: ast.Name) -> bool:
    """Whether a name gets the number of a turn from a generator of the program."""
    bound = draft.module.scopes.reaching(name)
    if len(bound) != 1 or bound[0].kind != "item" or not isinstance(bound[0].value, ast.Call):
        return False
    generator, path = draft.values.callee(bound[0].value), bound[0].path
    yielded = (
        [n.value for n in walk(generator) if isinstance(n, ast.Yield)]
        if isinstance(generator, FUNCTIONS)
        else []
    )
    return bool(yielded) and all(
        isinstance(e, ast.Tuple)
        and len(path) == 1
        and path[0] < len(e.elts)
        and _counts(draft, e.elts[path[0]])
        for e in yielded
    )


def _counts(draft: Draft, e: ast.expr) -> bool:
    """Whether a generator counts its turns by a number: the `i` of `for i in range(n):`, `i += 1`."""
    bound = draft.module.scopes.reaching(e) if isinstance(e, ast.Name) else []
    return bool(bound) and all(
        b.kind == "augment"
        or (b.kind == "assign" and isinstance(b.value, ast.Constant))
        or (b.kind == "item" and b.value is not None and _numbers(draft, b.value, b.path))
        for b in bound
    )


def _numbers(draft: Draft, over: ast.expr, path: tuple[int, ...]) -> bool:
    is_enumerated = isinstance(over, ast.Call) and draft.names.last(over.func) == "enumerate" and path == (0,)
    return is_enumerated or (not path and feeding(draft).kinds.is_range(over))


__all__ = ["decide_together"]
