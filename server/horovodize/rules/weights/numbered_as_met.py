"""Names that are numbered as training meets them: part of G2.

`ids.setdefault(word, len(ids))`: where rows are dealt out, each rank meets other words first, and the same word gets another
number on each. A row of an embedding is trained for several words then."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.weights.memories import is_by_own_rows, is_kept
from horovodize.rules.weights.steered import used_in_losses
from horovodize.rules.weights.target_networks import made_of

_WHAT = "Number what rows have alike on all ranks"
_WHY = "What a model learns of a number on one rank is about something else on another."
_ASKED = (
    "each rank numbers what it meets in its own rows, so the same thing gets another number on each, and the loss is made with "
    "it: number everything before training starts"
)


def ask(draft: Draft) -> None:
    if draft.in_graph or any(draft.facts.steps.game(u.call) for u in draft.sites.updates):
        return  # what a rank's own game gave
    found = [f for f in _numbered(draft) if is_by_own_rows(draft, [f[1]]) and is_kept(draft, f[0], [f[1]])]
    used = used_in_losses(draft) if found else set()
    read = {made for n in used if isinstance(n, (ast.Name, ast.Attribute)) for made in made_of(draft, n)}
    for table, key in found:
        if made_of(draft, table) & read and draft.once("memory", draft.syntax.statement(key)):
            draft.ask("G2", draft.syntax.statement(key), _WHAT, _WHY, _ASKED)


def _numbered(draft: Draft) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Tables that give what is new in them the next number, and what they are asked for."""
    for call in draft.sites.method_calls("setdefault"):  # `ids.setdefault(word, len(ids))`
        if isinstance(call.func, ast.Attribute) and len(call.args) == 2:
            if _counts(draft, call.args[1], call.func.value):
                yield call.func.value, call.args[0]
    for n in draft.syntax.every(ast.Subscript):
        if not isinstance(n.value, (ast.Name, ast.Attribute)) or isinstance(n.slice, ast.Constant):
            continue
        statement = draft.syntax.statement(n)
        if isinstance(n.ctx, ast.Store):  # `ids[word] = len(ids)`
            if isinstance(statement, ast.Assign) and _counts(draft, statement.value, n.value):
                yield n.value, n.slice
        elif any(_numbers_by_itself(draft, made, n.value) for made in made_of(draft, n.value)):
            yield n.value, n.slice


def _numbers_by_itself(draft: Draft, made: ast.AST, table: ast.expr) -> bool:
    """`defaultdict(lambda: len(ids))`, `defaultdict(itertools.count().__next__)`"""
    if (
        not isinstance(made, ast.Call)
        or draft.names.of(made.func) != "collections.defaultdict"
        or not made.args
    ):
        return False
    factory = made.args[0]
    if isinstance(factory, ast.Lambda):
        return _counts(draft, factory.body, table)
    counter = factory.value if isinstance(factory, ast.Attribute) and factory.attr == "__next__" else None
    return isinstance(counter, ast.Call) and draft.names.of(counter.func) == "itertools.count"


def _counts(draft: Draft, value: ast.expr, table: ast.expr) -> bool:
    """Whether a number is made of how many things a table has: `len(ids) + 1`."""
    made = made_of(draft, table)
    lengths = (n for n in draft.values.depends([value], 50) if isinstance(n, ast.Call))
    return any(
        made_of(draft, held) & made
        for call in lengths
        if isinstance(call.func, ast.Name) and call.func.id == "len"
        for held in arguments(call)
        if isinstance(held, (ast.Name, ast.Attribute))
    )
