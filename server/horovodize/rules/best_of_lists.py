"""Lists of checkpoints that a measure orders: `board.append((loss, path))`, `board.sort()`, `os.remove(board.pop()[1])`. Part
of C6.

Rank 0 alone saves and removes. By what it measured itself, each rank would have its own list: it would look for files that are
gone, and the best one would be that of a share of the rows. What orders the list is made the mean over all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.answers import Varies
from horovodize.facts.sources import Source
from horovodize.rules import means
from horovodize.rules.any_rank_test import differing
from horovodize.rules.draft import Draft
from horovodize.summary.module import Module

_PUTTING = ("append", "appendleft")
_PUSHING = (
    "heapq.heappush",
    "heapq.heappushpop",
    "bisect.insort",
    "bisect.insort_left",
    "bisect.insort_right",
)
_ORDERING = ("sorted", "min", "max", *_PUSHING, "heapq.heapify", "heapq.nsmallest", "heapq.nlargest")
_OF_FILES = (
    "remove",
    "unlink",
    "rmtree",
    "load_weights",
    "load_model",
    "restore",
    "read",
    "load",
    "rename",
    "copy",
)
_FAR = 200  # nodes that a path is made of
_BEST = (
    "which checkpoints are the best is decided here by what each rank's own rows gave: put in the mean over all ranks "
    "(`hvd.allreduce`), if the best of all rows are meant"
)


def agree(draft: Draft) -> set[ast.AST]:
    """Averages what orders such lists. Gives what makes ranks differ in it no more."""
    alike = set[ast.AST]()
    for call in draft.module.calls_which(_puts) if draft.divided else ():
        held, item = _put(draft.module, call)
        own = {e: of_own_rows(draft, e) for e in item.elts}
        measured = {e: found for e, found in own.items() if found}
        if not measured or not _is_ordered(draft, held) or not _names_files(draft, held):
            continue
        for e, found in measured.items():
            if means.decide_alike(draft, e, number=True):
                alike |= found
            else:
                draft.note("C6", e, _BEST)
    return alike


def _puts(module: Module, call: ast.Call) -> bool:
    """Whether a call puts several things together into a list: `board.append((loss, path))`, `heappush(board, …)`."""
    if module.names.of(call.func) in _PUSHING:
        return len(call.args) == 2 and isinstance(call.args[1], ast.Tuple)
    put = isinstance(call.func, ast.Attribute) and call.func.attr in _PUTTING
    return put and len(call.args) == 1 and isinstance(call.args[0], ast.Tuple)


def _put(module: Module, call: ast.Call) -> tuple[ast.expr, ast.Tuple]:
    item = call.args[-1]
    assert isinstance(item, ast.Tuple)
    if isinstance(call.func, ast.Attribute) and module.names.of(call.func) not in _PUSHING:
        return call.func.value, item
    return call.args[0], item


def of_own_rows(draft: Draft, e: ast.AST) -> set[ast.AST]:
    """What of a value each rank measured by its own rows; not the logs of an epoch, which `fit` averages."""
    found = (r.where for r in differing(draft, e) if isinstance(r, Varies) and r.kind is Source.ROWS)
    return {where for where in found if not _is_logs_of_an_epoch(draft, where)}


def _is_logs_of_an_epoch(draft: Draft, n: ast.AST) -> bool:
    hook = draft.facts.hooks.around(n)
    name = n.id if isinstance(n, ast.Name) else n.arg if isinstance(n, ast.arg) else None
    return hook is not None and not hook.is_of_batches and name is not None and name == hook.logs


def _is_ordered(draft: Draft, held: ast.expr) -> bool:
    name = ast.unparse(held)
    sorts = (c.func for c in draft.sites.method_calls("sort") if isinstance(c.func, ast.Attribute))
    if any(ast.unparse(f.value) == name for f in sorts):
        return True
    return any(ast.unparse(c.args[0]) == name for c in _ordering(draft) if c.args)


def _ordering(draft: Draft) -> Iterator[ast.Call]:
    for call in draft.syntax.calls:
        built_in = draft.module.scopes.is_builtin(call.func)
        name = draft.names.last(call.func) if built_in else draft.names.of(call.func)
        if name in _ORDERING:
            yield call


def _names_files(draft: Draft, held: ast.expr) -> bool:
    """Whether files are read or removed by what stands in a list."""
    name = ast.unparse(held)
    calls = (c for c in draft.syntax.calls if draft.names.last(c.func) in _OF_FILES)
    return any(
        ast.unparse(n) == name
        for c in calls
        for n in draft.values.depends(c.args, _FAR)
        if isinstance(n, type(held))
    )


__all__ = ["agree", "of_own_rows"]
