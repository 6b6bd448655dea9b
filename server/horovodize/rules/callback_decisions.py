"""Callbacks of the user's own that end training or set the rate: all ranks do so together. Part of K3.

Metrics are averaged when an epoch ends, not before. What a callback decides by batches' losses, or by the clock, differs from
rank to rank: one that stops alone leaves the others waiting for it; ranks with rates of their own drift apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.rules.agreeing import agree
from horovodize.rules.draft import Draft
from horovodize.rules.statistics import may_have_statistics
from horovodize.summary.syntax import FUNCTIONS, LOOPS, Function, position

BASE = "tensorflow.keras.callbacks.Callback"
BATCH = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")
_RATES = ("lr", "learning_rate")
_ASKING = (
    "predict",
    "predict_on_batch",
    "predict_generator",
    "evaluate",
    "evaluate_generator",
    "test_on_batch",
)
_CLOCKS = ("time.", "datetime.", "timeit.")
_WHAT = "Decide on all ranks together"
_WHY = "A rank that stops alone leaves the others waiting; ranks with rates of their own drift apart: all do as one would."
_DOUBT = "each rank decides this by values of its own: now all of them do it when one would"


def apply(draft: Draft) -> None:
    for method in draft.syntax.functions:
        cls = draft.syntax.method_class(method)
        if cls is None or not method.name.startswith("on_") or BASE not in draft.values.ancestors(cls):
            continue
        for node in ast.walk(method):
            if isinstance(node, ast.stmt) and draft.syntax.function(node) is method and _steers(draft, node):
                tests = [a.test for a in draft.syntax.ancestors(node) if isinstance(a, ast.If)]
                if is_own(draft, [*tests, *_stop_value(node)]):
                    _agree(draft, method, node)


def _steers(draft: Draft, statement: ast.stmt) -> bool:
    """`self.model.stop_training = True`, `self.model.optimizer.lr = …`, `K.set_value(self.model.optimizer.lr, …)`"""
    if isinstance(statement, ast.Assign):
        if isinstance(statement.value, ast.Constant) and not statement.value.value:
            return False
        attributes = [t for t in statement.targets if isinstance(t, ast.Attribute)]
        return any(t.attr == "stop_training" or is_rate(t) for t in attributes)
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if draft.names.of(call.func) == "tensorflow.keras.backend.set_value":
            return bool(call.args) and is_rate(call.args[0])
        return (
            isinstance(call.func, ast.Attribute) and call.func.attr == "assign" and is_rate(call.func.value)
        )
    return False


def is_rate(e: ast.expr) -> bool:
    """`….optimizer.lr`"""
    holder = e.value if isinstance(e, ast.Attribute) and e.attr in _RATES else None
    return isinstance(holder, ast.Attribute) and holder.attr == "optimizer"


def _stop_value(statement: ast.stmt) -> list[ast.expr]:
    """What says whether to stop, where that is assigned itself."""
    if isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Constant):
        if any(isinstance(t, ast.Attribute) and t.attr == "stop_training" for t in statement.targets):
            return [statement.value]
    return []


def is_own(draft: Draft, tests: list[ast.expr]) -> bool:
    """Whether what a callback decides by is made from the time, from what one rank measured of a batch, or from what a model
    says that has batch-norm statistics: they are each rank's own until `fit` ends."""
    normalised = may_have_statistics(draft)
    for n in _depends(draft, tests):
        if normalised and isinstance(n, ast.Call) and _asks_model(n):
            return True
        if isinstance(n, ast.Call) and (draft.names.of(n.func) or "").startswith(_CLOCKS):
            return True
        if _is_logs_of_a_batch(draft, n):
            return True
        if isinstance(n, ast.Attribute) and any(
            _is_logs_of_a_batch(draft, inner)
            for call in draft.sites.method_calls("append", "extend")
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == ast.unparse(n)
            for inner in draft.values.depends(call.args, 100)
        ):
            return True
    return False


def _depends(draft: Draft, tests: list[ast.expr]) -> dict[ast.AST, None]:
    """What values are made of, and the tests by which that was set: `if logs["loss"] > 9: self.wait = 0`."""
    found: dict[ast.AST, None] = {}
    todo: list[ast.expr] = tests
    while todo:
        new = [n for n in draft.values.depends(todo, 300) if n not in found]
        found.update(dict.fromkeys(new))
        bound = [b for n in new if isinstance(n, ast.Attribute) for b in draft.values.attribute_bindings(n)]
        bound += [b for n in new if isinstance(n, ast.Name) for b in draft.module.scopes.reaching(n)]
        around = [a for b in bound for a in draft.syntax.ancestors(b.statement) if isinstance(a, ast.If)]
        todo = [a.test for a in dict.fromkeys(around) if a.test not in found]
    return found


def _asks_model(call: ast.Call) -> bool:
    """`self.model.predict(x)`, `self.model(x)`"""
    func = call.func
    return isinstance(func, ast.Attribute) and (func.attr in _ASKING or func.attr == "model")


def _is_logs_of_a_batch(draft: Draft, n: ast.AST) -> bool:
    """Whether a name is the second parameter of a callback's method for batches."""
    if not isinstance(n, ast.Name):
        return False
    method = draft.syntax.function(n)
    return (
        isinstance(method, FUNCTIONS)
        and method.name in BATCH
        and [a.arg for a in method.args.args][2:3] == [n.id]
    )


def _agree(draft: Draft, method: Function, stop: ast.stmt) -> None:
    """Lets all ranks ask each other where one would do it: at every test on the way to it, and at those that leave before."""
    around = list(draft.syntax.ancestors(stop))
    around = around[: around.index(method)]
    if any(isinstance(a, (*LOOPS, ast.Try, ast.With)) for a in around):
        draft.refuse(
            "HVD006",
            stop,
            "whether all ranks do this can't be seen; decide it by one `if` of the method itself",
        )
        return
    tests = [a for a in around if isinstance(a, ast.If)]
    if tests:
        leaving = [s for s in _leaving(method) if position(s) < position(tests[-1])]
        for statement in [*leaving, *reversed(tests)]:
            agree(draft, statement.test, _DOUBT, _WHY, _WHAT, "K3")
    for value in _stop_value(stop):
        agree(draft, value, _DOUBT, _WHY, _WHAT, "K3")


def _leaving(method: Function) -> Iterator[ast.If]:
    """The `if`s of a method that may leave it."""
    for statement in method.body:
        if isinstance(statement, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(statement)):
            yield statement
