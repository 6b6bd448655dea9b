"""Threads that train: part of G4 and S5.

Several of them take turns differently on every rank, and each step waits for all ranks: they would wait for each other forever,
or average gradients of different steps. A single one is as good as none."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, FUNCTIONS, argument
from horovodize.rules.drafting.draft import Draft

_REFUSED = (
    "threads train here, and take turns differently on every rank: ranks would wait for steps that the others do not take; "
    "train in one thread"
)
_BASES = {"threading.Thread", "threading.Timer", "multiprocessing.Process", "multiprocessing.context.Process"}


def refuse(draft: Draft, sites: Collection[ast.AST]) -> None:
    """`sites`: the places that train."""
    trained = set(sites)
    for call in draft.module.calls_of("threading.Thread"):
        target = argument(call, "target", 1)
        run = [o.node for o in draft.values.origins(target)] if target is not None else []
        if any(isinstance(f, CALLABLES) and draft.drive.reaches(f, trained) for f in run):
            draft.refuse("HVD006", call, _REFUSED)
    for cls in _classes(draft, trained):
        made = [c for c in draft.syntax.calls if draft.values.callee(c) is cls]
        if len(made) != 1 or _is_repeated(draft, made[0]):
            draft.refuse("HVD006", cls, _REFUSED)


def _is_repeated(draft: Draft, call: ast.Call) -> bool:
    """Whether a call may be made more than once: in a loop, a comprehension, or a function that is called in one."""
    if any(isinstance(a, COMPREHENSIONS) for a in draft.syntax.ancestors(call)):
        return True
    return any(frame.loops for way in draft.drive.ways(call) for frame in way)


def _classes(draft: Draft, trained: set[ast.AST]) -> Iterator[ast.ClassDef]:
    """The classes of threads whose `run` trains."""
    for cls in draft.syntax.every(ast.ClassDef):
        if not _BASES & set(draft.values.ancestors(cls)):
            continue
        methods = (s for one in draft.values.family(cls) for s in one.body if isinstance(s, FUNCTIONS))
        if any(m.name == "run" and draft.drive.reaches(m, trained) for m in methods):
            yield cls
