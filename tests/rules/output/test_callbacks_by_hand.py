"""C6: callbacks that write, called by a loop of the program's own."""

from __future__ import annotations

import pytest

from ..pairs import changes, plan_of

HEAD = """\
import numpy as np
import tensorflow as tf
from tensorflow.keras.callbacks import Callback, CSVLogger, EarlyStopping, ModelCheckpoint, TensorBoard
rows = np.load('rows.npy')
model = tf.keras.Sequential([tf.keras.layers.Dense(4)])
model.compile(loss='mse', optimizer=tf.keras.optimizers.Adam(1e-3))
"""
LOOP = """\
for turn in range(1000):
    batch = rows[np.random.randint(0, len(rows), 16)]
    loss = model.train_on_batch(batch, batch)
    {}
"""
SILENT = " if hvd.rank() == 0 else SilentWriter()\n"
EPOCH = "board.on_epoch_end(turn, {'loss': loss})"
OWN = "class Board(TensorBoard):\n    def note(self, value):\n        self.value = value\n"


def silent(made: str, used: str = EPOCH, after: str = "") -> tuple[bool, bool]:
    """Whether the callback is a silent one on other ranks, and whether it is asked about."""
    plan = plan_of(HEAD + made + LOOP.format(used) + after)
    asked = [c for c in changes(plan, "C6") if not c.sure]
    return SILENT in plan.text, bool(asked)


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("board = EarlyStopping()\n", EPOCH),  # writes nothing
        ("class Own(Callback):\n    pass\nboard = Own()\n", EPOCH),
        ("board = TensorBoard('logs')\n", "pass"),  # nobody calls it
        ("board = make()\n", EPOCH),  # not seen
    ],
)
def test_other_callbacks_are_left(made: str, used: str) -> None:
    assert silent(made, used) == (False, False)


def test_one_that_fit_calls_is_left_to_fit() -> None:
    fit = "model.fit(rows, rows, callbacks=[board])\n"
    assert silent("board = TensorBoard('logs')\n", "pass", fit) == (False, False)


def test_one_in_a_list_for_fit_is_left_out_once() -> None:
    made = "board = [TensorBoard('logs')]\nfor one in board:\n    one.set_model(model)\n"
    assert silent(made, "pass", "model.fit(rows, rows, callbacks=board)\n") == (False, False)


@pytest.mark.parametrize(
    ("made", "used"),
    [
        ("board = TensorBoard('logs')\nboard.set_model(model)\n", EPOCH),
        ("board = CSVLogger('log.csv')\nboard.on_train_begin()\n", EPOCH),
        ("board = ModelCheckpoint('m.h5')\nboard.model = model\n", EPOCH),
        ("def log(to):\n    to.on_epoch_end(1, {})\nboard = TensorBoard('logs')\n", "log(board)"),
        (OWN + "board = Board('logs')\n", EPOCH + "\n    board.note(1)"),
    ],
)
def test_rank_0_s_callback_writes(made: str, used: str) -> None:
    assert silent(made, used) == (True, False)


@pytest.mark.parametrize("used", ["board.writer.flush()", "best = board.best", "x = board.note(1)"])
def test_what_is_read_from_a_callback_is_asked(used: str) -> None:
    assert silent("board = TensorBoard('logs')\n", f"{EPOCH}\n    {used}") == (False, True)


LISTED = """\
import keras
import tensorflow as tf
from keras.callbacks import CallbackList, CSVLogger, EarlyStopping
model = keras.Sequential([keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1)
{made}
for epoch in range(3):
    for x in data:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(model(x) ** 2)
        optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    callbacks.on_epoch_end(epoch, {{"loss": loss}})
"""


@pytest.mark.parametrize(
    "made",
    [
        "callbacks = CallbackList([EarlyStopping(), CSVLogger('log')], model=model)",
        "listed = [EarlyStopping(), CSVLogger('log')]\ncallbacks = CallbackList(listed, model=model)",
        "callbacks = keras.callbacks.CallbackList(callbacks=[CSVLogger('log')], add_history=True)",
    ],
)
def test_of_a_list_that_a_loop_calls_those_that_write_stay_on_rank_0(made: str) -> None:
    text = plan_of(LISTED.format(made=made), tensorflow="2.21").text
    assert "*([CSVLogger('log')] if hvd.rank() == 0 else [])" in text
    assert "SilentWriter" not in text


def test_a_list_of_those_that_write_nothing_stays() -> None:
    made = "callbacks = CallbackList([EarlyStopping()], model=model)"
    assert made in plan_of(LISTED.format(made=made), tensorflow="2.21").text


def test_a_list_that_fit_is_given_is_extended_where_it_is_made() -> None:
    """It can't be put into another list."""
    source = """\
import keras
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
callbacks = keras.callbacks.CallbackList([keras.callbacks.CSVLogger("log")], model=model)
model.fit(x, y, callbacks=callbacks)
"""
    text = plan_of(source, tensorflow="2.21").text
    assert (
        "CallbackList([\n    hvd.callbacks.BroadcastGlobalVariablesCallback(0),\n    hvd.callbacks.Metric"
        in text
    )
    assert "callbacks=callbacks," in text
