"""C9 XLA: what runs Horovod's operations isn't compiled by XLA.

What it does   `jit_compile=True` becomes `jit_compile=False` (so does `experimental_compile`) in `tf.function` of what averages
               gradients, there or in a function that it calls, and in a model's `compile`. For Keras 3, `compile` gets
               `jit_compile=False` where it says nothing.
Why            Horovod's operations are none of XLA's: the first step stops with an error. Keras 3 uses XLA on GPUs unless it is
               told not to.
Before         @tf.function(jit_compile=True)
               def step(x, y):
                   with tf.GradientTape() as tape:
                       loss = loss_fn(y, model(x))
After          @tf.function(jit_compile=False)
               def step(x, y):
                   with tf.GradientTape() as tape:
                       loss = loss_fn(y, model(x))
                   tape = hvd.DistributedGradientTape(tape)
Leaves alone   Functions in which nothing is averaged: a model's own layers, an evaluation, what applies gradients of elsewhere.
               Clusters that TensorFlow chooses by itself (`tf.config.optimizer.set_jit`): it leaves Horovod's operations out.
Asks           Never.
Source         Beyond the seed; measured with TensorFlow 2.15.1 and 2.21.0 ("unsupported operations", HorovodAllreduce).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.python.syntax import FUNCTIONS, argument
from horovodize.rules.drafting.draft import Draft
from horovodize.rules.drafting.rule import Rule
from horovodize.source import Edit
from horovodize.summary.site_kinds import Compile

_WHAT = "Train without XLA"
_WHY = "Horovod's operations can't be compiled by XLA: the first step would stop with an error."
_WHY_KERAS_3 = (
    "Horovod's operations can't be compiled by XLA, which Keras 3 uses on GPUs unless it is told not to."
)


def apply(draft: Draft) -> None:
    for site in draft.sites.compiles:
        _turn_off_in_compile(draft, site)
    for call in _of_own_compile(draft):
        edit = draft.add_argument(call, "jit_compile=False", level=1)
        draft.change("C9", call, _WHAT, _WHY_KERAS_3, [edit])
    for given in dict.fromkeys(_in_traced(draft)):
        _turn_off(draft, given, _WHY)


def _of_own_compile(draft: Draft) -> Iterator[ast.Call]:
    """`super().compile()` of a model with a `compile` of its own, where steps are taken by `train_on_batch`: no callback of
    `fit` sees to it."""
    if not draft.keras_3 or not any(f.method == "train_on_batch" for f in draft.sites.fits):
        return
    known = {site.call for site in draft.sites.compiles}
    for call in draft.sites.method_calls("compile"):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else None
        is_base = (
            isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super"
        )
        told = any(k.arg in ("jit_compile", None) for k in call.keywords)
        function = draft.syntax.function(call)
        if is_base and not told and call not in known and isinstance(function, FUNCTIONS):
            if function.name == "compile":
                yield call


def _in_traced(draft: Draft) -> Iterator[ast.expr]:
    """What says whether XLA compiles a function, of those in which gradients are averaged."""
    if not draft.drive.compiled:
        return
    minimizing = (u.call for u in draft.sites.updates if u.method == "minimize")
    averaging: set[ast.AST] = {*draft.sites.training_gradients, *minimizing}
    for function, given in draft.drive.compiled:
        if any(draft.drive.reaches(statement, averaging) for statement in function.body):
            yield given


def _turn_off_in_compile(draft: Draft, site: Compile) -> None:
    if isinstance(draft.values.callee(site.call), FUNCTIONS):
        return  # the user's own `compile`, with parameters of its own: the callback of `fit` sees to it
    given = argument(site.call, "jit_compile")
    why = _WHY_KERAS_3 if draft.keras_3 else _WHY
    if given is not None:
        _turn_off(draft, given, why)
    elif draft.keras_3 and not any(k.arg is None for k in site.call.keywords):  # `**settings` may hold it
        edit = draft.add_argument(site.call, "jit_compile=False", level=1)
        draft.change("C9", site.call, _WHAT, why, [edit])


def _turn_off(draft: Draft, given: ast.expr, why: str) -> None:
    if not (isinstance(given, ast.Constant) and not given.value):
        draft.change("C9", given, _WHAT, why, [Edit(draft.module.span(given), "False")])


RULE = Rule("C9", "train without XLA", apply, __doc__ or "")
