"""HVD902 other-keras: Keras must have what a script uses of it, and be the one that Horovod finds.

## What it protects
From TensorFlow 2.16 on, `tf.keras` is Keras 3. It has no `fit_generator`, no `minimize` of optimizers and no
`optimizers.legacy`, its metrics have `reset_state` only, `compile` takes `metrics` by name, and weights are saved in files that
end in `.weights.h5`, models in `.keras` or `.h5`: a script that does otherwise stops there. Setting `optimizer.lr`
changes nothing there. Some 200 names are gone, not the same ones of `tf.keras` as of the package `keras`:
`tf.keras.losses.mean_squared_error` and `keras.backend.mean` are two. Graphs of `tf.compat.v1` have no `layers`, no
`nn.rnn_cell` and no `keras.backend.set_session`: Keras 2 made those. A `tf.function` gets a model's variables as tensors,
`TextVectorization` counts in integers, and an HDF5 file whose model was compiled with `"mse"` can't be loaded. Horovod's own
callbacks, `broadcast_variables`, `DistributedGradientTape` and states stop at Keras 3's variables. Keras 2 goes on as
`tf_keras`. Horovod finds it only under the name `tf.keras`, which the variable `TF_USE_LEGACY_KERAS` gives it, if that is
set before TensorFlow is imported.

## When it is reported
On such a call or name where Keras 3 is known to train, unless it is under a condition, and in a script that uses Horovod
already on what stops there; on `TF_USE_LEGACY_KERAS` set after
TensorFlow or Keras was imported, or by a script that imports the package `keras`, for which it does nothing; and on an import
of `tf_keras` without it, unless TensorFlow is known to be older than 2.16. Versions are known by the setting `tensorflow`, the
packages of `--python`, lock and requirement files, and what the script shows (`keras.ops`).

## Quick fix
None.

## Example that breaks it
```python
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit_generator(batches, epochs=2)  # HVD902
print(keras.ops.sum(model.predict(x)))
```

```python
import keras

model = keras.Sequential([keras.layers.Dense(1)])
sgd = keras.optimizers.SGD(lr=0.1)  # HVD902
model.compile(sgd, "mse", ["mae"])  # HVD902
model.fit(x, y)
model.optimizer.lr = 0.01  # HVD902
seen = keras.metrics.Mean()
seen.update_state(keras.ops.sum(model.predict(x)))
seen.reset_states()  # HVD902
model.save_weights("weights/%d.h5" % epochs)  # HVD902
model.save("export")  # HVD902
keras.callbacks.ModelCheckpoint(f"cp-{name}.ckpt", save_weights_only=True)  # HVD902
keras.callbacks.ModelCheckpoint("best")  # HVD902


class Halve(keras.callbacks.Callback):
    def on_epoch_end(self, epoch, logs=None):
        self.model.optimizer.lr = self.model.optimizer.learning_rate / 2  # HVD902
```

```python
import os
import keras
import tensorflow as tf
from keras import backend as K, ops
from tensorflow.keras.layers.experimental import preprocessing  # HVD902

FILE = "best.h5"
words = keras.layers.TextVectorization(output_mode="count")
model = keras.Sequential([keras.layers.LocallyConnected1D(1, 3)])  # HVD902
slow = keras.Sequential([keras.layers.Dense(1)])


def loss(y, p):
    error = K.mean(ops.abs(y - p))  # HVD902
    return error + tf.losses.mean_squared_error(y, p)  # HVD902


@tf.function
def follow(slow, fast):
    for a, b in zip(slow, fast):
        a.assign(0.9 * a + 0.1 * b)


model.compile("sgd", "mse")
if os.path.exists(FILE):
    model = keras.models.load_model(FILE)  # HVD902
model.fit(data.map(lambda text, n: (tf.concat([words(text), n], 1), n)))  # HVD902
follow(slow.weights, model.weights)  # HVD902
model.save(FILE)
model.save_weights(FILE)  # HVD902
```

```python
import keras
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4])
hidden = tf.layers.dense(x, 8)  # HVD902
cell = tf.nn.rnn_cell.GRUCell(8)  # HVD902
loss = tf.reduce_mean(tf.layers.dense(hidden, 1) ** 2)
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    tf.keras.backend.set_session(session)  # HVD902
    session.run(tf.global_variables_initializer())
    for batch in batches:
        session.run(train, {x: batch})
print(keras.ops.sum(batch))
```

```python
import os
import tensorflow as tf

os.environ["TF_USE_LEGACY_KERAS"] = "1"  # HVD902
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import tf_keras  # HVD902

model = tf_keras.Sequential([tf_keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
```

```python
import keras
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1 * hvd.size())
for step, x in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = keras.ops.mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    weights = model.trainable_variables
    gradients = tape.gradient(loss, weights)  # HVD902
    optimizer.apply_gradients(zip(gradients, weights))
    if step == 0:
        hvd.broadcast_variables(model.variables, root_rank=0)  # HVD902
```

```python
import keras
import horovod.tensorflow.keras as hvd

hvd.init()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1 * hvd.size())), "mse")
callbacks = [
    hvd.callbacks.BroadcastGlobalVariablesCallback(0),  # HVD902
    hvd.callbacks.MetricAverageCallback(),  # HVD902
]
model.fit(x, y, callbacks=callbacks)
print(keras.ops.sum(model.predict(x)))
```

## Near misses
```python
import keras
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1 * hvd.size())
for step, x in enumerate(batches):
    with tf.GradientTape() as tape:
        loss = keras.ops.mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if step == 0:
        hvd.broadcast_variables([v.value for v in model.variables], root_rank=0)
```

```python
import keras
import horovod_keras3 as hvd

hvd.init()
model = keras.Sequential([keras.layers.Dense(1)])
model.compile(hvd.DistributedOptimizer(keras.optimizers.SGD(0.1 * hvd.size())), "mse", jit_compile=False)
model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])
print(keras.ops.sum(model.predict(x)))
```

```python
import keras
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
x = tf.placeholder(tf.float32, [None, 4])
w = tf.get_variable("w", [4, 1])
loss = tf.losses.mean_squared_error(tf.matmul(x, w), tf.zeros_like(w))
train = tf.train.AdamOptimizer(0.01).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for batch in batches:
        session.run(train, {x: batch})
print(keras.ops.sum(batch))
```

```python
import os

os.environ["TF_USE_LEGACY_KERAS"] = "1"
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit_generator(batches, epochs=2)
```

```python
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit_generator(batches, epochs=2)
```

```python
import keras

model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.legacy.SGD(0.1) if old else keras.optimizers.SGD(0.1)
model.compile(optimizer, "mse")
model.fit(x, y)
print(keras.ops.sum(model.predict(x)))
```

```python
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse", [0.5], ["mae"])
model.fit(x, y)
model.optimizer.learning_rate = settings.lr
settings.optimizer.lr = 0.1
table.reset_states()
agent.save_weights("agent.h5")
model.save_weights(name)
model.save_weights(f"weights/{name}")
model.save_weights(name + ".h5")
model.save_weights("%s.h5" % name)
model.save_weights("all", max_shard_size=1)
model.save("hf://me/model")
model.save_weights(f"weights/{name}.weights.h5")
model.save("model.keras")
print(keras.ops.sum(model.predict(x)))
```

```python
import keras
import tensorflow as tf
from tensorflow.keras import backend as K, ops

try:
    from keras.utils import OrderedEnqueuer
except ImportError:
    OrderedEnqueuer = None
FILE = "best.h5"
words = keras.layers.TextVectorization(output_mode="int")
counts = keras.layers.TextVectorization(output_mode="count")
model = keras.Sequential([keras.layers.Dense(1)])
averages = [tf.Variable(v) for v in model.weights]


@tf.function
def follow(slow, fast):
    for a, b in zip(slow, fast):
        a.assign(0.9 * a + 0.1 * b)


def loss(y, p):
    return K.mean(y - p) + keras.losses.mean_squared_error(y, p) + keras.backend.epsilon()


model.compile("sgd", "mean_squared_error")
model.fit(data.map(lambda text, n: (tf.concat([words(text), n], 1), tf.concat([counts(text), counts(n)], 1))))
follow(averages, model.weights)
model.save(FILE)
model = keras.models.load_model(FILE)
print(ops.sum(model.predict(x)))
```

```python
import keras

model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, y)
model.save("last.h5")
model = keras.models.load_model("last.h5", compile=False)
other = keras.models.load_model("other.h5")
print(keras.ops.sum(model.predict(x)))
```

## Source
Keras 3's migration guide; Horovod 0.28.1 imports `tensorflow.keras` by that name. Measured with
TensorFlow 2.18 and 2.21; names that are gone: `catalogue/keras_3.json`, of Keras 2.15 and 3.15.
"""

from __future__ import annotations

from collections.abc import Iterator

from horovodize.restrictions.context import Context
from horovodize.restrictions.gone_in_keras_3 import gone, gone_for_graphs
from horovodize.restrictions.horovod_in_keras_3 import stopped, stopped_for_graphs
from horovodize.restrictions.restriction import Restriction
from horovodize.restrictions.violation import Severity, Violation
from horovodize.summary import LoopKind
from horovodize.world.evidence import LEGACY_VARIABLE, legacy_settings, uses_standalone_keras
from horovodize.world.versions import FIRST_WITH_KERAS_3, before
from horovodize.world.world import Keras

_KINDS = (LoopKind.KERAS, LoopKind.GRADIENT_TAPE)
_OF_GRAPHS = (LoopKind.SESSION, LoopKind.MONITORED_SESSION)


def find(context: Context) -> Iterator[Violation]:
    if context.summary.already is LoopKind.HOROVOD:
        yield from _with_horovod(context)
        return
    kinds = {loop.kind for loop in context.summary.loops}
    if context.summary.already is not None or not kinds.intersection((*_KINDS, *_OF_GRAPHS)):
        return
    of_keras = bool(kinds.intersection(_KINDS))
    if of_keras:
        yield from _legacy(context)
    if context.world.keras is Keras.THREE or context.world.runs_on(FIRST_WITH_KERAS_3):
        yield from _gone(context, of_keras)


def _legacy(context: Context) -> Iterator[Violation]:
    """Legacy Keras asked for in a way that does not work."""
    settings, standalone = legacy_settings(context.module), uses_standalone_keras(context.summary)
    for statement, in_time in settings:
        if standalone:
            why = "does nothing for the package `keras`, which this script imports; import `tf.keras` instead"
        elif not in_time:
            why = "comes too late: it is read when TensorFlow is imported; set it before that"
        else:
            continue
        yield RESTRICTION.at(context, statement, f"{LEGACY_VARIABLE} {why}")
    asked = any(in_time for _, in_time in settings)
    if asked or before(context.world.tensorflow, FIRST_WITH_KERAS_3):
        return
    for statement in context.module.tensorflow_imports:
        if "tf_keras" in context.text(statement):
            yield RESTRICTION.at(
                context,
                statement,
                f"Horovod takes Keras from `tf.keras`, which is another than `tf_keras`; set {LEGACY_VARIABLE}=1 before "
                "TensorFlow is imported, and use `tf.keras`",
            )
            return


def _with_horovod(context: Context) -> Iterator[Violation]:
    """The same of a script that uses Horovod, whose own functions for Keras know Keras 2."""
    known = context.world.keras is Keras.THREE or context.world.runs_on(FIRST_WITH_KERAS_3)
    if context.module.imports("horovod_keras3") or not known:
        return
    yield from _gone(context, not context.sites.builds_graph)
    if context.world.keras is not Keras.LEGACY:
        by = context.world.keras_by or context.world.tensorflow_by
        found = stopped_for_graphs(context) if context.sites.builds_graph else stopped(context)
        for call, what in found:
            yield RESTRICTION.at(context, call, f"Keras 3 ({by}) {what}")


def _gone(context: Context, of_keras: bool) -> Iterator[Violation]:
    """What Keras 3 does not have, where nothing asks for the version first. Where Keras doesn't train: for graphs."""
    if context.world.keras is Keras.LEGACY or context.sites.is_tf1:
        return
    by = context.world.keras_by or context.world.tensorflow_by
    for call, what in gone(context) if of_keras else gone_for_graphs(context):
        yield RESTRICTION.at(context, call, f"Keras 3 ({by}) {what}")


RESTRICTION = Restriction(
    "HVD902",
    "other-keras",
    "Keras must have what a script uses of it, and be the one that Horovod finds",
    Severity.WARNING,
    __doc__ or "",
    find,
    blocks=True,
)
