"""Faults that `check` finds in code that uses Horovod, as programs that show them, each with the right program beside it.

Every text runs on ranks with rows of their own: `x`, `y`. What it shows is in `shown`; where it has a `model`, how far apart
the ranks' weights are at the end is looked at as well."""

from __future__ import annotations

START = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
y = tf.reduce_sum(x, 1, keepdims=True) * (1 + 9 * hvd.rank())
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
"""
FIT = """\
model.compile(hvd.DistributedOptimizer(optimizer), "mse")
model.fit(x, y, batch_size=16, verbose=0, callbacks=callbacks)
"""
TAPE = """\
import horovod.tensorflow as horovod
optimizer = hvd.DistributedOptimizer(optimizer)
horovod.broadcast_variables(model.variables, 0)
for i in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    tape = horovod.DistributedGradientTape(tape)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
PLATEAU = START + (
    "callbacks += [hvd.callbacks.MetricAverageCallback()]\n"
    'callbacks += [tf.keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=8.0)]\n'
) + FIT.replace("verbose=0", "verbose=0, epochs=3") + "shown = float(model.optimizer.learning_rate)\n"  # fmt: skip
RELOADED = START + FIT + (
    'path = f"model-{hvd.rank()}.h5"\nmodel.save(path)\nagain = hvd.load_model(path)\n'
    "model = again\nagain.fit(x, y, batch_size=16, verbose=0)\n"
)  # fmt: skip
_WRAPPED = "optimizer = hvd.DistributedOptimizer(optimizer)\n"
_APART = ".shard(hvd.size(), hvd.rank()).shuffle(100)"
ROWS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.range(100).shard(hvd.size(), hvd.rank()).shuffle(100)
mine = tf.constant([int(row) for row in rows])
shown = len(set(hvd.allgather(mine).numpy().tolist()))
"""
SEEDED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
tf.random.set_seed(1 + hvd.rank())
rows = tf.data.Dataset.range(100).shuffle(100).batch(10)
weight = tf.Variable(0.0)
optimizer = tf.keras.optimizers.SGD(1e-6 * hvd.size())
hvd.broadcast_variables([weight], 0)
shown = []
for batch in rows:
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(weight * tf.cast(batch, tf.float32))
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, [weight]), [weight]))
    shown += batch.numpy().tolist()
"""
WARM = START.replace("SGD", "Adam") + (
    "callbacks += [hvd.callbacks.LearningRateWarmupCallback(0.01 * hvd.size(), warmup_epochs=1, steps_per_epoch=4)]\n"
) + FIT + "shown = float(model.optimizer.learning_rate)\n"  # fmt: skip
ONE_STEP = (
    START
    + FIT.replace("optimizer)", "optimizer, op=hvd.Average)").replace("batch_size=16", "batch_size=64")
    + 'shown = float(abs(model.get_weights()[0]).max())\n'
).replace("(4,))", '(4,), kernel_initializer="zeros")')  # fmt: skip
SAVED = """\
import time
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
if hvd.rank() == 0:
    time.sleep(1)  # it takes a while to prepare
    np.save("rows.npy", np.ones(3))
hvd.allreduce(tf.constant(0.0))
try:
    shown = float(np.load("rows.npy").sum())
except FileNotFoundError:
    shown = "missing"
"""
UNBUILT = """\
import tensorflow as tf
import horovod.tensorflow as hvd


class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.last = tf.keras.layers.Dense(1)

    def call(self, x):
        return self.last(x)


hvd.init()
model = Net()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
model(x)
hvd.broadcast_variables(model.variables, root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for i in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
PERMUTED = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
np.random.seed(7)
rows = np.random.permutation(100)
mine = tf.constant(rows[hvd.rank() :: hvd.size()])
shown = len(set(hvd.allgather(mine).numpy().tolist()))
"""
SCHEDULED = START + (
    "callbacks += [tf.keras.callbacks.LearningRateScheduler(lambda epoch: 0.01 * hvd.size())]\n"
) + FIT + "shown = float(model.optimizer.learning_rate)\n"  # fmt: skip
CHECKPOINTED = (
    START.replace("Dense(1", "BatchNormalization(), tf.keras.layers.Dense(1").replace(
        ", input_shape=(4,)", ""
    )
    + """\
import time
late = lambda epoch, logs: time.sleep(hvd.rank())
callbacks.append(tf.keras.callbacks.LambdaCallback(on_epoch_end=late))
if hvd.rank() == 0:
    callbacks.append(tf.keras.callbacks.ModelCheckpoint("kept.h5", save_weights_only=True))
"""
    + FIT
    + """\
hvd.allreduce(1.0, name="kept")
mean = model.layers[0].moving_mean.numpy()
model.load_weights("kept.h5")
shown = float(abs(model.layers[0].moving_mean.numpy() - mean).max())
"""
)
SAVED_BY_ONE = (
    START.replace("Dense(1", "BatchNormalization(), tf.keras.layers.Dense(1").replace(
        ", input_shape=(4,)", ""
    )
    + FIT
    + """\
import time
hvd.allreduce(1.0, name="trained")
time.sleep(hvd.rank())
if hvd.rank() == 0:
    model.save_weights("all.h5")
hvd.allreduce(1.0, name="written")
mean = model.layers[0].moving_mean.numpy()
model.load_weights("all.h5")
shown = float(abs(model.layers[0].moving_mean.numpy() - mean).max())
"""
)
ENDLESS = START + (
    "rows = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)\n"
    'model.compile(hvd.DistributedOptimizer(optimizer), "mse")\n'
    "model.fit(rows, steps_per_epoch=8 // hvd.size(), verbose=0, callbacks=callbacks)\n"
    "shown = int(model.optimizer.iterations)\n"
)  # fmt: skip
DECAYED = ENDLESS.replace("optimizer = tf", "rate = tf.keras.optimizers.schedules.PolynomialDecay(0.01 * hvd.size(), "
    "8 // hvd.size(), 0.0)\noptimizer = tf", 1).replace("SGD(0.01 * hvd.size())", "SGD(rate)").replace(
    "int(model.optimizer.iterations)", "float(rate(model.optimizer.iterations))"
)  # fmt: skip
RESUMED = RELOADED.replace(
    "again = hvd.load_model(path)\nmodel = again\n", "model = hvd.load_model(path)\n"
).replace("again.fit", "model.fit")
NOTED = """\
import time
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
time.sleep(hvd.rank())  # rank 1 is the last to write
if hvd.rank() == 0:
    np.savetxt("noted.txt", [hvd.rank() + 1.0])
hvd.allreduce(tf.constant(0.0))
shown = float(np.loadtxt("noted.txt")) - 1.0
hvd.allreduce(tf.constant(0.0))
"""
JOINED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.Adam(0.01 * hvd.size())
optimizer.build(model.trainable_variables)


@hvd.elastic.run
def train(state):
    for state.batch in range(state.batch, 4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        state.commit()


for kept in optimizer.variables[2:]:  # as if rank 0 had trained, and rank 1 had just come
    kept.assign(kept + 3.0 * (1 - hvd.rank()))
state = hvd.elastic.TensorFlowState([*model.variables, *optimizer.variables], batch=0)
state.register_reset_callbacks([lambda: optimizer.learning_rate.assign(0.01 * hvd.size())])
state.sync()
train.__wrapped__(state)
"""
TWO_MODELS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
model = tf.keras.Sequential([tf.keras.layers.Dense(4, input_shape=(4,))])
critic = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
hvd.broadcast_variables(critic.variables, root_rank=0)
hvd.broadcast_variables(model.variables, root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
other = tf.keras.optimizers.SGD(0.01 * hvd.size())
for i in range(4):
    with tf.GradientTape() as tape, tf.GradientTape() as second:
        loss = tf.reduce_mean(critic(model(x)))
        real = -loss
    tape = hvd.DistributedGradientTape(tape)
    second = hvd.DistributedGradientTape(second)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    other.apply_gradients(zip(second.gradient(real, critic.trainable_variables), critic.trainable_variables))
"""
BEGUN = """\
import types
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
with tf.Graph().as_default():
    weight = tf.get_variable("weight", (4, 1))
    x = tf.random_normal((16, 4))
    loss = tf.reduce_mean(tf.matmul(x, weight) ** 2)
    train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
    begin, send = tf.global_variables_initializer(), hvd.broadcast_global_variables(0)
    with tf.Session() as session:
        session.run(begin)
        session.run(send)
        for step in range(8 // hvd.size()):
            session.run(train)
        model = types.SimpleNamespace(weights=[session.run(weight)])
"""
LOSS_SCALED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)
inner = tf.keras.optimizers.SGD(0.01 * hvd.size())
optimizer = tf.keras.mixed_precision.LossScaleOptimizer(inner, dynamic=False, initial_scale=1024)
for i in range(4):
    with tf.GradientTape() as tape:
        loss = optimizer.get_scaled_loss(tf.reduce_mean(model(x) ** 2))
    tape = hvd.DistributedGradientTape(tape)
    gradients = optimizer.get_unscaled_gradients(tape.gradient(loss, model.trainable_variables))
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
"""
BATCHED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
rows = tf.data.Dataset.from_tensor_slices(tf.random.stateless_normal((64, 4), (1, hvd.rank()))).batch(8)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
hvd.broadcast_variables(model.variables, root_rank=0)
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
for x in rows.take(8 // hvd.size()):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
shown = float(optimizer.learning_rate)
"""
STOPPED = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

hvd.init()
with tf.Graph().as_default():
    rows = tf.data.Dataset.range(64).shard(hvd.size(), hvd.rank()).shuffle(64).repeat().batch(4)
    x = tf.cast(tf.data.make_one_shot_iterator(rows).get_next(), tf.float32)
    weight = tf.get_variable("weight", (), initializer=tf.zeros_initializer())
    loss = tf.reduce_mean(weight + 0.0 * x)
    optimizer = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size()))
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    hooks = [hvd.BroadcastGlobalVariablesHook(0), tf.train.StopAtStepHook(last_step=8 // hvd.size())]
    with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
        while not session.should_stop():
            moved = session.run(weight)  # by the steps before
            session.run(train)
    shown = -float(moved) / 3
"""
ESTIMATOR = """\
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd


def linear(features, labels, mode):
    loss = tf.compat.v1.losses.mean_squared_error(labels, tf.compat.v1.layers.dense(features["x"], 1))
    optimizer = hvd.DistributedOptimizer(tf.compat.v1.train.GradientDescentOptimizer(0.01 * hvd.size()))
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    )


hvd.init()
x, y = np.ones((64, 4), "float32"), np.ones((64, 1), "float32")
rows = tf.compat.v1.estimator.inputs.numpy_input_fn({"x": x}, y, batch_size=16, num_epochs=None, shuffle=True)
estimator = tf.estimator.Estimator(linear, model_dir=f"estimated-{hvd.size()}-{hvd.rank()}-{time.time()}")
estimator.train(rows, steps=8 // hvd.size(), hooks=[hvd.BroadcastGlobalVariablesHook(0)])
shown = int(estimator.get_variable_value("global_step"))
""".replace("import numpy", "import time\nimport numpy")
_SENT = "horovod.broadcast_variables(model.variables, 0)\n"
_ADDED = "if hvd.rank() == 0:\n    model.set_weights([1 + w for w in model.get_weights()])\n"


def _changed(text: str, *changes: tuple[str, str]) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


_FLAGGED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
first = True


@tf.function
def step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(rows) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if first:
        hvd.broadcast_variables(model.variables, root_rank=0)


for i in range(4):
    step(x)
    first = False
"""
_ONCE = "hvd.broadcast_variables(model.variables, root_rank=0)\n"
_BEFORE = _FLAGGED.replace(f"    if first:\n        {_ONCE}", "").replace("    first = False\n", "")
_BEFORE = _BEFORE.replace("first = True\n", _ONCE)
_GIVEN = _changed(
    _FLAGGED,
    ("first = True\n", ""),
    ("step(rows)", "step(rows, first)"),
    ("step(x)", "step(x, i == 0)"),
    ("    first = False\n", ""),
)
_APPLIED = "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
_PINS = """\
hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
"""
_LOOP = TAPE[TAPE.index("for i") :]
_TRACED = (
    "import horovod.tensorflow as horovod\nhorovod.broadcast_variables(model.variables, 0)\n"
    "@tf.function(jit_compile=True)\ndef step():\n"
    + _LOOP.partition("\n")[2]
    + "for i in range(4):\n    step()\n"
)
_COMPILED = FIT.replace('"mse"', '"mse", jit_compile=True')
_AVERAGED = "callbacks += [hvd.callbacks.MetricAverageCallback()]\n"
# By code: the right text, and the faulty one.
CASES: dict[str, list[tuple[str, str]]] = {
    "HVD303": [(_changed(START + FIT, ("hvd.init()\n", _PINS)), START + FIT)],
    "HVD307": [
        (START + TAPE, START + _changed(TAPE, (_SENT, ""), (_APPLIED, _APPLIED + "    " + _SENT))),
        (_BEFORE, _FLAGGED),
        (_GIVEN, _changed(_GIVEN, ("step(x, i == 0)", "step(x, True)"))),
    ],
    "HVD304": [
        (START + FIT, _changed(START + FIT, ("hvd.DistributedOptimizer(optimizer)", "optimizer"))),
        (START + TAPE, _changed(START + TAPE, ("    tape = horovod.DistributedGradientTape(tape)\n", ""))),
        (
            LOSS_SCALED,
            _changed(LOSS_SCALED, ("    tape = hvd.DistributedGradientTape(tape)\n", "")),
        ),
    ],
    "HVD308": [
        (BATCHED, _changed(BATCHED, ("0.01 * hvd.size()", "0.01"))),
        (STOPPED, _changed(STOPPED, ("0.01 * hvd.size()", "0.01"))),
        (
            START + FIT + "shown = float(model.optimizer.learning_rate)\n",
            _changed(START, ("0.01 * hvd.size()", "0.01")) + FIT + "shown = float(model.optimizer.learning_rate)\n",
        )
    ],
    "HVD314": [
        (SAVED_BY_ONE, _changed(SAVED_BY_ONE, ("if hvd.rank() == 0:\n    model.save", "model.save"))),
        (NOTED, _changed(NOTED, ("if hvd.rank() == 0:\n    np.save", "np.save"))),
        (CHECKPOINTED, _changed(CHECKPOINTED, ("if hvd.rank() == 0:\n    callbacks", "callbacks"))),
    ],
    "HVD321": [
        (ENDLESS, _changed(ENDLESS, (" // hvd.size()", ""))),
        (ESTIMATOR, _changed(ESTIMATOR, (" // hvd.size()", ""))),
    ],
    "HVD324": [
        (JOINED, _changed(JOINED, ("State([*model.variables, *optimizer.variables],", "State(model.variables,")))
    ],
    "HVD305": [(START + FIT, _changed(START + FIT, ("callbacks = [", _WRAPPED + "callbacks = [")))],
    "HVD306": [
        (START + FIT, _changed(START + FIT, ("hvd.callbacks.BroadcastGlobalVariablesCallback(0)", ""))),
        (START + TAPE, START + _changed(TAPE, ("variables, 0)", "variables, hvd.rank())"))),
        (UNBUILT, _changed(UNBUILT, ("model(x)\nhvd", "hvd"))),
        (BEGUN, _changed(BEGUN, ("run(send)\n", "run(send)\n        session.run(begin)\n"))),
        (TWO_MODELS, _changed(TWO_MODELS, ("hvd.broadcast_variables(model.variables, root_rank=0)\n", ""))),
    ],
    "HVD309": [
        (
            START + FIT + "shown = float(model.optimizer.learning_rate)\n",
            _changed(START, ("0.01 * hvd.size()", "0.01 * hvd.size() * hvd.size()"))
            + FIT
            + "shown = float(model.optimizer.learning_rate)\n",
        )
    ],
    "HVD310": [
        (WARM, _changed(WARM, ("Callback(0.01 * hvd.size(),", "Callback(0.01,"))),
        (SCHEDULED, _changed(SCHEDULED, ("epoch: 0.01 * hvd.size()", "epoch: 0.01"))),
    ],
    "HVD312": [
        (PLATEAU, _changed(PLATEAU, (_AVERAGED, ""))),
        (PLATEAU, _changed(PLATEAU, (_AVERAGED, ""), ("model.compile", _AVERAGED + "model.compile"))),  # behind what reads it
    ],
    "HVD316": [
        (RELOADED, _changed(RELOADED, ("hvd.load_model", "tf.keras.models.load_model"))),
        (RESUMED, _changed(RESUMED, ("hvd.load_model", "tf.keras.models.load_model"))),
    ],
    "HVD325": [(DECAYED, _changed(DECAYED, ("8 // hvd.size(), 0.0", "8, 0.0")))],
    "HVD326": [
        (START + _TRACED.replace("True", "False"), START + _TRACED),
        (START + _COMPILED.replace("True", "False"), START + _COMPILED),
    ],
    "HVD317": [(ONE_STEP, _changed(ONE_STEP, ("hvd.Average", "hvd.Sum")))],
    "HVD319": [
        (ROWS, _changed(ROWS, (_APART, ".shuffle(100).shard(hvd.size(), hvd.rank())"))),
        (PERMUTED, _changed(PERMUTED, ("np.random.seed(7)\n", ""))),
    ],
    "HVD320": [(SEEDED, _changed(SEEDED, ("set_seed(1 + hvd.rank())", "set_seed(1)")))],
    "HVD332": [(SAVED, _changed(SAVED, ("hvd.allreduce(tf.constant(0.0))\n", ""), ("rows.npy", "early.npy")))],
    "HVD333": [(START + _changed(TAPE, (_SENT, _ADDED + _SENT)), START + _changed(TAPE, (_SENT, _SENT + _ADDED)))],
}  # fmt: skip

_ALONE = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
"""
_RUN = "            session.run(train)\n"
_TAKEN = "    gradients = tape.gradient(loss, model.trainable_variables)\n"
_UNDER = _APPLIED.replace("gradients,", "tape.gradient(loss, model.trainable_variables),")
# By code (and what is special about it): programs in which ranks wait for each other forever.
STALLS: dict[str, str] = {
    "HVD311": START
    + 'if hvd.rank() == 0:\n    callbacks.append(tf.keras.callbacks.EarlyStopping("loss", patience=0, min_delta=1e9))\n'
    + FIT.replace("verbose=0", "verbose=0, epochs=9"),
    "HVD313": _ALONE
    + "if hvd.rank() == 0:\n    print(hvd.allreduce(tf.constant(1.0)))\nhvd.broadcast(tf.constant(2.0), 0)\n",
    "HVD313: a session's step": _changed(BEGUN, (_RUN, "            if hvd.rank() == 0:\n    " + _RUN)),
    "HVD331: a tape's step": START
    + _changed(TAPE, (_APPLIED, "    if hvd.rank() == 0:\n    " + _UNDER), (_TAKEN, "")),
    "HVD331": _ALONE
    + "rows = tf.range(8.0)[hvd.rank() :: hvd.size()]\n"
    + "for step in range(9):\n    if float(tf.reduce_sum(rows)) > 12.5:\n        break\n    hvd.allreduce(rows)\n",
    "HVD323: a test of the rank": START
    + "rows = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(16)\nsteps = 8 // hvd.size()\n"
    + "if hvd.rank() == 1:\n    steps -= 1\n"
    + 'model.compile(hvd.DistributedOptimizer(optimizer), "mse")\n'
    + "model.fit(rows, steps_per_epoch=steps, epochs=9, verbose=0, callbacks=callbacks)\n",
    "HVD323": START
    + "rows = tf.data.Dataset.range(33).map(lambda i: (tf.ones(4), tf.ones(1)))\n"
    + "rows = rows.shard(hvd.size(), hvd.rank()).batch(16)\n"
    + 'model.compile(hvd.DistributedOptimizer(optimizer), "mse")\n'
    + "model.fit(rows, epochs=9, verbose=0, callbacks=callbacks)\n",
    "HVD318": _ALONE
    + '@tf.function\ndef total(loss):\n    return hvd.allreduce(loss, name=f"loss-{hvd.rank()}")\n\n\n'
    + "total(tf.constant(1.0))\n",
}
# By code: a program of two modules in which ranks wait for each other forever, and the module that is reported.
STALLING_MODULES: dict[str, tuple[dict[str, str], str]] = {
    "HVD313": (
        {
            "train.py": START
            + "from validating import validate\n"
            + 'model.compile(hvd.DistributedOptimizer(optimizer), "mse")\n'
            + "for epoch in range(2):\n    model.fit(x, y, batch_size=16, verbose=0, callbacks=callbacks)\n"
            + "    validate(model, x, y)\n",
            "validating.py": """\
import tensorflow as tf
import horovod.tensorflow as hvd


def validate(model, x, y):
    if hvd.rank() == 0:
        error = tf.reduce_mean((y - model.predict(x, verbose=0)) ** 2)
        print("error", float(hvd.allreduce(error)))
""",
        },
        "validating.py",
    ),
}
_PINNED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
devices = tf.config.list_physical_devices("CPU")
tf.config.set_visible_devices(devices[hvd.local_rank() + 1 :], "CPU")  # as other than the default as one of several GPUs
"""
# By code (and what is special about it): a program that does its work, the faulty one, which fails, and what that one says.
FAILS: dict[str, tuple[str, str, str]] = {
    "HVD301": (
        _ALONE + "print(hvd.allreduce(tf.constant(1.0)))\n",
        _changed(_ALONE, ("hvd.init()\n", "")) + "print(hvd.allreduce(tf.constant(1.0)))\n",
        "Horovod has not been initialized",
    ),
    "HVD301: late": (
        _ALONE + "print(hvd.allreduce(tf.constant(1.0)))\n",
        _changed(_ALONE, ("hvd.init()\n", "")) + "print(hvd.allreduce(tf.constant(1.0)))\nhvd.init()\n",
        "Horovod has not been initialized",
    ),
    "HVD322": (
        _PINNED,
        _changed(_PINNED, ("hvd.init()\n", "hvd.init()\nweight = tf.Variable(0.0)\n")),
        "cannot be modified after being initialized",
    ),
}
# `init()` in a module that is imported: before the first use, and after it.
BEGUN_BESIDE = {
    "begin.py": "import horovod.tensorflow as hvd\n\nhvd.init()\n",
    "right.py": "import begin\nimport horovod.tensorflow as hvd\n\nprint(hvd.rank(), begin.hvd.size())\n",
    "late.py": "import horovod.tensorflow as hvd\n\nprint(hvd.rank())\nimport begin\n\nprint(begin.hvd.size())\n",
}
# A program that fails on the second of two machines, each with one device, and what it says there.
SECOND_MACHINE = (
    _changed(_PINNED, ("hvd.local_rank() + 1 :", "hvd.rank()")) + "hvd.allreduce(tf.constant(1.0))\n",
    "IndexError: list index out of range",
)
# What looks like a fault and is none: Horovod begun twice, slots that are sent before there are any (they are zero on all
# ranks), a tape that is wrapped once for all steps, one name for two collectives.
HARMLESS = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
hvd.init()
x = tf.random.stateless_normal((64, 4), (1, hvd.rank()))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.legacy.Adam(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
hvd.broadcast_variables(optimizer.variables(), root_rank=0)
tape = hvd.DistributedGradientTape(tf.GradientTape(persistent=True))
for i in range(4):
    with tape:
        loss = tf.reduce_mean(model(x) ** 2)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
slots = tf.concat([tf.reshape(tf.cast(slot, tf.float32), [-1]) for slot in optimizer.variables()], 0)


@tf.function
def twice(y):
    return hvd.allreduce(y, name="y") + hvd.allreduce(2 * y, name="y")


mean = float(twice(tf.constant(float(hvd.rank()))))
shown = [mean, *slots.numpy().tolist()]
"""
