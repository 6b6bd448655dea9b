"""HVD324 elastic-state: an elastic state must hold all that training changes.

## What it protects
When workers come or go, elastic Horovod sends what the state holds to all of them, and begins the function again. An optimizer
that isn't in the state keeps its own momentum on each rank, and is new on the ones that came: the same gradients then move
their weights differently. A counter that isn't in the state begins again.

## When it is reported
On a `TensorFlowState` that is given the variables of a model only, where an optimizer with variables of its own trains it; on
a `TensorFlowKerasState` that is given no optimizer, where nothing compiles one into the model. As information: on a function
under `@hvd.elastic.run` whose steps or epochs are counted by nothing of the state, on a state that nothing ever commits, on a
count of it that is read and never set, and on a rate that grows with the number of ranks and isn't set again when this changes.

## Quick fix
None: `hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0)`, `for state.batch in range(state.batch, steps):` and
`state.commit()` every few steps.

## Example that breaks it
```python
import tensorflow as tf
import horovod.tensorflow as hvd

@hvd.elastic.run
def train(state):
    for state.batch in range(state.batch, 100):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        state.commit()

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())  # HVD324
train(hvd.elastic.TensorFlowState(model.variables, batch=0))  # HVD324
```

```python
import tensorflow as tf
import horovod.tensorflow as hvd

@hvd.elastic.run
def train(state):
    for batch in range(100):  # HVD324
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())  # HVD324
state = hvd.elastic.TensorFlowKerasState(model, optimizer)  # HVD324
train(state)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

@hvd.elastic.run
def train(state):
    model.fit(rows, epochs=24, callbacks=[hvd.elastic.CommitStateCallback(state)])  # HVD324

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01)), "mse")
train(hvd.elastic.KerasState(model, batch=0, epoch=0))
```

## Near misses
```python
import tensorflow as tf
import horovod.tensorflow as hvd

@hvd.elastic.run
def train(state):
    for state.batch in range(state.batch, 100):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        state.commit()

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())
state = hvd.elastic.TensorFlowKerasState(model, optimizer, batch=0)
state.register_reset_callbacks([lambda: optimizer.learning_rate.assign(0.01 * hvd.size())])
train(state)
```

```python
import tensorflow as tf
import horovod.tensorflow.keras as hvd

@hvd.elastic.run
def train(state):
    tf.keras.backend.set_value(model.optimizer.lr, 0.01 * hvd.size())
    model.fit(rows, epochs=24 - state.epoch, callbacks=[hvd.elastic.CommitStateCallback(state)])
    for state.epoch in range(state.epoch, 30):
        model.fit(rows, epochs=1, callbacks=[hvd.elastic.CommitStateCallback(state)])

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
train(hvd.elastic.KerasState(model, batch=0, epoch=0))
```

## Source
Horovod's guide to elastic training; `tensorflow/elastic.py` of Horovod 0.28.1. (Its elastic sampler is for PyTorch.)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from horovodize.catalogue.weights import OF_MODEL
from horovodize.facts.horovod.horovod_use import rates_of
from horovodize.python.syntax import FUNCTIONS, Function, argument, has_unpacking
from horovodize.restrictions.context import Context
from horovodize.restrictions.horovod.alike_data import gone_through
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation

_OF_MODELS = ("TensorFlowKerasState", "KerasState")
_OF_VARIABLES = "TensorFlowState"
_COMMITS = ("commit", "CommitStateCallback", "check_host_updates", "UpdateBatchStateCallback")
_MOVING = ("UpdateBatchStateCallback", "UpdateEpochStateCallback")
_RATES = ("learning_rate", "lr")
_LIMIT = 100
_WITHOUT_VARIABLES = "SGD"  # unless it has momentum


def find(context: Context) -> Iterator[Violation]:
    use = context.facts.horovod
    states = use.calls(_OF_VARIABLES, *_OF_MODELS)
    for call in states:
        if has_unpacking(call):
            continue
        optimizer = _left_out(context, call)
        if optimizer is not None:
            yield RESTRICTION.at(
                context,
                call,
                "the optimizer is not in this state: after a change of workers each has another one; give it to the state",
                related=[context.related(optimizer, "the optimizer that trains")],
            )
        elif use.is_whole and _trains(context) and not any(map(context.module.loads.get, _COMMITS)):
            yield RESTRICTION.at(
                context,
                call,
                "nothing commits this state: after a failure all training is lost; commit it every few steps",
                severity=Severity.INFORMATION,
            )
    if states:
        yield from _uncounted(context)
        yield from _never_set(context, states)
        yield from _epochs_again(context)
        yield from _rate_of_before(context)


def _trains(context: Context) -> bool:
    """Whether anything is trained here: files alone can be gone through again."""
    return bool(context.loops or context.sites.updates or context.sites.fits)


def _left_out(context: Context, state: ast.Call) -> ast.expr | None:
    """The optimizer that trains what a state holds, and isn't in it."""
    applied = [u.optimizer for u in context.sites.updates if u.optimizer is not None and u.step_of is None]
    if not applied or context.sites._raw_compiles:
        return None
    if context.names.last(state.func) in _OF_MODELS:
        return None if argument(state, "optimizer", 1) is not None else applied[0]
    held = argument(state, "variables", 0)
    only_weights = isinstance(held, ast.Attribute) and held.attr in OF_MODEL
    return applied[0] if only_weights and all(_has_variables(context, e) for e in applied) else None


def _has_variables(context: Context, optimizer: ast.expr) -> bool:
    """Whether an optimizer surely keeps something from step to step."""
    made = [c for c in context.values.calls(optimizer) if context.module.is_optimizer(c)]
    made = [c for c in made if not context.facts.horovod.name_of(c)]
    return bool(made) and all(
        context.names.last(c.func) != _WITHOUT_VARIABLES or argument(c, "momentum", 1) is not None
        for c in made
    )


def _uncounted(context: Context) -> Iterator[Violation]:
    """Loops in elastic functions that count from the beginning each time."""
    for function in context.syntax.functions:
        given = _state_of(context, function)
        if given is None:
            continue
        for loop in context.syntax.every(ast.For):
            if (
                context.syntax.function(loop) is function
                and _counts(context, loop)
                and _is_outermost(context, loop, function)
            ):
                ifs = (n for n in ast.walk(loop) if isinstance(n, ast.If))  # `if i < state.batch: continue`
                skips = (n.test for n in ifs if isinstance(n.body[-1], ast.Continue))
                asked = (n for e in (loop.iter, *skips) for n in ast.walk(e))
                if not any(isinstance(n, ast.Name) and n.id == given for n in asked):
                    yield RESTRICTION.at(
                        context,
                        loop.iter,
                        f"after a change of workers this counts from the beginning again: keep the count in `{given}`",
                        severity=Severity.INFORMATION,
                    )


def _never_set(context: Context, states: list[ast.Call]) -> Iterator[Violation]:
    """Counts that a state is made with and an elastic function reads, and that nothing moves on."""
    given = {s for f in context.syntax.functions if (s := _state_of(context, f)) is not None}
    attributes = [n for n in context.syntax.every(ast.Attribute) if isinstance(n, ast.Attribute)]
    moved = {n.attr for n in attributes if isinstance(n.ctx, ast.Store)}
    read = {n.attr: n for n in attributes if isinstance(n.value, ast.Name) and n.value.id in given}
    if not context.facts.horovod.is_whole or any(map(context.module.loads.get, (*_MOVING, "setattr"))):
        return
    for state in states:
        for word in state.keywords if not has_unpacking(state) else ():
            is_count = isinstance(word.value, ast.Constant) and type(word.value.value) is int
            if is_count and word.arg in read and word.arg not in moved:
                yield RESTRICTION.at(
                    context,
                    word.value,
                    f"nothing moves `{word.arg}` on: after a change of workers all begins again; set "
                    f"`{context.text(read[word.arg])}` in each turn",
                    severity=Severity.INFORMATION,
                    related=[context.related(read[word.arg], "read here")],
                )


def _epochs_again(context: Context) -> Iterator[Violation]:
    """Fits in elastic functions that are told all epochs each time."""
    for fit in context.sites.fits:
        function = context.syntax.function(fit.call)
        given = _state_of(context, function)
        epochs, first = argument(fit.call, "epochs"), argument(fit.call, "initial_epoch")
        if given is None or epochs is None or has_unpacking(fit.call):
            continue
        if isinstance(epochs, ast.Constant) and epochs.value == 1:
            continue  # in a loop of its own
        behind = context.values.depends([e for e in (epochs, first) if e is not None], _LIMIT)
        if not any(isinstance(n, ast.Name) and n.id == given for n in behind):
            yield RESTRICTION.at(
                context,
                epochs,
                f"after a change of workers this trains all epochs again: leave out those that are done, by `{given}`",
                severity=Severity.INFORMATION,
            )


def _rate_of_before(context: Context) -> Iterator[Violation]:
    """A rate that grows with the number of ranks, once: it stays when there are more, or fewer."""
    use = context.facts.horovod
    told = ("register_reset_callbacks", "on_reset", "add_done_callback")
    if not use.is_whole or any(map(context.module.loads.get, told)):
        return
    elastic = [f for f in context.syntax.functions if _state_of(context, f) is not None]
    sets = [
        n for n in context.syntax.every(ast.Attribute) if isinstance(n, ast.Attribute) and n.attr in _RATES
    ]
    if not elastic or any(context.syntax.inside(n, f) for n in sets for f in elastic):
        return
    for call in context.syntax.calls:
        if not context.module.is_optimizer(call) or use.name_of(call):
            continue
        rate = next(rates_of(call), None)
        if rate is None or use.most(rate) < 1 or any(context.syntax.inside(call, f) for f in elastic):
            continue
        yield RESTRICTION.at(
            context,
            rate,
            "this rate stays that of the first number of workers: set it again in a function that the state's "
            "`register_reset_callbacks` is given",
            severity=Severity.INFORMATION,
        )
        return


def _state_of(context: Context, function: ast.AST | None) -> str | None:
    """What an elastic function calls the state that it is given; None of another function."""
    if not isinstance(function, FUNCTIONS) or not function.args.args:
        return None
    elastic = any(_is_elastic(context, d) for d in function.decorator_list)
    return function.args.args[0].arg if elastic else None


def _is_elastic(context: Context, decorator: ast.expr) -> bool:
    name = context.names.of(decorator) or ""
    return name.startswith("horovod.") and name.endswith("elastic.run")


def _counts(context: Context, loop: ast.For) -> bool:
    """Whether a loop goes through numbers, or takes the first batches, `enumerate(rows.take(n))`."""
    through = gone_through(context, loop.iter)
    if not isinstance(through, ast.Call):
        return False
    return context.is_builtin(through.func, "range") or context.names.last(through.func) == "take"


def _is_outermost(context: Context, loop: ast.For, function: Function) -> bool:
    return not any(
        isinstance(a, ast.For) for a in context.syntax.ancestors(loop) if context.syntax.inside(a, function)
    )


RESTRICTION = Restriction(
    "HVD324",
    "elastic-state",
    "an elastic state must hold all that training changes",
    Severity.WARNING,
    __doc__ or "",
    find,
)
