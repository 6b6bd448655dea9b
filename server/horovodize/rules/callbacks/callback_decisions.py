"""Callbacks of the user's own, a `LambdaCallback` too, that end training or set the rate: all ranks do so together. Part of K3.

Metrics are averaged when an epoch ends, not before. What a callback decides by batches' losses, or by the clock, differs from
rank to rank: one that stops alone leaves the others waiting for it; ranks with rates of their own drift apart.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeAlias

from horovodize.python.syntax import CALLABLES, COMPREHENSIONS, FUNCTIONS, LOOPS, Function, position
from horovodize.rules.callbacks import read_by_callbacks
from horovodize.rules.drafting import set_together
from horovodize.rules.drafting.decisions import Agreed
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.other_names import RATES, attributes_meant, set_by_call
from horovodize.rules.together import means
from horovodize.rules.together.any_rank_test import agree, differing
from horovodize.rules.weights.statistics import may_have_statistics

_ASKING = (
    "predict",
    "predict_on_batch",
    "predict_generator",
    "evaluate",
    "evaluate_generator",
    "test_on_batch",
)
_MODELS = ("model", "metrics")
_CLOCKS = ("time.", "datetime.", "timeit.")
_ASSIGNS = ("assign", "assign_add", "assign_sub")
_WHAT = "Decide on all ranks together"
_WHY = "A rank that stops alone leaves the others waiting; ranks with rates of their own drift apart: all do as one would."
_DEEP = 4  # functions that call each other on the way to where training is ended
_Callable: TypeAlias = Function | ast.Lambda
_Frame: TypeAlias = tuple[_Callable, ast.AST]  # a function, and what it comes to there
_DOUBT = "each rank decides this by values of its own: now all of them do it when one would"


def apply(draft: Draft) -> None:
    for hook in draft.facts.hooks.all:
        for way in _ways(draft, hook.function):
            decided = [test for _, node in way for test in tests_around(draft, node)]
            decided += _stop_value(way[-1][1])
            if not read_by_callbacks.agree(draft, hook, decided) or is_own(draft, decided):
                for function, node in _deciding(draft, way):
                    if hook.is_of_batches or not _decide_by_means(draft, node):
                        agree_on(draft, function, node)


def _decide_by_means(draft: Draft, stop: ast.AST) -> bool:
    """Whether ranks decide alike by the means of what they measure when an epoch ends: `auc = mean_over_ranks(auc)`."""
    own = [t for t in (*tests_around(draft, stop), *_stop_value(stop)) if is_own(draft, [t])]
    return bool(own) and all(_is_settled(draft, t) or means.decide_alike(draft, t) for t in own)


def _is_settled(draft: Draft, test: ast.expr) -> bool:
    """Whether ranks would decide a test differently, and don't any more."""
    return bool(draft.uniform.reasons(test)) and not differing(draft, test)


def _ways(draft: Draft, function: _Callable, callers: tuple[_Callable, ...] = ()) -> Iterator[list[_Frame]]:
    """The ways by which a function comes to where training is ended or a rate is set, in functions that it calls, too."""
    for node in ast.walk(function):
        if next((a for a in draft.syntax.ancestors(node) if isinstance(a, CALLABLES)), None) is not function:
            continue
        if steers(draft, node):
            yield [(function, node)]
        elif isinstance(node, ast.Call) and len(callers) < _DEEP:
            callee = draft.values.callee(node)
            known = (*callers, function)
            if isinstance(callee, FUNCTIONS) and callee not in known and draft.facts.hooks.of(callee) is None:
                yield from ([(function, node), *way] for way in _ways(draft, callee, known))


def _deciding(draft: Draft, way: list[_Frame]) -> list[_Frame]:
    """The functions of a way that decide by a rank's own; all where that can't be seen."""
    own = [
        (function, node)
        for function, node in way
        if is_own(draft, [*tests_around(draft, node), *_stop_value(node)])
    ]
    return own or way


def tests_around(draft: Draft, node: ast.AST) -> list[ast.expr]:
    """The tests by which a function comes to a place, innermost first; of `a and b`, `a` is one for what stands in `b`."""
    found: list[ast.expr] = []
    child = node
    for a in draft.syntax.ancestors(node):
        if isinstance(a, CALLABLES):
            break
        if isinstance(a, (ast.If, ast.IfExp)) and child is not a.test:
            found.append(a.test)
        elif isinstance(a, ast.BoolOp):
            found += a.values[: a.values.index(child)]  # type: ignore[arg-type]
        child = a
    return found


def steers(draft: Draft, node: ast.AST) -> bool:
    """`self.model.stop_training = True`, `self.model.optimizer.lr = …`, `K.set_value(self.model.optimizer.lr, …)`"""
    if isinstance(node, ast.Assign):
        if isinstance(node.value, ast.Constant) and not node.value.value:
            return False
        attributes = [t for t in node.targets if isinstance(t, ast.Attribute)]
        return any(t.attr == "stop_training" or is_rate(draft, t) for t in attributes)
    return isinstance(node, ast.Call) and (_sets_stop(node) or sets_rate(draft, node))


def sets_rate(draft: Draft, call: ast.Call) -> bool:
    """`self.model.optimizer.lr.assign(0.1)`, `K.set_value(self.model.optimizer.lr, 0.1)`, `setattr(optimizer, "lr", 0.1)`"""
    pairs = set_together.pairs(draft, call)
    if pairs:
        return any(is_rate(draft, pair.elts[0]) for pair in pairs)
    found = set_by_call(draft, call)
    if found is not None:
        return is_rate(draft, found[0])
    func = call.func
    return isinstance(func, ast.Attribute) and func.attr in _ASSIGNS and is_rate(draft, func.value)


def _sets_stop(call: ast.Call) -> bool:
    """`setattr(model, "stop_training", True)`, as a lambda has to write it"""
    is_set = isinstance(call.func, ast.Name) and call.func.id == "setattr" and len(call.args) == 3
    return is_set and isinstance(name := call.args[1], ast.Constant) and name.value == "stop_training"


def is_rate(draft: Draft, e: ast.expr) -> bool:
    """`….optimizer.lr`, itself or that of an optimizer under another name"""
    holders = [meant.value for meant in attributes_meant(draft, e) if meant.attr in RATES]
    return any(
        any(held.attr == "optimizer" for held in attributes_meant(draft, holder))
        or any(draft.module.is_optimizer(c) for c in draft.values.calls(holder))
        for holder in holders
    )


def _stop_value(node: ast.AST) -> list[ast.expr]:
    """What says whether to stop, where that is assigned itself."""
    given: ast.expr | None = None
    if isinstance(node, ast.Assign):
        if any(isinstance(t, ast.Attribute) and t.attr == "stop_training" for t in node.targets):
            given = node.value
    elif isinstance(node, ast.Call) and _sets_stop(node):
        given = node.args[2]
    return [given] if given is not None and not isinstance(given, ast.Constant) else []


def is_own(draft: Draft, tests: list[ast.expr]) -> bool:
    """Whether what a callback decides by is made from the time, from what one rank measured of a batch, or from what a model
    says that has batch-norm statistics: they are each rank's own until `fit` ends."""
    normalised = may_have_statistics(draft)
    puts = draft.sites.method_calls("append", "extend", "appendleft", "add")
    for n in _depends(draft, tests):
        if _is_measured(draft, n, normalised):
            return True
        if isinstance(n, ast.Attribute) and any(
            _is_measured(draft, inner, normalised)
            for call in puts
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == ast.unparse(n)
            for inner in _depends(draft, list(call.args))
        ):
            return True
    return False


def _is_measured(draft: Draft, n: ast.AST, normalised: bool) -> bool:
    """Whether something is the time, or what one rank measured of a batch, or, of a `normalised` model, what that says."""
    if isinstance(n, ast.Call):
        is_time = (draft.names.of(n.func) or "").startswith(_CLOCKS)
        return is_time or (normalised and asks_model(n)) or _asks_metric(draft, n)
    return _is_logs_of_a_batch(draft, n)


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
        tests = [a.test for a in dict.fromkeys(around) if not draft.was(a.test, Agreed)]
        todo = [test for test in tests if test not in found]
    return found


def asks_model(call: ast.Call) -> bool:
    """`self.model.predict(x)`, `self.model(x)`"""
    func = call.func
    return isinstance(func, ast.Attribute) and (func.attr in _ASKING or func.attr == "model")


def _asks_metric(draft: Draft, call: ast.Call) -> bool:
    """`self.model.accuracy.result()`, `self.model.get_metrics_result()`: a rank's own, unlike what is in `logs`."""
    func = call.func
    if not isinstance(func, ast.Attribute) or call.args:
        return False
    if func.attr == "result":
        made = (name for c in draft.values.calls(func.value) for name in draft.values.made_by(c))
        of_model = any(isinstance(n, ast.Attribute) and n.attr in _MODELS for n in ast.walk(func.value))
        return of_model or any("keras.metrics." in name for name in made)
    return func.attr == "get_metrics_result"


def _is_logs_of_a_batch(draft: Draft, n: ast.AST) -> bool:
    """Whether a name is the parameter by which a function gets the logs of a batch from `fit`."""
    hook = draft.facts.hooks.around(n) if isinstance(n, ast.Name) else None
    return hook is not None and hook.is_of_batches and isinstance(n, ast.Name) and n.id == hook.logs


def agree_on(draft: Draft, function: _Callable, stop: ast.AST, *, own_only: bool = False) -> None:
    """Lets all ranks ask each other where one would do it: at every test on the way to it, and at those that leave before.

    own_only: but for tests that come out the same on all ranks"""
    around = list(draft.syntax.ancestors(stop))
    around = around[: around.index(function)]
    decided = [*tests_around(draft, stop), *_stop_value(stop)]
    if any(
        isinstance(a, (*LOOPS, *COMPREHENSIONS, ast.Try, ast.With)) and draft.syntax.inside(test, a)
        for a in around
        for test in decided
    ):
        draft.refuse(
            "HVD006",
            stop,
            "whether all ranks do this can't be seen; decide it by one `if` of the method itself",
        )
        return
    tests = tests_around(draft, stop)
    if tests:
        leaving = [t for t in _leaving(function) if position(t) < position(tests[-1])]
        for test in [*leaving, *reversed(tests)]:
            if _is_settled(draft, test) or (own_only and not is_own(draft, [test])):
                continue
            if not draft.uniform.reasons(test) and not is_own(draft, [test]):
                continue  # `self.step % 50 == 0`, which all ranks come to together
            agree(draft, test, _DOUBT, _WHY, _WHAT, "K3")
    for value in _stop_value(stop):
        agree(draft, value, _DOUBT, _WHY, _WHAT, "K3")


def _leaving(function: _Callable) -> Iterator[ast.expr]:
    """The tests by which a function may be left."""
    for statement in function.body if isinstance(function, FUNCTIONS) else ():
        if isinstance(statement, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(statement)):
            yield statement.test
