"""Files that keep what every rank computes, for the next run: `if os.path.exists(path): x = np.load(path)`. Part of C6.

Rank 0 alone writes them. A rank that asks later finds a file that is half written, and stops with an error. So all ranks ask
together, before one of them writes, and read it where all of them have it."""

from __future__ import annotations

import ast

from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guarded
from horovodize.rules.together.any_rank_test import agree
from horovodize.summary.files import Files
from horovodize.summary.outputs import Outputs

_WHAT = "Read the file where all ranks have it"
_WHY = "Rank 0 alone writes it: a rank that asked later would read half of a file."
_LATE = (
    "rank 0 may already be writing this file when another rank asks for it here, which then reads half of it"
)


def apply(draft: Draft, outputs: Outputs, guarded: Guarded) -> set[ast.AST]:
    """Lets all ranks ask together. Returns what reads such files: nobody writes them meanwhile."""
    asked = set[ast.AST]()
    steps = {u.call for u in draft.sites.updates} | {f.call for f in draft.sites.fits}
    steps |= {run.call for run in draft.sites.graph.trainings}
    for cache in Files(draft.module, outputs.effects, outputs, draft.drive).caches():
        decision, written = cache.decision, cache.write.node
        if decision in guarded or written not in guarded or cache.read.node in guarded:
            continue
        if draft.drive.reaches(decision, set(steps)) or not draft.once("file cache", decision):
            continue  # ranks that train in between have all asked before
        called = all(way[-1].function is None for way in draft.drive.ways(decision))
        if not called or not guarded.collective(decision) or outputs.is_early(decision):
            draft.note("C6", decision.test, _LATE)
            continue
        agree(draft, decision.test, why=_WHY, what=_WHAT, rule="C6", of_all=not _is_denied(decision.test))
        asked.add(cache.read.node)
    return asked


def _is_denied(test: ast.expr) -> bool:
    """Whether a test holds where the file is missing: `not exists(a)`, `not exists(a) or not exists(b)`."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.Or):
        return any(map(_is_denied, test.values))
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)
