"""Hooks of sessions and Estimators by which a rank ends its training alone (part of HVD331)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial

from horovodize.facts.horovod.rank_tests import RankTest
from horovodize.interleaving import OwnAnswers
from horovodize.interleaving.own_answers import Taken
from horovodize.python.syntax import argument
from horovodize.restrictions.context import Context

_HOOKS = ("tensorflow.compat.v1.train.SessionRunHook", "tensorflow.estimator.SessionRunHook")
_EXCHANGING = ("allreduce", "allgather", "broadcast", "alltoall", "reducescatter", "grouped_allreduce")
_LIMIT = 200
_PLAIN = ("float", "int", "abs", "min", "max", "sum", "len", "round", "bool")
# Estimators' own: each rank reads what it finds in a folder of its own, when its clock says so.
_STOPPING = (
    "stop_if_no_decrease_hook",
    "stop_if_no_increase_hook",
    "stop_if_lower_hook",
    "stop_if_higher_hook",
    "make_early_stopping_hook",
)
_DURING = ("before_run", "after_run", "after_create_session")


def stopping(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """Where a hook of the script's own asks its session to stop, and the test that each rank answers for itself. Not what only
    some ranks are given: a test of the rank says that."""
    if not any(c.trains or c.name == "training" for c in context.facts.collectives.all.values()):
        return
    yield from _early(context)
    answers = OwnAnswers(context.facts)
    for call in context.sites.method_calls("request_stop"):
        method = context.syntax.function(call)
        owner = context.syntax.method_class(method) if method is not None else None
        if not isinstance(method, ast.FunctionDef) or method.name not in _DURING or owner is None:
            continue
        if not any(base in context.values.ancestors(owner) for base in _HOOKS):
            continue
        made = [c for c in context.syntax.calls if context.values.callee(c) is owner]
        if not made or any(map(context.facts.rank_tests.may_be_guarded, made)):
            continue
        for around, _ in context.syntax.conditions(call):
            parts = around.test.values if isinstance(around.test, ast.BoolOp) else [around.test]
            own = next(
                (
                    p
                    for p in parts
                    if answers.of_test(p) is Taken.OWN or _is_of_own_loss(context, answers, method, p)
                ),
                None,
            )
            if own is not None:
                yield call, own
                break


def _early(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The hooks by which Estimators stop early, where all ranks get them as they are, and not in a hook that has them decide
    together; and what each asks."""
    if not context.module.calls_called(*_STOPPING):
        return
    for training in context.sites.read_estimators.trainings:
        items = context.facts.callback_items.of_list(training.hooks) if training.hooks is not None else ()
        for made in (item.made[0] for item in items if item.by is None and len(item.made) == 1):
            name = context.names.of(made.func) or ""
            if name.startswith("tensorflow.") and name.rpartition(".")[2] in _STOPPING and made.args:
                yield made, made.args[0]


def _is_of_own_loss(context: Context, answers: OwnAnswers, method: ast.FunctionDef, test: ast.expr) -> bool:
    """Whether a test asks for what a hook has fetched with the step, if that is the loss of one rank: `run_values.results`,
    where `before_run` gives `SessionRunArgs(self.loss)`."""
    told = method.args.args[2].arg if method.name == "after_run" and len(method.args.args) == 3 else None
    behind = list(context.values.depends([test], _LIMIT))
    asked = any(isinstance(n, ast.Name) and n.id == told for n in behind)
    owner = context.syntax.method_class(method)
    if not asked or owner is None or any(map(partial(_may_exchange, context), behind)):
        return False
    fetched = [
        made.args[0]
        for before in owner.body
        if isinstance(before, ast.FunctionDef) and before.name == "before_run"
        for made in ast.walk(before)
        if isinstance(made, ast.Call) and context.names.last(made.func) == "SessionRunArgs" and made.args
    ]
    return len(fetched) == 1 and answers.is_own_loss(fetched[0])


def _may_exchange(context: Context, node: ast.AST) -> bool:
    """Whether a call may ask the other ranks: of what isn't Python's own or NumPy's."""
    if not isinstance(node, ast.Call):
        return False
    name = context.names.of(node.func) or ""
    return not context.is_builtin(node.func, *_PLAIN) and not name.startswith(("numpy.", "math."))


def waiting(context: Context) -> Iterator[tuple[ast.expr, ast.AST, RankTest]]:
    """Hooks that only some ranks get, what they fetch with each step that all ranks must take part in, and the test."""
    collectives, items = context.facts.collectives.all, context.facts.callback_items
    if not context.sites.builds_graph:
        return
    made = [
        *(t.call for t in context.sites.read_estimators.trainings),
        *context.module.calls_of("tensorflow.compat.v1.train.MonitoredTrainingSession"),
    ]
    for training in made:
        hooks = argument(training, "hooks")
        for item in items.of_list(hooks) if hooks is not None else ():
            if item.by is None or item.unsure or len(item.made) != 1:
                continue
            given = [*item.made[0].args, *(k.value for k in item.made[0].keywords)]
            for node in context.values.depends(given, _LIMIT):
                found = collectives.get(node)
                if found is not None and not found.trains and found.name in _EXCHANGING:
                    yield item.node, node, item.by
                    break
