"""Numbers of the next file or folder that isn't there yet: part of C6.

    while os.path.exists(f"runs/{k}"):
        k += 1

Rank 0 makes what the number names. A rank that comes there later finds it, goes on to the next, and looks for files in a
folder that nobody fills. All take rank 0's number."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded, from_root

_WHAT = "Look for rank 0's file on every rank"
_WHY = "A rank that comes here later than rank 0 finds what that has made, and would go on to the next name."
_THERE = ("exists", "isfile", "isdir", "is_file", "is_dir", "lexists", "Exists", "IsDirectory")
_FAR = 300  # nodes that a path is made of


def tell(draft: Draft, guarded: Guarded, path: ast.expr | None) -> None:
    """Sends rank 0's number once all ranks have looked for theirs."""
    for n in draft.values.depends([path] if path is not None else [], _FAR):
        for b in draft.module.scopes.reaching(n) if isinstance(n, ast.Name) else ():
            loop = next((p for p in draft.syntax.loops(b.statement) if isinstance(p, ast.While)), None)
            if loop is None or not _looks(draft, loop) or not draft.once("told path", loop):
                continue
            if not guarded.collective(loop) or not draft.can_put_after(loop):
                continue
            numbers = ", ".join(sorted(_names(loop)))
            line = f"{numbers} = {from_root(draft)}({f'({numbers})' if ',' in numbers else numbers})"
            draft.change("C6", loop, _WHAT, _WHY, draft.put_after(loop, [line]))


def _looks(draft: Draft, loop: ast.While) -> bool:
    """Whether a loop does nothing but go on to the next name while there is such a file."""
    asks = any(isinstance(c, ast.Call) and draft.names.last(c.func) in _THERE for c in ast.walk(loop.test))
    counts = all(isinstance(s, (ast.Assign, ast.AugAssign)) for s in loop.body)
    return asks and counts and not loop.orelse and bool(_names(loop))


def _names(loop: ast.While) -> set[str]:
    """What a loop's body sets."""
    stored = (n for s in loop.body for n in ast.walk(s) if isinstance(n, ast.Name))
    return {n.id for n in stored if isinstance(n.ctx, ast.Store)}


__all__ = ["tell"]
