"""Counts of steps that no statement adds to: part of G5.

`counts.update(["step"])` of a `collections.Counter`, `tick = lambda: box.__setitem__(0, box[0] + 1)`: what reads such a count,
in a test that decides more than what is printed, counts a rank's steps, and is asked about. So is what a decorator counts."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.counting.counter_kinds import Counter, CounterKind
from horovodize.facts.counting.gates import gated
from horovodize.rules.counts import thresholds
from horovodize.rules.counts.unseen_counts import only_shows
from horovodize.rules.drafting.decisions import Asked, Decided
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.numbers import counted, with_each_step
from horovodize.source.nodes import walk

_COUNTER = "collections.Counter"
_ASKED = (
    "a rank takes size() times fewer steps, and `{}` counts them in a call that isn't followed: let this test read those of "
    "all ranks, `{} * hvd.size()`, unless it is of a rank's own steps"
)
_GATES = (
    "a rank takes size() times fewer steps, and this decides in which of them `{}` runs: let it go by the calls of all ranks, "
    "whose number is that of a rank times `hvd.size()`"
)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq)


def ask(draft: Draft) -> None:
    """Asks about each test that reads such a count."""
    _ask_of_decorators(draft)
    counts = [(held, key) for held, key, call in _counted(draft) if _is_by_step(draft, call)]
    for test in draft.syntax.every(ast.Compare) if counts else ():
        read = next((n for n in walk(test) if any(_reads(n, *count) for count in counts)), None)
        if read is None or only_shows(draft, test) or any(draft.was(n, Decided) for n in walk(test)):
            continue
        if isinstance(test.ops[0], (ast.In, ast.NotIn)) or not draft.decide(test, Asked("G5")):
            continue
        text = draft.module.text(read)
        draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _ASKED.format(text, text))


def _ask_of_decorators(draft: Draft) -> None:
    """`@every(50)`: asks about the test by which a decorator hands on the calls of a function that each step calls."""
    for function, test in gated(draft.module):
        counts = any(isinstance(n, (ast.Mod, *_ORDER)) for n in walk(test))
        if not counts or not any(with_each_step.is_by_step(draft, c) for c in draft.values.callers(function)):
            continue
        if not any(draft.was(n, Decided) for n in walk(test)) and draft.decide(test, Asked("G5")):
            draft.ask("G5", test, thresholds.WHAT, thresholds.WHY, _GATES.format(function.name))


def _counted(draft: Draft) -> Iterator[tuple[str, str | None, ast.Call]]:
    """(what holds a count, the key of that, where it is counted on); the key is None where it may be any."""
    for call in draft.module.calls_called("__setitem__"):
        match call:
            case ast.Call(
                func=ast.Attribute(value=held),
                args=[key, ast.BinOp(op=ast.Add(), left=ast.Subscript(value=whole, slice=own))],
            ) if ast.unparse(whole) == ast.unparse(held) and ast.unparse(own) == ast.unparse(key):
                yield ast.unparse(held), ast.unparse(key), call
    for call in draft.module.calls_called("update"):
        match call:
            case ast.Call(func=ast.Attribute(value=held)) if call.args or call.keywords:
                if any(draft.names.of(made.func) == _COUNTER for made in draft.values.calls(held)):
                    yield from ((ast.unparse(held), key, call) for key in _keys(call))


def _keys(call: ast.Call) -> list[str | None]:
    """What `counts.update(["step"])`, `counts.update(step=1)` counts; None for any."""
    found: list[str | None] = [repr(k.arg) if k.arg is not None else None for k in call.keywords]
    for given in call.args:
        match given:
            case ast.List(elts=keys) | ast.Tuple(elts=keys) | ast.Set(elts=keys):
                found += [ast.unparse(k) for k in keys]
            case ast.Dict(keys=named):
                found += [ast.unparse(k) if k is not None else None for k in named]
            case _:
                found.append(None)
    return found


def _is_by_step(draft: Draft, call: ast.Call) -> bool:
    """Whether a call comes with a rank's share of the steps; one in a lambda that has a name, by the calls of that."""
    around = next((a for a in draft.syntax.ancestors(call) if isinstance(a, ast.Lambda)), None)
    if around is not None:
        callers = [c for c in draft.syntax.calls if draft.values.callee(c) is around]
        return any(_is_by_step(draft, c) for c in callers if not draft.syntax.inside(c, around))
    found = draft.facts.occasions.counted_at(call)
    if found is None or not (found[0] or found[1]) or draft.facts.occasions.are_seldom(call, found[0]):
        return False
    return counted.counts_share(draft, Counter(CounterKind.NUMBER, frozenset(found[0]), found[1]))


def _reads(n: ast.AST, held: str, key: str | None) -> bool:
    """Whether a node reads a count: `counts["step"]`."""
    if not isinstance(n, ast.Subscript) or ast.unparse(n.value) != held:
        return False
    return key is None or ast.unparse(n.slice) == key


__all__ = ["ask"]
