"""Files that are listed in the order of the disk, and trained on: part of D3.

`os.listdir(folder)` gives names in an order of the file system's own, on another host another one: parts that are taken by
that order overlap and leave rows out, what is kept for validation on one host is trained on by the other, and classes that
are numbered by it get other numbers. All ranks take rank 0's list; where some rank may not come there, the user is told.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from horovodize.facts.feeds.generators import LISTING_FILES
from horovodize.facts.files.kept import RESTORING
from horovodize.plan import Decision
from horovodize.python.syntax import CALLABLES, FUNCTIONS, LOOPS, argument
from horovodize.rules.drafting.decisions import Agreed, Shared
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import from_root
from horovodize.rules.numbers.shares import feeding
from horovodize.rules.together.any_rank_test import can_agree
from horovodize.source import Edit

_ITERATORS = ("os.walk", "glob.iglob")
_METHODS = ("iterdir", "rglob")  # of paths, as `glob` is
_SORTING = ("sorted", "natsorted", "sort", "argsort", "sort_values", "humansorted", "lexsort")
_RESTORING = ("load_model", "load_weights", *RESTORING)
_ADDING = ("append", "extend", "insert")
_LIMIT = (
    20_000  # nodes, each looked at once: what loops read may lead to all of a model before it leads to a list
)
_WHAT = "Take files in rank 0's order on all ranks"
_WHY = "Other hosts may list them in another order: ranks would take overlapping parts, or number classes otherwise."
_NOTE = (
    "other hosts may list these files in another order: ranks there would take overlapping parts, or number classes "
    "otherwise; sort the files"
)


def keep_order(draft: Draft) -> None:
    """Runs after rows are dealt out."""
    if not draft.divided and not any(c.decision is Decision.SHARED for c in draft.changes):
        return
    listing = set(_listing(draft))
    if not listing:
        return
    ordered = {n for call in draft.syntax.calls if _sorts(draft, call) for n in _made_of(draft, _given(call))}
    trained = _made_of(draft, _trained_on(draft))
    run_by_datasets = list(_generating(draft))
    listing -= _made_of(draft, _restored_from(draft))  # another host has no such file, or an older one
    for call in draft.syntax.calls:  # in the order of the text
        if call not in listing or call in ordered or call not in trained or draft.was(call, Agreed):
            continue
        is_main = _is_in_main(draft, call) and not draft.syntax.loops(call)
        aside = any(draft.syntax.inside(call, function) for function in run_by_datasets)
        if aside or draft.options.elastic or not is_main or not can_agree(draft, call):
            draft.note("D3", call, _NOTE)  # elastic: a rank that joins later lists alone
        elif draft.decide(call, Agreed("D3")):
            is_list = draft.names.of(call.func) in LISTING_FILES
            opening, closing = ("(", ")") if is_list else ("(list(", "))")
            edits = Edit.around(draft.module.span(call), from_root(draft) + opening, closing)
            draft.change("D3", call, _WHAT, _WHY, edits)


def _listing(draft: Draft) -> Iterator[ast.Call]:
    yield from draft.module.calls_of(*LISTING_FILES, *_ITERATORS)
    for call in draft.sites.method_calls(*_METHODS, "glob"):
        made = draft.values.calls(call.func.value) if isinstance(call.func, ast.Attribute) else ()
        if draft.names.last(call.func) in _METHODS or any(
            (draft.names.of(c.func) or "").startswith("pathlib.") for c in made
        ):
            yield call


def _restored_from(draft: Draft) -> Iterator[ast.expr]:
    """The paths of checkpoints that are read: `model.load_weights(newest)`."""
    for call in draft.sites.method_calls(*_RESTORING):
        yield from call.args


def _sorts(draft: Draft, call: ast.Call) -> bool:
    return draft.names.last(call.func) in _SORTING


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """What a call sorts: `sorted(files)`, `files.sort()`."""
    yield from call.args
    if isinstance(call.func, ast.Attribute):
        yield call.func.value


def _trained_on(draft: Draft) -> list[ast.AST]:
    """What is dealt out to the ranks, and what loops that train read."""
    found: list[ast.AST] = [*draft.having(Shared)]
    for driver in feeding(draft).drivers:
        body = (n for s in driver.loop.body for n in ast.walk(s))
        found += [n for n in body if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    found += [
        loop.iter
        for function in _generating(draft)
        for loop in ast.walk(function)
        if isinstance(loop, ast.For)
    ]
    return found


def _generating(draft: Draft) -> Iterator[ast.AST]:
    """The generator functions that datasets are made of."""
    for call in draft.module.calls_called("from_generator"):
        given = argument(call, "generator", 0)
        origins = draft.values.origins(given) if given is not None else []
        yield from (o.node for o in origins if isinstance(o.node, FUNCTIONS))


def _made_of(draft: Draft, expressions: Iterable[ast.AST]) -> set[ast.AST]:
    """What contributes to values, also by way of lists that loops fill."""
    found, todo = set[ast.AST](), list[ast.AST](expressions)
    filled = [c for c in draft.sites.method_calls(*_ADDING) if isinstance(c.func, ast.Attribute)]
    while todo:
        new = {n for n in draft.values.depends(todo, _LIMIT) if n not in found}
        found |= new
        names = {n.id for n in new if isinstance(n, ast.Name)}
        todo = []
        for call in filled:
            holder = call.func.value if isinstance(call.func, ast.Attribute) else None
            bound = draft.module.scopes.reaching(holder) if isinstance(holder, ast.Name) else []
            if isinstance(holder, ast.Name) and holder.id in names and any(b.value in found for b in bound):
                around = draft.syntax.ancestors(call)
                todo += [n for n in (*call.args, *_turns(around)) if n not in found]
    return found


def _turns(around: Iterable[ast.AST]) -> Iterator[ast.expr]:
    """What the loops of the same function go through."""
    for a in around:
        if isinstance(a, CALLABLES):
            return
        if isinstance(a, LOOPS) and not isinstance(a, ast.While):
            yield a.iter


def _is_in_main(draft: Draft, call: ast.Call) -> bool:
    """Whether a call stands in the script itself: modules that know nothing of Horovod are left so."""
    return draft.syntax.tree in draft.syntax.ancestors(call)
