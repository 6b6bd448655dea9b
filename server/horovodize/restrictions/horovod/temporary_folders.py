"""Files that some ranks write into a temporary folder of their own, and others look for in theirs (a part of HVD332).

folder = tempfile.mkdtemp()  # another one on each rank
if hvd.rank() == 0:
    np.save(os.path.join(folder, "rows.npy"), rows)
hvd.barrier()
rows = np.load(os.path.join(folder, "rows.npy"))"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.facts.differences.sources import AGREEING
from horovodize.interleaving.actions import Deed, Touch
from horovodize.interleaving.deeds import Deeds
from horovodize.python.syntax import position
from horovodize.restrictions.context import Context

_MAKERS = tuple(
    f"tempfile.{name}" for name in ("mkdtemp", "mkstemp", "TemporaryDirectory", "NamedTemporaryFile")
)
_LIMIT = 100  # nodes that a path is made of


def missed(context: Context) -> Iterator[tuple[ast.Call, ast.Call, ast.Call]]:
    """What reads such a file, what some ranks alone write, and what makes the folder on each rank."""
    made = [m for m in context.module.calls_of(*_MAKERS) if _is_run_by_all(context, m)]
    if not made:
        return
    deeds = Deeds(context.facts)
    touched = [
        (call, touch.deed, _behind(context, touch))
        for call in context.syntax.calls
        for touch in deeds.temporary(call)
    ]
    for maker in made:
        written = [call for call, deed, behind in touched if deed is Deed.WRITE and maker in behind]
        if not written or not all(context.facts.rank_tests.deciding(call) is not None for call in written):
            continue
        read = [call for call, deed, behind in touched if deed is Deed.READ and maker in behind]
        later = (c for c in read if position(c) > position(written[0]) and _is_run_by_all(context, c))
        if (call := next(later, None)) is not None:
            yield call, written[0], maker


def _is_run_by_all(context: Context, call: ast.Call) -> bool:
    return not context.facts.rank_tests.may_be_guarded(call) and context.facts.horovod.runs(call)


def _behind(context: Context, touch: Touch) -> set[ast.AST]:
    """What a path is made of; nothing where ranks have exchanged it."""
    if isinstance(touch.path, str):
        return set()
    nodes = set(context.values.depends([touch.path], _LIMIT))
    return set() if any(context.facts.horovod.is_call(n, *AGREEING) for n in nodes) else nodes


__all__ = ["missed"]
