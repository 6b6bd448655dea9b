"""An optimizer's own rate that a program writes to a file, and reads again in a later run: part of C5.

It is multiplied by the number of ranks already; read again, it becomes a rate that is multiplied once more. So the file holds
the rate of one process, from which any number of ranks goes on:

`json.dump({"lr": float(opt.learning_rate)}, f)` → `json.dump({"lr": float(opt.learning_rate) / hvd.size()}, f)`"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator

from horovodize.facts.counting.restored_numbers import RestoredNumbers
from horovodize.rules.drafting.decisions import Counted
from horovodize.rules.drafting.draft import Draft
from horovodize.source import Edit

_WHAT = "Keep the rate of one process in the file"
_WHY = "The optimizer's is multiplied by the number of ranks, and so is what a later run reads here: it would be twice."
_ASKED = (
    "this is written to a file as it is, multiplied by the number of ranks, and what a later run reads from one is multiplied "
    "again: write it divided by `hvd.size()`"
)
_WRITING = (
    "dump",
    "dumps",
    "save",
    "savez",
    "savez_compressed",
    "savetxt",
    "write",
    "write_text",
    "writerow",
    "writelines",
)
_READING = ("numpy", "read_value", "value", "item")  # `optimizer.learning_rate.numpy()`
_NUMBERS = ("float", "int")
_LIMIT = 400


def unscale(draft: Draft, rates: Iterable[ast.expr], is_rate: Callable[[Draft, ast.expr], bool]) -> None:
    """`rates`: what optimizers' rates are made and set with; `is_rate`: whether an expression is one that is multiplied."""
    if not draft.growth or draft.in_graph or not any(_is_read_again(draft, rate) for rate in rates):
        return
    for read in reads(draft, is_rate):
        whole = whole_of(draft, read)
        if _is_set_again(draft, read, is_rate):
            continue  # what is written is the rate that it is set to, which is divided there
        if not draft.decide(whole, Counted("C5")):
            continue
        if is_only_written(draft, read):
            edits = draft.times(whole, draft.growth, "/")
            if isinstance(draft.syntax.parent[whole], (ast.BinOp, ast.UnaryOp)):
                edits = Edit.around(draft.module.span(whole), "(", f" / {draft.growth})")
            draft.change("C5", whole, _WHAT, _WHY, edits)
        else:  # others may read it, too
            draft.ask("C5", whole, _WHAT, _WHY, _ASKED)


def _is_read_again(draft: Draft, rate: ast.expr) -> bool:
    """Whether a rate comes from a file that the program writes."""
    known = RestoredNumbers(draft.module)
    return any(known.reads(n) for n in draft.values.depends([rate], _LIMIT) if isinstance(n, ast.Call))


def _items(draft: Draft, given: list[ast.expr]) -> Iterator[ast.expr]:
    """What is put into the dictionaries that are written: `state["lr"] = float(optimizer.learning_rate)`."""
    written = {ast.unparse(e) for e in given if isinstance(e, (ast.Name, ast.Attribute))}
    for statement in draft.syntax.every(ast.Assign) if written else ():
        targets = [e for t in statement.targets for e in (t.elts if isinstance(t, ast.Tuple) else [t])]
        if any(isinstance(t, ast.Subscript) and ast.unparse(t.value) in written for t in targets):
            yield statement.value


def _is_set_again(draft: Draft, read: ast.expr, is_rate: Callable[[Draft, ast.expr], bool]) -> bool:
    """Whether a rate is read to set it: `optimizer.learning_rate = float(optimizer.learning_rate) * 0.5`."""
    match draft.syntax.statement(read):
        case ast.Assign(targets=targets):
            return any(isinstance(t, ast.Attribute) and is_rate(draft, t) for t in targets)
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="assign", value=ast.Attribute() as kept))):
            return is_rate(draft, kept)
    return False


def _writing(draft: Draft) -> list[ast.Call]:
    """The calls that write."""
    return draft.module.calls_called(*_WRITING)


def is_only_written(draft: Draft, read: ast.expr) -> bool:
    """Whether what is read is written there, or has a name that is only written: `state = {"lr":
    float(optimizer.learning_rate)}`."""
    calls = _writing(draft)
    if any(draft.syntax.inside(read, call) for call in calls):
        return True
    statement = draft.syntax.statement(read)
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        return False
    lookup = draft.module.scopes.lookup
    loaded = (
        n
        for n in draft.syntax.every(ast.Name)
        if n.id == target.id and isinstance(n.ctx, ast.Load) and lookup(n.id, n) is lookup(n.id, target)
    )
    return all(any(draft.syntax.inside(n, call) for call in calls) for n in loaded)


def reads(draft: Draft, is_meant: Callable[[Draft, ast.expr], bool]) -> list[ast.expr]:
    """Where fields that are meant are read to be written."""
    calls = _writing(draft)
    given = [e for c in calls for e in (*c.args, *(k.value for k in c.keywords))]
    given += list(_items(draft, given))
    found = (n for n in draft.values.depends(given, _LIMIT) if isinstance(n, ast.Attribute))
    return [n for n in found if isinstance(n.ctx, ast.Load) and is_meant(draft, n)]


def whole_of(draft: Draft, read: ast.expr) -> ast.expr:
    """`float(optimizer.learning_rate.numpy())` around the rate in it: a number that can be divided."""
    while True:
        around = draft.syntax.parent[read]
        call = draft.syntax.parent.get(around)
        if isinstance(around, ast.Attribute) and around.attr in _READING and isinstance(call, ast.Call):
            read = call
        elif (
            isinstance(around, ast.Call) and read in around.args and draft.names.last(around.func) in _NUMBERS
        ):
            return around
        elif (
            isinstance(around, ast.Call)
            and read in around.args
            and draft.names.last(around.func) == "get_value"
        ):
            read = around
        else:
            return read


__all__ = ["is_only_written", "reads", "unscale", "whole_of"]
