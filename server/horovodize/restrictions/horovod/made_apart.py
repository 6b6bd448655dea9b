"""What is made with numbers that ranks must have alike: layers, optimizers, and callbacks that steer (a part of HVD333)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from horovodize.facts.horovod.horovod_use import rates_of
from horovodize.interleaving.by_rank import ByRank
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.given_rates import SCHEDULER, given_rates

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

_SWITCHES = frozenset(
    "use_bias activation padding dropout recurrent_dropout nesterov amsgrad rho clipnorm clipvalue global_clipnorm".split()
)
_ALIKE = _SHAPING | _BY_EPOCHS | _SWITCHES
_FIRST = 2  # arguments of a layer or an optimizer: later ones may be a seed
_RANKS = 2

# Optimizers that are given another.
_AROUND = re.compile(
    r"LossScale|MixedPrecision|SyncReplicas|MovingAverage|SWA|Lookahead|Accumulat|Distributed"
)
_COUNTERS = ("get_or_create_global_step", "create_global_step", "get_global_step")
_KERAS_LAYERS = "tensorflow.keras.layers."
_LIMIT = 300


def rates(context: Context) -> Iterator[tuple[ast.Call, ast.expr]]:
    """The rates that optimizers and schedulers are made with."""
    for call in context.module.optimizers:
        if context.names.of(call.func):
            yield from ((call, rate) for rate in rates_of(call))
    for call in context.module.calls_of(SCHEDULER):
        yield from ((call, rate) for rate in given_rates(context, call))


def is_given_each_epoch(context: Context, call: ast.Call) -> bool:
    """Whether a function gives the rates, which each rank calls for itself. (What an optimizer is made with is asked above.)"""
    return context.names.of(call.func) == SCHEDULER


def goes_by_rank(context: Context, rate: ast.expr) -> bool:
    """Whether a rate is made of the number of the rank, or chosen by it."""
    tests = context.facts.rank_tests
    if isinstance(rate, ast.IfExp):
        return tests.decides(rate.test) and ast.dump(rate.body) != ast.dump(rate.orelse)
    return tests.is_rank(rate)


def two_ranks(context: Context) -> list[ByRank]:
    """How two ranks see what a script is made with; none where it doesn't ask for the rank."""
    asks = context.facts.horovod.calls("rank", "local_rank")
    return [ByRank(context.facts, rank, _RANKS) for rank in range(_RANKS)] if asks else []


def chosen_by_rank(context: Context, call: ast.Call, ranks: Sequence[ByRank]) -> ast.expr | None:
    """What of a layer or an optimizer is another on some ranks, as it is made of the rank: `0.9 if comm.is_chief else 0.0`,
    `hvd.rank() == 0`; also by a name, or by a field of an object."""
    named = [k.value for k in call.keywords if k.arg in _ALIKE]
    for e in (*call.args[:_FIRST], *named):
        if isinstance(e, ast.Constant) or _is_passed(context, e) or not _differs(ranks, e):
            continue
        by_place = e not in named and _is_callback(context, call)  # it may be how much is printed
        if not by_place and not context.facts.rank_tests.may_be_guarded(call):
            return e
    return None


def _is_callback(context: Context, call: ast.Call) -> bool:
    return call in context.module.calls_of(*_STEERING) or context.facts.horovod.is_call(call, *_OF_HOROVOD)


def _is_passed(context: Context, e: ast.expr) -> bool:
    """Whether a function is passed a number as it is: who passes it isn't followed, as there may be many."""
    bound = context.scopes.reaching(e) if isinstance(e, ast.Name) else []
    return bool(bound) and bound[0].kind == "parameter"


def _differs(ranks: Sequence[ByRank], e: ast.expr) -> bool:
    first, *others = ranks
    value = first.plain(e)
    return value is not None and any(other.plain(e) not in (None, value) for other in others)


def made(context: Context) -> Iterator[ast.Call]:
    """Layers and optimizers, and callbacks that change rates or stop."""
    known = {*context.module.layers, *context.module.optimizers, *context.module.calls_of(*_STEERING)}
    for call in context.syntax.calls:
        name = context.names.of(call.func) if call in known else None
        # a function of Keras joins what layers have computed: `tf.keras.layers.add([x, y])`
        if name and not (name.startswith(_KERAS_LAYERS) and name.rpartition(".")[2][:1].islower()):
            yield call
    yield from context.facts.horovod.calls(*_OF_HOROVOD)


def goes_by_steps(context: Context, e: ast.expr) -> bool:
    """Whether a value goes by the number of steps, which the gradients of drawn rows count alike: a rate that decays."""
    return any(
        isinstance(n, ast.Call) and context.names.last(n.func) in _COUNTERS
        for n in context.values.depends([e], _LIMIT)
    )


def numbers_given(call: ast.Call) -> Iterator[ast.expr]:
    """The numbers that a constructor is given. An optimizer around another has none but that one's."""
    around = _AROUND.search(
        call.func.attr if isinstance(call.func, ast.Attribute) else ast.unparse(call.func)
    )
    args = call.args[1:] if around else call.args
    for e in (*args, *(k.value for k in call.keywords if k.arg in _SHAPING | _BY_EPOCHS)):
        if not isinstance(e, (ast.Constant, ast.Starred)):
            yield e


__all__ = [
    "chosen_by_rank",
    "goes_by_rank",
    "goes_by_steps",
    "is_given_each_epoch",
    "made",
    "numbers_given",
    "rates",
    "two_ranks",
]
