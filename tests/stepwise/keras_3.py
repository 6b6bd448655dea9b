"""Programs of Keras 3, each with the one that an expert would write for so many ranks: a batch and a rate of all of them, and
numbers of steps divided. Rows come in order, so that both take the same steps, to the same weights.

What differs between the two stands as `@rate(0.01)`; `of` fills it in."""

from __future__ import annotations

import itertools
import random
import re
import textwrap
from dataclasses import dataclass

HEAD = """\
import math
import keras
import numpy as np
import tensorflow as tf
from keras import layers, ops

x = np.stack([np.sin(np.arange(64)), np.cos(np.arange(64) * 0.3)], 1).astype("float32")
y = (x[:, :1] * 0.5 - x[:, 1:] + 0.1).astype("float32")
BATCH, EPOCHS = @rows(4), 3
TAKEN = []
"""
PY_DATASET = """\
class Rows(keras.utils.PyDataset):
    @property
    def num_batches(self):
        return len(x) // BATCH
    def __getitem__(self, i):
        return x[i * BATCH : (i + 1) * BATCH], y[i * BATCH : (i + 1) * BATCH]
"""
DATA = {  # what is defined, what `fit` is given, and how many steps an epoch has
    "arrays": ("", "x, y, batch_size=BATCH, shuffle=False", "(len(x) // BATCH)"),
    "validated": ("", "x, y, batch_size=BATCH, shuffle=False, validation_split=0.25", "(48 // BATCH)"),
    "dataset": ("ds = tf.data.Dataset.from_tensor_slices((x, y)).batch(BATCH)\n", "ds", "len(ds)"),
    "sequence": (PY_DATASET, "Rows(workers=2), shuffle=False", "(len(x) // BATCH)"),
    "repeated": (
        "ds = tf.data.Dataset.from_tensor_slices((x, y)).repeat().batch(BATCH)\nsteps = len(x) // BATCH\n",
        "ds, steps_per_epoch=steps",
        "steps",
    ),
}
LAYERS = "[keras.Input((2,)), layers.Dense(4, activation='tanh'), layers.Dense(1)]"
COMPILE = "model.compile({optimizer}, loss='mse')\n"
OWN_STEP = f"""\
class Net(keras.Model):
    def __init__(self, net):
        super().__init__()
        self.net, self.steps = net, keras.Variable(0, dtype="int32", trainable=False)
    def call(self, rows):
        return self.net(rows)
    def train_step(self, data):
        rows, wanted = data
        weight = ops.minimum(1.0, 0.1 + ops.cast(self.steps, "float32") / @steps(30))
        with tf.GradientTape() as tape:
            loss = weight * self.compute_loss(x=rows, y=wanted, y_pred=self(rows, training=True))
        gradients = tape.gradient(loss, self.net.trainable_weights)
        self.optimizer.apply(gradients, self.net.trainable_weights)
        self.steps.assign_add(1)
        return {{"loss": loss}}
net = keras.Sequential({LAYERS})
model = Net(net)
model(x[:1])
"""
MODELS = {
    "plain": f"net = model = keras.Sequential({LAYERS})\n",
    "functional": "rows = keras.Input((2,))\nnet = model = keras.Model(rows, layers.Dense(1)(layers.Dense(4, 'gelu')(rows)))\n",
    "own_step": OWN_STEP,
}
OPTIMIZERS = {
    "momentum": "keras.optimizers.SGD({rate}, momentum=0.9, nesterov=True)",
    "clipped": "keras.optimizers.AdamW(learning_rate={rate}, weight_decay=0.01, global_clipnorm=0.5)",
    "averaged": "keras.optimizers.Adam({rate}, use_ema=True, ema_momentum=@kept(0.9), ema_overwrite_frequency=@some(12))",
    "gathered": "keras.optimizers.Adam({rate}, gradient_accumulation_steps=2)",
    "scaled": "keras.optimizers.LossScaleOptimizer(keras.optimizers.Adam({rate}), initial_scale=256.0)",
    "several": "keras.optimizers.MultiOptimizer(keras.optimizers.OptimizerMap(keras.optimizers.Adam({rate})))",
}
OWN_SCHEDULE = """\
class Warmup(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, rate, warm, total):
        self.rate, self.warm, self.total = rate, warm, total
    def __call__(self, step):
        step = ops.cast(step, "float32")
        down = 0.5 * self.rate * (1 + ops.cos(math.pi * (step - self.warm) / float(self.total - self.warm)))
        return ops.where(step < self.warm, self.rate * step / self.warm, down)
"""
RATES = {
    "number": ("", "@rate(0.01)"),
    "cosine": (
        "",
        "keras.optimizers.schedules.CosineDecay(@rate(0.001), EPOCHS * {length} - @some(8), warmup_target=@rate(0.01), "
        "warmup_steps=@some(8))",
    ),
    "pieces": (
        "",
        "keras.optimizers.schedules.PiecewiseConstantDecay([@some(16), @some(32)], [@rate(0.01), @rate(0.005), @rate(0.001)])",
    ),
    "own": (OWN_SCHEDULE, "Warmup(@rate(0.01), @some(8), EPOCHS * {length})"),
}
CALLBACK = "class Own(keras.callbacks.Callback):\n{}"
BEGINS = "    def __init__(self):\n        super().__init__()\n        self.step = 0\n"
CALLBACKS = {  # what is defined, the callback, and whether it sets the rate
    "none": ("", "", False),
    "not_finite": ("", "keras.callbacks.TerminateOnNaN()", False),
    "early": ("", "keras.callbacks.EarlyStopping(monitor='loss', patience=0, min_delta=0.2)", False),
    "plateau": (
        "",
        "keras.callbacks.ReduceLROnPlateau(monitor='loss', patience=0, min_delta=1.0, factor=0.5)",
        True,
    ),
    "by_iterations": (
        CALLBACK.format(
            "    def on_train_batch_begin(self, batch, logs=None):\n"
            "        done = ops.convert_to_numpy(self.model.optimizer.iterations)\n"
            "        self.model.optimizer.learning_rate = @rate(0.01) * 0.5 ** (done / @steps(20))\n"
        ),
        "Own()",
        True,
    ),
    "own_count": (
        CALLBACK.format(
            BEGINS + "    def on_train_batch_begin(self, batch, logs=None):\n"
            "        self.model.optimizer.learning_rate.assign(@rate(0.01) * min(1.0, (self.step + @one(1)) / @steps(20)))\n"
            "        self.step += 1\n"
        ),
        "Own()",
        True,
    ),
    "stops": (
        CALLBACK.format(
            BEGINS + "    def on_train_batch_end(self, batch, logs=None):\n        self.step += 1\n"
            "        if self.step >= @some(24):\n            self.model.stop_training = True\n"
        ),
        "Own()",
        False,
    ),
    "mixes": (
        CALLBACK.format(
            "    def on_train_begin(self, logs=None):\n        self.kept = self.model.get_weights()\n"
            "    def on_train_batch_end(self, batch, logs=None):\n"
            "        pairs = zip(self.kept, self.model.get_weights())\n"
            "        self.kept = [@kept(0.9) * k + (1 - @kept(0.9)) * w for k, w in pairs]\n"
            "    def on_train_end(self, logs=None):\n        self.model.set_weights(self.kept)\n"
        ),
        "Own()",
        False,
    ),
}
FITS = {
    "once": "model.fit({data}, epochs=EPOCHS, verbose=0, callbacks=[{callbacks}])\n",
    "again": "for epoch in range(EPOCHS):\n"
    "    model.fit({data}, epochs=epoch + 1, initial_epoch=epoch, verbose=0, callbacks=[{callbacks}])\n",
    "tuned": "model.fit({data}, epochs=1, verbose=0, callbacks=[{callbacks}])\nnet.layers[-1].trainable = False\n"
    "{compile}model.fit({data}, epochs=EPOCHS, initial_epoch=1, verbose=0)\n",
}
KEEPS = "TAKEN += [[float(n) for w in net.get_weights() for n in w.ravel()]]\n"
_FILLED = re.compile(r"@(\w+)\(([\d.e-]+)\)")


@dataclass(frozen=True)
class Program:
    """What is in it, and its text, in which numbers stand as `@rate(0.01)`."""

    name: str
    template: str

    def of(self, ranks: int) -> str:
        """The program that an expert would write for one process that does what so many ranks do."""

        def number(found: re.Match[str]) -> str:
            kind, given = found.groups()
            one_process = {"rate": "{0} * {1}", "rows": "{0} * {1}", "steps": "{0} / {1}", "one": "{0} / {1}"}
            how = one_process | {"some": "max(1, {0} // {1})", "kept": "{0} ** {1}"}
            return given if ranks == 1 else f"({how[kind].format(given, ranks)})"

        return _FILLED.sub(number, self.template)


def every() -> list[Program]:
    """All of them."""
    chosen = itertools.product(DATA, MODELS, OPTIMIZERS, RATES, CALLBACKS, FITS)
    return [Program(", ".join(parts), _text(*parts)) for parts in chosen if _fit_together(*parts)]


def some(number: int, seed: int) -> list[Program]:
    """Some of them, by chance but for the seed."""
    return random.Random(seed).sample(every(), number)


def _fit_together(data: str, model: str, optimizer: str, rate: str, callback: str, fit: str) -> bool:
    sets_rate = CALLBACKS[callback][2]
    if optimizer == "several" and (sets_rate or model == "own_step"):
        return False  # Keras lets its rate be neither read nor set
    if model == "own_step" and (fit == "tuned" or data == "validated"):
        return False
    return not (sets_rate and rate != "number") and not (callback == "mixes" and fit != "once")


def _text(data: str, model: str, optimizer: str, rate: str, callback: str, fit: str) -> str:
    defined, given, length = DATA[data]
    schedule, made = RATES[rate]
    own, called, _ = CALLBACKS[callback]
    compiled = COMPILE.replace("{optimizer}", OPTIMIZERS[optimizer].replace("{rate}", made)).replace(
        "{length}", length
    )
    trains = FITS[fit].format(data=given, callbacks=called, compile=compiled)
    return HEAD + defined + MODELS[model] + textwrap.dedent(schedule) + own + compiled + trains + KEEPS
