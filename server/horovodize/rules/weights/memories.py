"""Memories of rows that training fills as it goes, and that later losses are made with: part of G2.

Predictions of earlier epochs (temporal ensembling), features of all rows (a memory bank), how often a row was seen. Where rows
are dealt out, a rank fills in those of its own rows only. That is all it needs where they stay its own from epoch to epoch;
where they are dealt out anew, it reads what it hasn't filled in, or what is long out of date."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.syntax import Loop, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import outputs_of
from horovodize.rules.weights.steered import is_of_drawn_rows, loops_next_to, used_in_losses
from horovodize.rules.weights.target_networks import FILLS, MOVES, made_of

_WHAT = "Let all ranks remember the same of the rows"
_WHY = "A loss that is made with what a rank has missed trains for another aim."
_ASKED = (
    "each rank fills this in for the rows that it is dealt, and later losses are made with it, or rows drawn by it: that is "
    "right where its rows stay its own in all epochs; else exchange what the ranks filled in after each epoch (`hvd.allgather`)"
)
_MOVED = (
    "each rank moves parts of this on by its own rows, and later losses are made with it: it differs more and more between the "
    "ranks; let all ranks move it on by the rows of all (`hvd.allgather`)"
)
_WRITTEN = (
    "each rank fills this in for the rows that it is dealt, and what rank 0 writes of it has its own only: exchange what the "
    "ranks filled in before that (`hvd.allgather`, or `hvd.allreduce` of a sum)"
)
_SORTING = ("argsort", "argpartition")
_DRAWING = ("choice", "choices", "multinomial")
_CHANCES = ("p", "weights", "cum_weights", "pvals")


def ask(draft: Draft) -> None:
    if draft.in_graph or any(draft.facts.steps.game(u.call) for u in draft.sites.updates):
        return  # what a rank's own game gave
    found = [f for f in _filled(draft) if is_by_own_rows(draft, f[1]) and is_kept(draft, *f)]
    used = used_in_losses(draft) | _choosing(draft) if found else set()
    read = {made for n in used if isinstance(n, (ast.Name, ast.Attribute)) for made in made_of(draft, n)}
    for memory, given in found:
        if made_of(draft, memory) & read and draft.once("memory", draft.syntax.statement(given[0])):
            doubt = _MOVED if _moves(draft, given[0]) else _ASKED
            draft.ask("G2", draft.syntax.statement(given[0]), _WHAT, _WHY, doubt)
    written = _written(draft) if found else set()
    for memory, given in found:
        if made_of(draft, memory) & written and _is_by_number_of_row(draft, given[0]):
            if draft.once("memory", draft.syntax.statement(given[0])):
                draft.note("G2", draft.syntax.statement(given[0]), _WRITTEN)


def _written(draft: Draft) -> set[ast.AST]:
    """What makes the names that files are written of, after training or in it."""
    outputs = outputs_of(draft)
    found = ((call, outputs.effects.output_calls.of(call)) for call in outputs.candidates)
    calls = [call for call, output in found if output is not None and output.kind == "write"]
    names = [n for c in calls for n in draft.values.depends(arguments(c), 200)]
    return {made for n in names if isinstance(n, (ast.Name, ast.Attribute)) for made in made_of(draft, n)}


def _is_by_number_of_row(draft: Draft, place: ast.expr) -> bool:
    """Whether places are those of the rows of a batch: `i` of `for i, x, y in numbered:`."""
    names = [n for n in ast.walk(place) if isinstance(n, ast.Name)]
    return any(draft.facts.dealt.is_own(n) for n in names)


def _filled(draft: Draft) -> Iterator[tuple[ast.expr, list[ast.expr]]]:
    """What is filled in at some places of it: the memory, and what says where and what. `memory[rows] = …`"""
    for n in draft.syntax.every(ast.Subscript):
        if isinstance(n.ctx, ast.Store) and not isinstance(n.slice, ast.Constant):
            statement = draft.syntax.statement(n)
            value = statement.value if isinstance(statement, (ast.Assign, ast.AugAssign)) else None
            if isinstance(n.value, (ast.Name, ast.Attribute)):
                yield n.value, [n.slice, *([value] if value is not None else [])]
    for call in draft.sites.method_calls("assign"):  # `queue[at : at + n].assign(keys)`
        part = call.func.value if isinstance(call.func, ast.Attribute) else None
        if (
            isinstance(part, ast.Subscript)
            and isinstance(part.value, (ast.Name, ast.Attribute))
            and call.args
        ):
            yield part.value, [part.slice, *call.args]
    for call in draft.sites.method_calls("at"):  # `np.add.at(centers, labels, differences)`
        if (draft.names.of(call.func) or "").startswith("numpy.") and len(call.args) > 1:
            if isinstance(call.args[0], (ast.Name, ast.Attribute)):
                yield call.args[0], call.args[1:]
    for call in draft.sites.method_calls(*FILLS, *MOVES):
        if isinstance(call.func, ast.Attribute) and call.args:
            yield call.func.value, [*call.args]


def _choosing(draft: Draft) -> set[ast.AST]:
    """What rows are drawn by, or taken in the order of: `rng.choice(n, 8, p=hard / hard.sum())`, `np.argsort(losses)`."""
    given: list[ast.expr | None] = []
    for call in draft.syntax.calls:
        name = draft.names.last(call.func)
        if name in _SORTING:
            given += [*call.args[:1], call.func.value if isinstance(call.func, ast.Attribute) else None]
        given += [k.value for k in call.keywords if name in _DRAWING and k.arg in _CHANCES]
    return set(draft.values.depends([e for e in given if e is not None], 400))


def _moves(draft: Draft, given: ast.expr) -> bool:
    """Whether what is given is added to what is there, or the like: `centers.scatter_sub(differences)`, `centers[k] += d`."""
    call = draft.syntax.parent[given]
    if isinstance(draft.syntax.parent[call], ast.AugAssign):
        return not _is_by_number_of_row(draft, given)
    return isinstance(call, ast.Call) and draft.names.last(call.func) in (*MOVES, "at")


def is_by_own_rows(draft: Draft, given: list[ast.expr]) -> bool:
    """Whether what is filled in, or where, goes by the rows that a rank is dealt or draws."""
    reasons = (r for e in given for r in draft.uniform.of_values.reasons(e))
    if any(isinstance(r, Varies) and r.kind is Source.ROWS for r in reasons):
        return True
    read = (n for e in given for n in ast.walk(e) if isinstance(n, (ast.Name, ast.Attribute)))
    return any(isinstance(n.ctx, ast.Load) and is_of_drawn_rows(draft, n) for n in read)


def is_kept(draft: Draft, memory: ast.expr, given: list[ast.expr]) -> bool:
    """Whether what is filled in with steps was there before their loop: it isn't made again in each turn."""
    turns = _loops(draft, given[0])
    made = [m for m in made_of(draft, memory) if not isinstance(m, ast.Constant)]
    steps = [u.call for u in draft.sites.updates]
    steps += [f.call for f in draft.sites.fits if f.method == "train_on_batch"]
    training = {loop for step in steps for loop in _loops(draft, step)}
    # (it may be filled in part by part, in a loop within that of the steps)
    of_steps = {loop for step in steps for loop in loops_next_to(draft, step)}
    within = turns & training & loops_next_to(draft, given[0]) or turns & of_steps
    return bool(within) and bool(made) and not any(_loops(draft, m) & within for m in made)


def _loops(draft: Draft, node: ast.AST) -> set[Loop]:
    return {loop for way in draft.drive.ways(node) for frame in way for loop in frame.loops}
