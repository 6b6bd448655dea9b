"""M1 hooks: a MonitoredSession broadcasts rank 0's variables before its other hooks run.

What it does   `hooks` gets `hvd.BroadcastGlobalVariablesHook(0)` as its first element, whether it is a list, a name, a
               function's result, or was left out. `chief_only_hooks` are for rank 0. A hook of your own that ends the training
               by what it measures (`if loss < 0.1: run_context.request_stop()`) ends it on all ranks together.
Why            Every rank initialises its own random weights. Averaged gradients keep equal weights equal; they do not make
               different ones equal.
Before         session = tf.train.MonitoredTrainingSession(hooks=[tf.train.StopAtStepHook(last_step=1000)])
After          session = tf.train.MonitoredTrainingSession(hooks=[hvd.BroadcastGlobalVariablesHook(0),
                                                                  tf.train.StopAtStepHook(last_step=1000)])
Leaves alone   Hooks of your own: every rank runs them (what they print or write is guarded inside, C6).
Refuses        Hooks that stop one rank while the others wait for it: `stop_if_no_decrease_hook` and its like (HVD006).
Asks           `**options` that may pass hooks.
Source         Seed 2.6.1, `with` statements. Errata: the seed passes `hooks=h.append(…)`, which is None: every hook is lost,
               and a StopAtStepHook never stops the run. The broadcast comes first here: `StopAtStepHook(num_steps=n)` reads
               the global step when the session is made, and it must be rank 0's, as restored.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from horovodize.python.syntax import argument
from horovodize.rules.callbacks.callback_lists import elements
from horovodize.rules.callbacks.hooks import (
    broadcast_first,
    make_on_root,
    only_root_has,
    role_of,
    stop_together,
)
from horovodize.rules.drafting.decisions import Agreed, How, Left
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.rules.weights import session_broadcast

POSITIONS = {"MonitoredTrainingSession": 4, "SingularMonitoredSession": 0, "MonitoredSession": 1}
_CHIEF_ONLY = 5
_ALIKE = "every rank prints this: it runs the session, which all ranks must do equally often; give what it runs a name first"
_WHY_CHIEF = "Every rank is the chief of its own session, so all would run these hooks."


def apply(draft: Draft) -> None:
    for call in draft.sites.monitored:
        last = draft.names.last(call.func)
        broadcast_first(draft, "M1", call, POSITIONS[last])
        if last == "MonitoredTrainingSession":
            _leave_to_chief(draft, call)
    _run_alike(draft, every_run=stop_together(draft, "M1"))
    _stops_alike(draft)


def chief_hooks(call: ast.Call) -> ast.expr | None:
    """The `chief_only_hooks` of a MonitoredTrainingSession."""
    return argument(call, "chief_only_hooks", _CHIEF_ONLY)


def are_steering(draft: Draft, given: ast.expr) -> bool:
    """Whether hooks for the chief decide when training ends: then all ranks need them."""
    return any(
        role_of(draft, o.node) in ("steers", "decides alone")
        for e in elements(draft, given)
        for o in draft.values.origins(e)
    )


def _leave_to_chief(draft: Draft, call: ast.Call) -> None:
    given = chief_hooks(call)
    if given is None or are_steering(draft, given):
        return
    only_root_has(draft, "M1", given, "Leave the chief's hooks to rank 0", _WHY_CHIEF)
    for element in elements(draft, given):
        for made in draft.values.calls(element):
            make_on_root(draft, "M1", made, element)


def _stops_alike(draft: Draft) -> None:
    """Marks the tests `session.should_stop()`: hooks decide them alike on all ranks, so ranks need not agree on them."""
    monitored = set(draft.sites.monitored)
    for call in draft.sites.method_calls("should_stop"):
        assert isinstance(call.func, ast.Attribute)
        opened = draft.sites.graph.opened(call.func.value)
        if call.args or not opened <= monitored or not draft.sites.graph.is_session(call.func.value):
            continue
        draft.decide(call, Agreed("M1", How.TOGETHER))
        negated = draft.syntax.parent.get(call)
        if isinstance(negated, ast.UnaryOp):
            draft.decide(negated, Agreed("M1", How.TOGETHER))


def _run_alike(draft: Draft, every_run: bool) -> None:
    """Keeps what is printed from a run of the session on every rank, where it draws a batch: the data of all ranks must end
    together. With `every_run` in any case: hooks that count or measure runs must see as many on each."""
    trainings: set[ast.AST] = {run.call for run in draft.sites.graph.trainings}
    for call in draft.sites.method_calls("run"):
        assert isinstance(call.func, ast.Attribute)
        opened = draft.sites.graph.opened(call.func.value)
        if not opened or not opened <= set(draft.sites.monitored) or not (every_run or _draws(draft, call)):
            continue
        statement = draft.syntax.statement(call)
        around = [statement, *(a for a in draft.syntax.ancestors(statement) if isinstance(a, ast.If))]
        shown = [
            a for a in around if isinstance(a, (ast.Expr, ast.If)) and not draft.drive.reaches(a, trainings)
        ]
        for statement_shown in shown:
            draft.decide(statement_shown, Left("M1"))
        if any(isinstance(a, ast.Expr) and a.value is not call for a in shown):
            draft.note("M1", statement, _ALIKE)


def _draws(draft: Draft, call: ast.Call) -> bool:
    """Whether a run takes a batch from a dataset's iterator."""
    fetches = argument(call, "fetches", 0)
    return fetches is not None and any(
        isinstance(n, ast.Attribute) and n.attr == "get_next" for n in draft.values.depends([fetches], 800)
    )


def _broadcast_plain(draft: Draft) -> None:
    """S4 for sessions that train beside monitored ones in the same file."""
    monitored, plain = set(draft.sites.monitored), set(draft.sites.sessions)
    for run in draft.sites.graph.trainings:
        opened = draft.sites.graph.opened(run.session) if run.session is not None else set()
        if plain and not (opened and opened <= monitored):
            session_broadcast.apply(draft)
            return


PLAIN_SESSIONS = replace(session_broadcast.RULE, apply=_broadcast_plain)
RULE = Rule("M1", "broadcast hook of a monitored session", apply, __doc__ or "")
