"""Callbacks that write files, and that a loop of the program's own calls: `board.on_epoch_end(epoch, logs)`. Part of C6.

`fit` is given them on rank 0 only (K3); here something that writes nothing stands for them on the other ranks.
"""

from __future__ import annotations

import ast

from horovodize import catalogue
from horovodize.rules.drafting.decisions import Left
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.guards import Guards

_HOOKS = tuple(
    f"on_{what}_{when}"
    for what in ("epoch", "train", "batch", "train_batch", "test", "test_batch", "predict")
    for when in ("begin", "end")
)
_WHAT = "Call this callback's methods to write on rank 0 only"
_WHY = "Every rank runs this; only one may write the files."
_DOUBT = (
    "this loop calls the callback on every rank, and `{}` is read from it: all of them write its files; make and call it on "
    "rank 0 only"
)


def called_by_hand(draft: Draft) -> list[ast.Call]:
    """The calls that make callbacks that write files, and that have methods called by the program itself."""
    found = (
        made
        for call in draft.sites.method_calls("set_model", *_HOOKS)
        if isinstance(call.func, ast.Attribute)
        for made in draft.values.calls(call.func.value)
        if _writes(draft, made)
    )
    return list(dict.fromkeys(found))


def _writes(draft: Draft, made: ast.Call) -> bool:
    name, callee = draft.names.of(made.func), draft.values.callee(made)
    if isinstance(callee, ast.ClassDef):
        return "writes" in {catalogue.callback_role(base) for base in draft.values.ancestors(callee)}
    return name is not None and catalogue.callback_role(name) == "writes"


def silence(draft: Draft, guards: Guards, made: ast.Call) -> None:
    """`TensorBoard(d)` → `TensorBoard(d) if hvd.rank() == 0 else SilentWriter()`; asks where more than methods is used of it.
    What `fit` has in a list is left out there already."""
    if draft.was(made, Left):
        return
    read = _read(draft, made)
    if read is not None:
        draft.ask("C6", made, _WHAT, _WHY, _DOUBT.format(read))
        return
    edits = guards.only_on_root(made, f"{draft.helper('SilentWriter')}()")
    draft.change("C6", made, _WHAT, _WHY, edits)


def _read(draft: Draft, made: ast.Call) -> str | None:
    """What is read from a callback, other than methods that statements call: `board.writer.flush()`, `best = saver.best`."""
    for n in draft.syntax.every(ast.Attribute):
        if not isinstance(n.ctx, ast.Load) or made not in draft.values.calls(n.value):
            continue
        call = draft.syntax.parent[n]
        is_called = isinstance(call, ast.Call) and call.func is n
        if not is_called or not isinstance(draft.syntax.parent[call], ast.Expr):
            return n.attr
    return None
