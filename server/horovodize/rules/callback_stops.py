"""Callbacks of the user's own that end training: all ranks stop at the same batch. Part of K3.

Metrics are averaged when an epoch ends, not before. What a callback decides by a batch's loss, or by the clock, differs from
rank to rank; one that stops alone leaves the others waiting for it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.agreeing import agree
from horovodize.rules.draft import Draft
from horovodize.summary.syntax import LOOPS, Function, position

_BASE = "tensorflow.keras.callbacks.Callback"
_EPOCH = {"on_epoch_begin", "on_epoch_end", "on_train_begin", "on_train_end"}
_CLOCKS = ("time.", "datetime.", "timeit.")
_WHAT = "Stop on all ranks together"
_WHY = "A rank that stops alone leaves the others waiting: all of them stop when one would."
_DOUBT = "each rank decides this by values of its own: now all of them stop when one would"


def apply(draft: Draft) -> None:
    for method in draft.syntax.functions:
        cls = draft.syntax.method_class(method)
        if cls is None or not method.name.startswith("on_") or _BASE not in draft.values.ancestors(cls):
            continue
        for stop in _stops(draft, method):
            if method.name not in _EPOCH or _reads_a_clock(draft, cls, stop):
                _agree(draft, method, stop)


def _stops(draft: Draft, method: Function) -> list[ast.Assign]:
    """`self.model.stop_training = True`"""
    return [
        n
        for n in ast.walk(method)
        if isinstance(n, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == "stop_training" for t in n.targets)
        and not (isinstance(n.value, ast.Constant) and not n.value.value)
        and draft.syntax.function(n) is method
    ]


def _reads_a_clock(draft: Draft, cls: ast.ClassDef, stop: ast.Assign) -> bool:
    """Whether what a callback stops by is made from the time."""
    tests = [t.test for t in draft.syntax.ancestors(stop) if isinstance(t, ast.If)]
    return any(
        isinstance(n, ast.Call) and (draft.names.of(n.func) or "").startswith(_CLOCKS)
        for n in draft.values.depends([*tests, stop.value], 300)
    )


def _agree(draft: Draft, method: Function, stop: ast.Assign) -> None:
    """Lets all ranks ask each other where one would stop: at every test on the way to it, and at those that leave before."""
    around = list(draft.syntax.ancestors(stop))
    around = around[: around.index(method)]
    if any(isinstance(a, (*LOOPS, ast.Try, ast.With)) for a in around):
        draft.refuse(
            "HVD006",
            stop,
            "whether all ranks stop here can't be seen; decide it by one `if` of the method itself",
        )
        return
    tests = [a for a in around if isinstance(a, ast.If)]
    if tests:
        leaving = [s for s in _leaving(method) if position(s) < position(tests[-1])]
        for statement in [*leaving, *reversed(tests)]:
            agree(draft, statement.test, _DOUBT, _WHY, _WHAT, "K3")
    elif not isinstance(stop.value, ast.Constant):
        agree(draft, stop.value, _DOUBT, _WHY, _WHAT, "K3")


def _leaving(method: Function) -> Iterator[ast.If]:
    """The `if`s of a method that may leave it."""
    for statement in method.body:
        if isinstance(statement, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(statement)):
            yield statement
