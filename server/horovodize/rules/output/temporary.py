"""Files in a temporary folder, or that are temporary themselves: part of C6.

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "best.h5")
        model.save_weights(path)
        model.load_weights(path)

Each process gets another folder, and only rank 0 writes in its own: the others read there, too, before it is removed.
"""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded, barrier, from_root
from horovodize.source import Edit
from horovodize.summary.files import Access

_MAKERS = ("tempfile.TemporaryDirectory", "tempfile.NamedTemporaryFile")
_WHAT = "Look for rank 0's file on every rank, before it is removed"
_WHY = "Each process gets a temporary place of its own; only rank 0 writes the file."
_OWN = (
    "each rank gets a temporary place of its own here, and looks for a file there that rank 0 did not write"
)
_READ = "Wait until all ranks have read it."
_LIMIT = 300


def tell_path(draft: Draft, guarded: Guarded, read: Access) -> None:
    """Has all ranks read what rank 0 wrote at its own temporary place, and wait until they have."""
    made = (
        [n for n in draft.values.depends([read.path], _LIMIT) if _makes(draft, n)]
        if read.path is not None
        else []
    )
    if not made or read.path is None or not draft.once("temporary", read.node):
        return
    statement = draft.syntax.statement(read.node)
    if read.node in guarded or not guarded.collective(read.node) or not draft.can_insert(statement):
        draft.note("C6", read.node, _OWN)
        return
    guarded.told.add(statement)
    waiting = barrier(draft, "read", statement)
    lines = draft.lines_of(*waiting, comment=_READ) if len(waiting) > 1 else [draft.said(waiting[0], _READ)]
    edits = [
        *Edit.around(draft.module.span(read.path), f"{from_root(draft)}(", ")"),
        draft.after(statement, lines),
    ]
    draft.change("C6", read.node, _WHAT, _WHY, edits)


def _makes(draft: Draft, n: ast.AST) -> bool:
    return isinstance(n, ast.Call) and draft.names.of(n.func) in _MAKERS
