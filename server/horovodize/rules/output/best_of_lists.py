"""Lists of checkpoints that a measure orders: `board.append((loss, path))`, `board.sort()`, `os.remove(board.pop()[1])`. Part
of C6.

Rank 0 alone saves and removes. By what it measured itself, each rank would have its own list: it would look for files that are
gone, and the best one would be that of a share of the rows. What orders the list is made the mean over all ranks."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.answers import Varies
from horovodize.facts.differences.sources import Source
from horovodize.python.module import Module
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import differing

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
_FAR = 2000  # nodes that paths are made of
_BEST = (
    "which checkpoints are the best is decided here by what each rank's own rows gave: put in the mean over all ranks "
    "(`hvd.allreduce`), if the best of all rows are meant"
)


def agree(draft: Draft) -> set[ast.AST]:
    """Averages what orders such lists. Gives what makes ranks differ in it no more."""
    alike = set[ast.AST]()
    puts = draft.module.calls_which(_puts) if draft.divided else []
    found = _ordered(draft) if puts else set[str]()
    found &= _naming_files(draft) if found else set()
    for call in puts if found else ():
        held, item = _put(draft.module, call)
        if ast.unparse(held) not in found:
            continue
        own = {e: of_own_rows(draft, e) for e in item.elts}
        measured = {e: wheres for e, wheres in own.items() if wheres}
        for e, wheres in measured.items():
            if means.decide_alike(draft, e, number=True):
                alike |= wheres
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


def _ordered(draft: Draft) -> set[str]:
    """The lists that are sorted, or of which the first or last is taken, as they are written."""
    sorts = (c.func for c in draft.sites.method_calls("sort") if isinstance(c.func, ast.Attribute))
    return {ast.unparse(f.value) for f in sorts} | {
        ast.unparse(c.args[0]) for c in _ordering(draft) if c.args
    }


def _ordering(draft: Draft) -> Iterator[ast.Call]:
    for call in draft.module.calls_called(*{name.rpartition(".")[2] for name in _ORDERING}):
        built_in = draft.module.scopes.is_builtin(call.func)
        name = draft.names.last(call.func) if built_in else draft.names.of(call.func)
        if name in _ORDERING:
            yield call


def _naming_files(draft: Draft) -> set[str]:
    """What files are read or removed by, as it is written."""
    given = [a for call in draft.module.calls_called(*_OF_FILES) for a in call.args]
    held = (
        n
        for n in draft.values.depends(given, _FAR)
        if isinstance(n, (ast.Name, ast.Attribute, ast.Subscript))
    )
    return {ast.unparse(n) for n in held}


__all__ = ["agree", "of_own_rows"]
