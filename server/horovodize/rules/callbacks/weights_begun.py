"""Weights that a callback takes from the model before its first step: what an average begins with, or goes back to. Part of K3.

`fit` gives all ranks rank 0's weights at the end of its first step only. What a callback has taken before are each rank's own
random weights; set into the model later, they would make the ranks' models differ. So they take rank 0's before.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.facts.counting.hooks import CALLBACK
from horovodize.python.syntax import Function
from horovodize.rules.beginning import keras_session
from horovodize.rules.drafting.draft import CORE, Draft

_WHAT = "Take rank 0's weights before they are kept"
_WHY = "Before the first step each rank has its own random weights; set into the model later, the ranks' models would differ."
_COMMENT = "Horovod: what is kept of the weights begins with rank 0's on every rank."
_OWN = (
    "this keeps weights from before the first step, which are random and each rank's own, and sets them into the model later; "
    "let every rank keep rank 0's, by `hvd.broadcast_variables(model.variables, root_rank=0)` before"
)
_ONCE = ("set_model", "on_train_begin")
_EARLY = ("__init__", *_ONCE, "on_epoch_begin", "on_batch_begin", "on_train_batch_begin")
_TAKING = {"get_weights", "trainable_variables", "trainable_weights", "variables", "weights"}
_KEEPING = {"append", "set_weights"}
_SETTING = {"set_weights", "set_value", "batch_set_value", "assign", "assign_add", "assign_sub"}


def apply(draft: Draft) -> None:
    for method in draft.syntax.functions if draft.sites.fits else ():
        cls = draft.syntax.method_class(method)
        if cls is None or method.name not in _EARLY:
            continue
        bases = draft.values.ancestors(cls)
        if CALLBACK not in bases or any(catalogue.callback_role(base) == "writes" for base in bases):
            continue  # the latter runs on rank 0 alone
        set_back = _set_back(draft, cls)
        for statement, kept in _kept(draft, method):
            if kept in set_back:
                _begin(draft, method, statement, kept)


def _set_back(draft: Draft, cls: ast.ClassDef) -> set[str]:
    """What a class keeps, as it is written, that models are given later."""
    calls = [n for n in ast.walk(cls) if isinstance(n, ast.Call) and draft.names.last(n.func) in _SETTING]
    read = draft.values.depends([a for call in calls for a in call.args], 400)
    return {ast.unparse(n) for n in read if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)}


def _kept(draft: Draft, method: Function) -> Iterator[tuple[ast.stmt, str]]:
    """(the statement, its outermost loop if it is in one; what it keeps) where a method keeps a model's weights."""
    for n in ast.walk(method):
        target: ast.expr | None = None
        if isinstance(n, ast.Assign):
            target = n.targets[0]
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute) and n.func.attr in _KEEPING:
            target = n.func.value  # also another model: `self.teacher.set_weights(self.model.get_weights())`
        while isinstance(target, ast.Subscript):
            target = target.value
        if isinstance(target, ast.Attribute) and draft.syntax.function(n) is method:
            statement = draft.syntax.statement(n)
            place = [statement, *draft.syntax.loops(n)]
            whole = max(place, key=lambda s: (s.end_lineno or s.lineno) - s.lineno)
            if any(_is_taken(e) for e in ast.walk(whole)):
                yield whole, ast.unparse(target)


def _is_taken(e: ast.AST) -> bool:
    """`self.model.get_weights()`, `model.trainable_weights`"""
    return isinstance(e, ast.Attribute) and e.attr in _TAKING and "model" in ast.unparse(e.value)


def _begin(draft: Draft, method: Function, place: ast.stmt, kept: str) -> None:
    block = draft.syntax.parent[place]
    if not draft.once("weights begun", block):
        return
    around = [a for a in draft.syntax.ancestors(place) if isinstance(a, ast.If)]
    is_first = len(around) == 1 and _is_empty(around[0].test, kept) and place in around[0].body
    own = f"{method.args.args[0].arg}.model" if method.args.args else ""
    taken = [ast.unparse(e.value) for e in ast.walk(place) if isinstance(e, ast.Attribute) and _is_taken(e)]
    is_sure = (
        (method.name in _ONCE or is_first)
        and method.name != "__init__"
        and all(t == own or t.startswith(f"{own}.") for t in taken)
        and not (draft.in_graph or keras_session.is_wanted(draft))
        and draft.can_insert(place)
        and draft.uniform.reached_alike(around[0] if is_first else place)
    )
    if not is_sure:
        draft.ask("K3", place, _WHAT, _WHY, _OWN)
        return
    lines = draft.lines_of(f"{CORE}.broadcast_variables({own}.variables, root_rank=0)", comment=_COMMENT)
    draft.change("K3", place, _WHAT, _WHY, [draft.before(place, lines)])


def _is_empty(test: ast.expr, kept: str) -> bool:
    """`not self.kept`, `self.kept is None`: the same on all ranks, whatever is kept."""
    return ast.unparse(test) in (f"not {kept}", f"{kept} is None", f"len({kept}) == 0", f"{kept} == []")


__all__ = ["apply"]
