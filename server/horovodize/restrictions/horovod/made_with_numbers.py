"""The layers, optimizers and callbacks that a script makes, and the numbers that they are given (a part of HVD333)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize.restrictions.context import Context

# What of a layer all ranks must have alike for a broadcast of its weights, and of an optimizer for its steps.
_SHAPING = frozenset(
    "units filters kernel_size output_dim input_dim num_heads key_dim strides rate learning_rate lr momentum beta_1 beta_2 "
    "epsilon weight_decay".split()
)
# Callbacks that steer a training, and what of theirs all ranks must have alike.
_STEERING = ("tensorflow.keras.callbacks.EarlyStopping", "tensorflow.keras.callbacks.ReduceLROnPlateau")
_OF_HOROVOD = ("LearningRateWarmupCallback", "LearningRateScheduleCallback")
_BY_EPOCHS = frozenset(
    "initial_lr warmup_epochs multiplier start_epoch end_epoch steps_per_epoch patience factor min_delta min_lr cooldown "
    "baseline start_from_epoch".split()
)

# Optimizers that are given another.
_AROUND = re.compile(
    r"LossScale|MixedPrecision|SyncReplicas|MovingAverage|SWA|Lookahead|Accumulat|Distributed"
)
_COUNTERS = ("get_or_create_global_step", "create_global_step", "get_global_step")
_LIMIT = 300


def made(context: Context) -> Iterator[ast.Call]:
    """Layers and optimizers, and callbacks that change rates or stop."""
    known = {*context.module.layers, *context.module.optimizers, *context.module.calls_of(*_STEERING)}
    yield from (call for call in context.syntax.calls if call in known and context.names.of(call.func))
    yield from context.facts.horovod.calls(*_OF_HOROVOD)


def goes_by_steps(context: Context, e: ast.expr) -> bool:
    """Whether a value goes by the number of steps, which the gradients of drawn rows count alike: a rate that decays."""
    return any(
        isinstance(n, ast.Call) and context.names.last(n.func) in _COUNTERS
        for n in context.values.depends([e], _LIMIT)
    )


def given(call: ast.Call) -> Iterator[ast.expr]:
    """The numbers that a constructor is given. An optimizer around another has none but that one's."""
    around = _AROUND.search(
        call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    )
    args = call.args[1:] if around else call.args
    for e in (*args, *(k.value for k in call.keywords if k.arg in _SHAPING | _BY_EPOCHS)):
        if not isinstance(e, (ast.Constant, ast.Starred)):
            yield e


__all__ = ["given", "goes_by_steps", "made"]
