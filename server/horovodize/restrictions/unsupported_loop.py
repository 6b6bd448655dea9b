"""HVD202 unsupported-loop: the training loop must be one whose gradients can be averaged over the ranks.

## What it protects
Gradients are averaged in three places only: in the optimizer that Keras is given, in the tape whose gradients an optimizer
applies, and in the optimizer that builds the train op of a TensorFlow 1 graph. Training that goes past them would run on
every rank for itself.

## When it is reported
On training that is distributed already, by `tf.distribute`, `keras.distribution`, DTensor, parameter servers
(`master=…`, `is_chief=…`) or copies on several GPUs; on weights that are updated by hand from gradients in another way
than by `w.assign_sub(rate * gradient)` (or a momentum of gradients), or beside an optimizer; on `stateless_apply`; on
`apply_gradients` with gradients of which no tape can be found in this file; and on TensorFlow 1's eager
`implicit_gradients`. Of Estimators, on `train_and_evaluate` with a `TrainSpec` that is not made in the same file; on
`tf.contrib.learn`; on those that take no optimizer (trees, baselines, `model_to_estimator`), and on canned ones of
TensorFlow 2 whose optimizer is not one of `tf.compat.v1.train`; on files that train with Keras or a tape, too; on
`slim.learning.train`, TF-GAN's `gan_train_ops` and `optimize_loss`; on optimizers that leave the steps to SciPy
(`ScipyOptimizerInterface`); on functions of Keras' backend that take steps (`K.function(…, updates=…)`); on Keras
Tuner's `search`, and on searches that are handed a function which trains (Optuna, Hyperopt, skopt, bayes_opt, Ray Tune, Talos,
`wandb.agent`); on Keras models wrapped for scikit-learn (`KerasRegressor`); on TensorFlow Decision Forests; and where
the script makes Keras run on JAX or PyTorch. Averages and counters that are assigned are no violation.

## Quick fix
None.

## Example that breaks it
```python
import tensorflow as tf

w = tf.Variable(tf.zeros([3]))
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.tensordot(x, w, 1) - y) ** 2)
    gradient = tape.gradient(loss, w)
    w.assign_sub(tf.clip_by_value(0.1 * gradient, -1.0, 1.0))  # HVD202
```

```python
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()  # HVD202
with strategy.scope():
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tensorflow as tf

classifier = tf.estimator.DNNClassifier([8], columns)
tf.estimator.train_and_evaluate(classifier, train_spec, eval_spec)  # HVD202
```

```python
import tensorflow as tf

classifier = tf.estimator.BoostedTreesClassifier(columns, n_batches_per_layer=10)  # HVD202
classifier.train(input_fn, steps=100)
```

```python
import tensorflow.compat.v1 as tf

train = tf.train.AdamOptimizer(0.001).minimize(loss)
with tf.train.MonitoredTrainingSession(
    master=server.target,  # HVD202
    hooks=[tf.train.StopAtStepHook(last_step=100)],
) as session:
    while not session.should_stop():
        session.run(train)
```

```python
import tensorflow as tf

optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, method="L-BFGS-B")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    optimizer.minimize(session)  # HVD202
```

```python
import tensorflow as tf
import tensorflow.contrib.slim as slim

train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.001))
slim.learning.train(train, "logs", number_of_steps=1000)  # HVD202
```

```python
import keras_tuner
import tensorflow as tf

tuner = keras_tuner.RandomSearch(build_model, objective="val_loss")
tuner.search(x, y, epochs=5)  # HVD202
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import autokeras
import tensorflow as tf

search = autokeras.ImageClassifier(max_trials=3)
search.fit(x, y, epochs=5)  # HVD202
```

```python
import optuna
import tensorflow as tf


def objective(trial):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
    model.compile(tf.keras.optimizers.SGD(trial.suggest_float("rate", 1e-4, 1e-1)), "mse")
    return model.fit(x, y, epochs=5).history["loss"][-1]


optuna.create_study().optimize(objective, n_trials=20)  # HVD202
```

```python
import tensorflow as tf
import tensorflow_decision_forests as tfdf

forest = tfdf.keras.RandomForestModel()  # HVD202
forest.compile(metrics=["accuracy"])
forest.fit(tfdf.keras.pd_dataframe_to_tf_dataset(rows, label="kind"))
```

```python
from scikeras.wrappers import KerasRegressor
from sklearn.model_selection import cross_val_score
from tensorflow import keras

regressor = KerasRegressor(model=build_model, epochs=5)  # HVD202
print(cross_val_score(regressor, x, y))
```

```python
import os

os.environ["KERAS_BACKEND"] = "jax"  # HVD202
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tensorflow as tf


def train(strategy: tf.distribute.Strategy, x, y):  # HVD202
    with strategy.scope():
        model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse")
    model.fit(x, y)
```

```python
import tensorflow as tf
import keras

optimizer = keras.optimizers.Adam(0.001)
for x, y in batches:
    with tf.GradientTape() as tape:
        predicted, others = model.stateless_call(weights, others, x)
        loss = keras.ops.mean((predicted - y) ** 2)
    gradients = tape.gradient(loss, weights)
    weights, slots = optimizer.stateless_apply(slots, gradients, weights)  # HVD202
```

## Near misses
```python
import optuna
import tensorflow as tf


def of_trees(trial):
    return score_of_trees(trial.suggest_int("depth", 1, 9))


print(optuna.create_study().optimize(of_trees, n_trials=20))
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tensorflow as tf
import tensorflow.contrib.slim as slim

train = slim.learning.create_train_op(loss, tf.train.AdamOptimizer(0.001))
supervisor = tf.train.Supervisor(logdir="logs", summary_op=None)  # each rank's is the chief of its own session
with supervisor.managed_session() as session:
    for rows in batches:
        session.run(train, {x: rows})
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
step = tf.Variable(0)
mean = tf.Variable(0.0)
for x, y in batches:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    step.assign_add(1)
    mean.assign(0.9 * mean + 0.1 * loss)
```

```python
import tensorflow.compat.v1 as tf

train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
with tf.train.MonitoredTrainingSession(checkpoint_dir="model") as session:
    while not session.should_stop():
        session.run(train)
```

```python
import tensorflow as tf

classifier = tf.compat.v1.estimator.DNNClassifier([8], columns, optimizer=tf.compat.v1.train.AdamOptimizer(0.001))
classifier.train(input_fn, steps=100)
classifier.evaluate(eval_input_fn)
```

```python
import os

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tensorflow as tf
import tensorflow_decision_forests as tfdf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(tfdf.keras.pd_dataframe_to_tf_dataset(rows, label="kind"))
```

## Source
Seed 3.1, restriction 2: "either distributed gradient tape or distributed optimizer".
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from horovodize import catalogue
from horovodize.restrictions.context import Context
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.unsupported_graph import find_in_graphs
from horovodize.restrictions.unsupported_searches import find_searches
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind

_IMPLICIT = (
    "implicit_gradients",
    "implicit_value_and_gradients",
    "gradients_function",
    "value_and_gradients_function",
)

_INSTEAD = {
    "jax": "`keras.distribution.DataParallel`",
    "torch": "`torch.nn.parallel.DistributedDataParallel`",
}


def find(context: Context) -> Iterator[Violation]:
    summary = context.summary
    if summary.already is LoopKind.OTHER_FRAMEWORK:
        if summary.loops:
            yield from _other_framework(context)
        return
    for node, why in dict.fromkeys(find_in_graphs(context)):
        yield RESTRICTION.at(context, node, why)
    yield from _wrapped_for_sklearn(context)
    yield from _other_backend(context)
    yield from _by_hand(context)
    yield from _implicit(context)
    yield from _stateless(context)
    yield from _no_tape(context)
    if context.trains:
        yield from _several_gpus(context)
        for node, why in find_searches(context):
            yield RESTRICTION.at(context, node, why)
        yield from _forests(context)


def _forests(context: Context) -> Iterator[Violation]:
    """Models that are fitted as Keras' are, without gradients (TensorFlow Decision Forests)."""
    forests = (name for name in context.module.calls if name.startswith("tensorflow_decision_forests.keras."))
    for call in context.module.calls.get(*(name for name in forests if name.endswith("Model"))):
        yield RESTRICTION.at(
            context,
            call,
            "trees are grown without gradients, so each rank would grow others from its part of the data; train them in one "
            "process",
        )


def _wrapped_for_sklearn(context: Context) -> Iterator[Violation]:
    """`KerasRegressor(build_fn=build)` and the like, of Keras and of scikeras."""
    for call in context.module.calls_called("KerasRegressor", "KerasClassifier"):
        name = context.names.of(call.func) or ""
        if ".scikit_learn." in name or name.startswith("scikeras."):
            yield RESTRICTION.at(
                context,
                call,
                f"`{context.text(call.func)}` makes and fits models of its own for scikit-learn, and each search or "
                "cross-validation fits more of them; call `compile` and `fit` of the Keras model itself",
            )


def _other_backend(context: Context) -> Iterator[Violation]:
    """Keras 3 on JAX or PyTorch, where the script says so."""
    if not context.summary.loops or not re.search("KERAS_BACKEND|set_backend", context.document.text):
        return
    for place, value in _backends(context):
        names = [o.node.value for o in context.values.origins(value) if isinstance(o.node, ast.Constant)]
        other = next((str(name) for name in names if name != "tensorflow"), None)
        if other is not None:
            instead = _INSTEAD.get(other, "that backend's own means")
            yield RESTRICTION.at(
                context,
                place,
                f"Keras runs on {other} here, and Horovod averages only gradients that TensorFlow computes; choose the backend "
                f"`tensorflow`, or distribute with {instead}",
            )


def _backends(context: Context) -> Iterator[tuple[ast.AST, ast.expr]]:
    """Where the backend of Keras is set, and to what."""
    for statement in context.syntax.every(ast.Assign):
        assert isinstance(statement, ast.Assign)
        for target in statement.targets:
            if isinstance(target, ast.Subscript) and _is_backend(target.slice):
                yield statement, statement.value
    for call in context.module.calls_called("setdefault", "putenv", "set_backend", "update"):
        match call.args:
            case [key, value] if _is_backend(key):
                yield call, value
            case [value] if context.names.last(call.func) == "set_backend":
                yield call, value
            case [ast.Dict(keys=keys, values=values)]:
                yield from (
                    (call, v) for k, v in zip(keys, values, strict=True) if k is not None and _is_backend(k)
                )
        yield from ((call, k.value) for k in call.keywords if k.arg == "KERAS_BACKEND")


def _is_backend(key: ast.expr) -> bool:
    return isinstance(key, ast.Constant) and key.value == "KERAS_BACKEND"


def _other_framework(context: Context) -> Iterator[Violation]:
    """The first place that distributes in another way: a call, else a mention (a strategy that another file makes)."""
    calls = (
        call
        for call in context.syntax.calls
        if catalogue.is_distribution(context.names.of(call.func) or "")
        or context.names.last(call.func) in ("replica_device_setter", "SyncReplicasOptimizer", "ClusterSpec")
    )
    mentions = (
        n
        for n in context.syntax.nodes
        if isinstance(n, (ast.Name, ast.Attribute)) and catalogue.is_distribution(context.names.of(n) or "")
    )
    node = next(calls, None) or next(mentions, context.summary.loops[0].node)
    by = context.text(node.func if isinstance(node, ast.Call) else node)
    yield RESTRICTION.at(
        context,
        node,
        f"this training is distributed already by `{by}`; take that out first, or every process would distribute again",
    )


# ---------------------------------------------------------------------- gradients past an optimizer


def _by_hand(context: Context) -> Iterator[Violation]:
    """One violation for all updates from one gradient that can't be distributed, at the first `assign_sub`, if there is one."""
    for step in context.sites.hand_updates:
        if context.sites.is_distributable(step):
            continue
        first = min(step.calls, key=lambda c: context.names.last(c.func) == "assign")
        assert isinstance(first.func, ast.Attribute)
        how = (
            "beside an optimizer's updates" if step.changes else "and not simply by a rate times the gradient"
        )
        yield RESTRICTION.at(
            context,
            first,
            f"`{context.text(first.func.value)}` is updated by hand from a gradient, {how}; use an optimizer's "
            "`apply_gradients`",
            related=[
                context.related(step.gradient, "the gradient"),
                *(context.related(c, "updated by hand, too") for c in step.calls if c is not first),
            ],
        )


def _implicit(context: Context) -> Iterator[Violation]:
    if "gradients" not in context.document.text:
        return
    for call in context.syntax.calls:
        if context.names.last(call.func) in _IMPLICIT and (context.names.of(call.func) or "").startswith(
            "tensorflow"
        ):
            yield RESTRICTION.at(
                context,
                call,
                "gradients without a tape: nothing averages them over the ranks; use `tf.GradientTape`",
            )


def _stateless(context: Context) -> Iterator[Violation]:
    """Keras 3's `optimizer.stateless_apply(…)` with gradients of a tape."""
    for call in context.sites.method_calls("stateless_apply") if context.sites.tapes else ():
        yield RESTRICTION.at(
            context,
            call,
            "`stateless_apply` gives back new weights and changes no variables, so nothing sends rank 0's to the others; use "
            "the optimizer's `apply`",
        )


def _no_tape(context: Context) -> Iterator[Violation]:
    if not context.trains:
        return
    loops = {loop.node for loop in context.loops}
    for update in context.sites.updates:
        if update.method == "apply_gradients" and not update.gradients and update.call in loops:
            yield RESTRICTION.at(
                context,
                update.call,
                "the tape that these gradients come from can't be found in this file, so nothing averages them over the ranks; "
                "take the gradients here",
            )


# ---------------------------------------------------------------------- several GPUs by hand


def _several_gpus(context: Context) -> Iterator[Violation]:
    if "gpu" not in context.document.text.lower():
        return
    for call in context.syntax.calls:
        last = context.names.last(call.func)
        if last == "multi_gpu_model":
            yield RESTRICTION.at(
                context,
                call,
                "this copies the model to several GPUs of one process; with Horovod each has one: leave it out",
            )
        elif (
            context.names.of(call.func) in ("tensorflow.device", "tensorflow.compat.v1.device") and call.args
        ):
            device = context.module.text(call.args[0])
            if re.search(r"gpu:(?!0\b)", device, re.I):
                yield RESTRICTION.at(
                    context,
                    call,
                    f"`{context.text(call.args[0])}`: each process sees one GPU only, as GPU 0; leave the device to TensorFlow",
                )


RESTRICTION = Restriction(
    "HVD202",
    "unsupported-loop",
    "the training loop must be one whose gradients can be averaged over the ranks",
    Severity.WARNING,
    __doc__ or "",
    find,
    blocks=True,
)
