"""G5: fields and items that callbacks set while training goes on."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import time
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse", run_eagerly=True)
config = {{"p": 0.0}}
class Data:
    p = 0.0
    def set(self, p):
        self.p = p
data = Data()
class Changes(tf.keras.callbacks.Callback):
    def __init__(self, layer, total):
        super().__init__()
        self.layer, self.total = layer, total
        self.n, self.rows, self.sum, self.heat, self.begun = 0, 0, 0.0, 1.0, time.time()
    def {hook}(self, batch, logs=None):
        {before}
        {line}
    def sparsity(self):
        return 1 - (1 - (self.n - 100) / 400) ** 3
    def prune(self, share):
        self.model.set_weights([v * (np.abs(v) > np.quantile(np.abs(v), share)) for v in self.model.get_weights()])
    def on_train_batch_end(self, batch, logs=None):
        self.n += 1
        self.rows += 16
        self.sum += logs["loss"]
model.fit(x, y, batch_size=16, epochs=4, callbacks=[Changes(model.layers[1], 500)])
"""


def distributed(line: str, hook: str = "on_train_batch_begin", before: str = "pass") -> str:
    return plan_of(PROGRAM.format(line=line, hook=hook, before=before)).text


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("self.layer.rate = 0.5 * (1 - self.n / self.total)", "0.5 * (1 - self.n * hvd.size() / self.total)"),
        ("self.layer.rate = 0.5 * 0.99 ** self.n", "0.99 ** (self.n * hvd.size())"),
        ("self.model.p = self.layer.rate = self.n / 500", "self.model.p = self.layer.rate = self.n * hvd.size() / 500"),
        ("setattr(self.layer, 'rate', min(0.5, self.n / 500))", "'rate', min(0.5, self.n * hvd.size() / 500))"),
        ("data.set(min(1.0, self.n / 100))", "data.set(min(1.0, self.n * hvd.size() / 100))"),
        ("config['p'] = min(1.0, self.n / 100)", "config['p'] = min(1.0, self.n * hvd.size() / 100)"),
        ("part = self.n / 500; self.layer.rate = 1 - part", "part = self.n * hvd.size() / 500"),
        ("self.layer.rate = 0.5 * (1 - batch / 500)", "0.5 * (1 - batch * hvd.size() / 500)"),
        ("self.layer.rate *= 0.99", "self.layer.rate *= 0.99 ** hvd.size()"),
        ("self.layer.rate = max(0.1, self.layer.rate - 0.001)", "max(0.1, self.layer.rate - 0.001 * hvd.size())"),
        ("for l in self.model.layers: l.rate = self.n / 500", "l.rate = self.n * hvd.size() / 500"),
        ("w = 0.99 ** self.n; self.model.set_weights([v * w for v in self.start])", "w = 0.99 ** (self.n * hvd.size())"),
        ("self.prune((self.n - 100) / 400)", "self.prune((self.n * hvd.size() - 100) / 400)"),
    ],
)  # fmt: skip
def test_a_formula_is_told_the_batches_of_all_ranks(line: str, after: str) -> None:
    """On two ranks a `Dropout` rate came half the way."""
    assert after in distributed(line)


def test_what_a_method_computes_too() -> None:
    """Pruning was told a share below zero."""
    text = distributed("self.prune(self.sparsity())")
    assert "return 1 - (1 - (self.n * hvd.size() - 100) / 400) ** 3" in text


def test_where_an_epoch_ends_too() -> None:
    text = distributed("self.model.heat = 10 * 0.99 ** self.n", hook="on_epoch_end")
    assert "10 * 0.99 ** (self.n * hvd.size())" in text


def test_where_it_is_set_with_some_batches_only() -> None:
    text = distributed(
        "self.layer.rate = self.n / 500", before="if self.n % 10 == 0: self.layer.p = self.n / 400"
    )
    assert "self.layer.p = self.n * hvd.size() / 400" in text


@pytest.mark.parametrize(
    "line",
    [
        "self.model.mean = self.sum / self.n",  # of this rank's losses
        "self.model.mean = logs['loss'] / self.n",
        "self.model.seconds = (time.time() - self.begun) / self.n",
        "self.model.each = self.rows / self.n",  # both counted here
        "self.model.done = self.n / self.params['steps']",  # both a rank's
        "self.model.even = batch % 2",
        "self.model.n = self.n",
        "self.model.gate *= -1",
        "self.model.gate = 1 - self.model.gate",
        "self.heat = 0.9 * self.heat + 0.1 * logs['loss']",
        "self.layer.rate = 0.5",
        "smooth = self.heat / (1 - 0.9 ** self.n); self.heat = 0.9 * self.heat + (1 - 0.9) * logs['loss']",
        "far = 1 - 0.9 ** self.n; self.heat = (0.9 * self.heat + (1 - 0.9) * logs['loss']) / far",
        "each = self.rows / self.n; self.model.each = each",
        "seconds = (time.time() - self.begun) / self.n",
        "done = self.n / self.params['steps']",
    ],
)
def test_what_is_measured_here_or_no_formula_stays(line: str) -> None:
    assert f"        {line}\n" in distributed(line)


@pytest.mark.parametrize(
    ("line", "hook"),
    [
        ("self.layer.rate = 0.5 * (1 - batch / 4)", "on_epoch_begin"),  # the number of an epoch
        ("self.layer.rate *= 0.9", "on_epoch_end"),
    ],
)
def test_what_goes_by_epochs_stays(line: str, hook: str) -> None:
    assert f"        {line}\n" in distributed(line, hook)


def test_what_halves_at_some_batches_stays() -> None:
    text = distributed("pass", before="if self.n % 100 == 0: self.layer.rate *= 0.5")
    assert "self.layer.rate *= 0.5\n" in text


ROWS = """\
import json
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
config = {config}
class Counts(tf.keras.callbacks.Callback):
    def __init__(self, batch_size):
        super().__init__()
        self.batch_size, self.seen = batch_size, 0
    def on_train_batch_end(self, batch, logs=None):
        self.seen += {by}
        self.model.part = min(1.0, self.seen / 5000)
        if self.seen % 1000 == 0:
            self.model.save_weights("w.h5")
model.fit(x, y, batch_size=16, epochs=4, callbacks=[Counts(16)])
"""


@pytest.mark.parametrize(
    ("config", "by"),
    [
        ("{'batch_size': 16}", "config['batch_size']"),
        ("{'batch_size': 16, 'rate': 0.1}", "config['batch_size']"),
        ("{'batch_size': 16}", "self.batch_size"),
        ("{'batch_size': 16}", "16"),
    ],
)
def test_rows_of_batches_are_told_once(config: str, by: str) -> None:
    """Both the count and what reads it were told."""
    text = plan_of(ROWS.format(config=config, by=by)).text
    counted, told = f"self.seen += {by} * hvd.size()" in text, "self.seen * hvd.size() / 5000" in text
    assert counted is not told


LOOP = """\
import time
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(8), tf.keras.layers.Dropout(0.5), tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Stats:
    rate, mean = 0.5, 0.0
    def set(self, rate):
        model.layers[1].rate = rate
stats, step, begun, total = Stats(), 0, time.time(), 0.0
for epoch in range(4):
    for i in range(len(x) // 16):
        loss = model.train_on_batch(x[i * 16:(i + 1) * 16], y[i * 16:(i + 1) * 16])
        total += loss
        step += 1
        {line}
    {later}
"""


@pytest.mark.parametrize(
    ("line", "after"),
    [
        ("model.layers[1].rate = 0.5 * (1 - step / 500)", "0.5 * (1 - step * hvd.size() / 500)"),
        ("for l in model.layers: l.rate = 0.5 * 0.99 ** step", "0.99 ** (step * hvd.size())"),
        ("stats.set(step / 500)", "stats.set(step * hvd.size() / 500)"),
        ("stats.rate *= 0.99", "stats.rate *= 0.99 ** hvd.size()"),
    ],
)
def test_a_loop_of_the_program_s_own_likewise(line: str, after: str) -> None:
    assert after in plan_of(LOOP.format(line=line, later="pass")).text


@pytest.mark.parametrize(
    ("line", "later"),
    [
        ("stats.mean = total / step", "pass"),
        ("stats.mean = (time.time() - begun) / step", "pass"),
        ("stats.mean = 0.9 * stats.mean + 0.1 * loss", "pass"),
        ("stats.mean = step % 2", "pass"),
        ("pass", "model.layers[1].rate *= 0.9"),
        ("pass", "model.layers[1].rate = 0.5 * (1 - epoch / 4)"),
    ],
)
def test_what_a_loop_measures_or_sets_by_epochs_stays(line: str, later: str) -> None:
    text = plan_of(LOOP.format(line=line, later=later)).text
    assert f"        {line}\n" in text
    assert f"    {later}\n" in text
