"""Weights of a graph that are set to random numbers while it is trained: part of S2.

    noise = tf.group(*[v.assign_add(0.01 * tf.random_normal(v.shape)) for v in tf.trainable_variables()])
    for step in range(1000):
        sess.run(train, …)
        sess.run(noise)

Gradients are averaged before. Each rank draws numbers of its own, and from then on the ranks train different models."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import Loop, argument, arguments
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.smoothing.graph_averages import runs_of

_WHAT = "Send rank 0's weights after new ones are drawn"
_WHY = "Each rank draws weights of its own here, and from then on the ranks train different models."
_DOUBT = (
    "each rank sets weights to random numbers of its own here, while they are trained; let all ranks take rank 0's after it, "
    "by `sess.run(hvd.broadcast_global_variables(0))` (made once, before the loop), where all ranks come there"
)
_SETTING = ("assign", "assign_add", "assign_sub")
_OF_ALL = ("trainable_variables", "global_variables", "get_collection")
_MADE = ("Variable", "get_variable")
_FAR = 300  # nodes that a value is made of
_OF_BEGINNINGS = 2000  # those that all variables begin with are made of


def ask(draft: Draft) -> None:
    loops = _training_loops(draft)
    for place, call in (*_drawn_by_operations(draft), *_begun_again(draft), *_loaded(draft)):
        runs = runs_of(draft, call) if place is call and draft.names.last(call.func) in _SETTING else [call]
        if any(_is_in(draft, run, loops) for run in runs) and draft.once("drawn weights", place):
            draft.ask("S2", place, _WHAT, _WHY, _DOUBT)


def _drawn_by_operations(draft: Draft) -> Iterator[tuple[ast.Call, ast.Call]]:
    """`v.assign_add(tf.random_normal(v.shape))`, `tf.assign(v, …)`"""
    for name in _SETTING:
        functions = draft.module.calls_of(f"tensorflow.{name}", f"tensorflow.compat.v1.{name}")
        methods = draft.sites.method_calls(name)
        for call in dict.fromkeys((*functions, *methods)):
            given = [*call.args]
            if call not in functions and isinstance(call.func, ast.Attribute):
                given = [call.func.value, *given]
            if len(given) > 1 and _draws(draft, given[1]) and _is_trained(draft, given[0]):
                yield call, call


def _begun_again(draft: Draft) -> Iterator[tuple[ast.Call, ast.Call]]:
    """`sess.run(v.initializer)`"""
    for run in draft.sites.graph.all_runs:
        fetched = run.args[0] if run.args else None
        if (
            isinstance(fetched, ast.Attribute)
            and fetched.attr == "initializer"
            and _is_trained(draft, fetched.value)
        ):
            yield run, run


def _loaded(draft: Draft) -> Iterator[tuple[ast.Call, ast.Call]]:
    """`v.load(np.random.normal(size=4), sess)`"""
    for call in draft.sites.method_calls("load"):
        if isinstance(call.func, ast.Attribute) and call.args and _is_trained(draft, call.func.value):
            if _draws(draft, call.args[0]):
                yield call, call


def _draws(draft: Draft, e: ast.expr) -> bool:
    draws = draft.uniform.draws
    calls = (n for n in draft.values.depends([e], _FAR) if isinstance(n, ast.Call))
    return any(draws.draws(c) and not _begins(draft, c) for c in calls)


def _begins(draft: Draft, draw: ast.Call) -> bool:
    """Whether a variable begins with a draw, `tf.Variable(xavier_init([4, 4]))`: it is broadcast."""
    made = (c for c in draft.module.calls_called(*_MADE))
    return draw in set(draft.values.depends([e for c in made for e in arguments(c)], _OF_BEGINNINGS))


def _is_trained(draft: Draft, e: ast.expr) -> bool:
    """Whether something is a variable that is trained, one of all of them or made as one."""
    for n in draft.values.depends([e], _FAR):
        last = draft.names.last(n.func) if isinstance(n, ast.Call) else ""
        if last in _OF_ALL:
            return True
        given = argument(n, "trainable") if isinstance(n, ast.Call) and last in _MADE else None
        if last in _MADE and not (isinstance(given, ast.Constant) and not given.value):
            return True
    return False


def _training_loops(draft: Draft) -> set[Loop]:
    runs = (run.call for run in draft.sites.graph.trainings)
    return {loop for run in runs for way in draft.drive.ways(run) for frame in way for loop in frame.loops}


def _is_in(draft: Draft, run: ast.AST, loops: set[Loop]) -> bool:
    return any(loop in loops for way in draft.drive.ways(run) for frame in way for loop in frame.loops)


__all__ = ["ask"]
