"""Which programs can't be elastic at all, and why."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.drafting.draft import Draft
from horovodize.source import Document
from horovodize.summary.lattice import LoopKind

_SESSIONS = "sessions and Estimators can't be trained elastically here: their graph and its variables can't be made again"
_KERAS_3 = "elastic training needs Keras 2: Horovod's states don't know Keras 3's variables"
_FILES = "elastic training needs the loop and what it trains in one file"
_GLOBAL = (
    'with `batch = "global"` each batch is divided by the number of ranks at the start; elastic ranks change'
)
_WHOLE = "with `split_data` off there are no rows to go on with; elastic training divides them"
_SEVERAL = "this trains in several places; elastic training begins one loop again, and can't tell which"
_GRAPHS = (LoopKind.SESSION, LoopKind.MONITORED_SESSION, LoopKind.ESTIMATOR)


def unreachable(draft: Draft) -> Iterator[tuple[ast.AST, str]]:
    """(where, why), gravest first."""
    loops = draft.summary.loops
    first = loops[0].node
    assert first is not None
    if draft.in_graph or draft.sites.is_tf1 or any(kind in draft.summary.kinds for kind in _GRAPHS):
        yield first, _SESSIONS
    if draft.keras_3:
        yield first, _KERAS_3
    if len(draft.syntax.trees) > 1 or type(draft.document) is not Document:
        yield first, _FILES
    if draft.options.keeps_batch:
        yield first, _GLOBAL
    if not draft.options.split_data:
        yield first, _WHOLE
    sites = [loop.node for loop in loops]
    if len(sites) > 1:
        yield sites[1], _SEVERAL
