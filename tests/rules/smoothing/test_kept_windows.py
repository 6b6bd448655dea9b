"""G7: windows over a rank's last losses by which it decides."""

from __future__ import annotations

import pytest

from ..pairs import plan_of

PROGRAM = """\
import collections
import numpy as np
import tensorflow as tf
K = 20
window = collections.deque(maxlen={size})
ds = tf.data.Dataset.from_tensor_slices(np.zeros((1600, 3))).shuffle(1600).repeat().batch(4)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.SGD(0.1)
for step, x in enumerate(ds.take(9000)):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    window.append({item})
    if {test}:
        {then}
"""


def distributed(test: str, then: str = "break", item: str = "float(loss)", size: str = "20") -> str:
    return plan_of(PROGRAM.format(test=test, then=then, item=item, size=size)).text


@pytest.mark.parametrize(
    ("test", "after"),
    [
        ("np.mean(window) < 0.1", ""),
        ("len(window) == 20 and np.mean(window) < 0.1", "len(window) == max(1, 20 // hvd.size())"),
        ("len(window) >= 20 and sum(window) / len(window) < 0.1", "len(window) >= max(1, 20 // hvd.size())"),
        ("len(window) == 20 and sum(window) / 20 < 0.1", "sum(window) / max(1, 20 // hvd.size())"),
    ],
)
def test_a_window_holds_the_losses_of_as_many_rows(test: str, after: str) -> None:
    text = distributed(test)
    assert "window = collections.deque(maxlen=max(1, 20 // hvd.size()))\n" in text
    assert after in text


def test_a_length_that_has_a_name_is_divided_where_it_is_used() -> None:
    text = distributed("len(window) == K and np.mean(window) < 0.1", size="K")
    assert "window = collections.deque(maxlen=max(1, K // hvd.size()))\n" in text
    assert "len(window) == max(1, K // hvd.size())" in text


def test_a_sum_over_a_window_is_asked_about() -> None:
    plan = plan_of(PROGRAM.format(test="sum(window) < 3", then="break", item="float(loss)", size="20"))
    assert any("their sum is taken" in c.doubt for c in plan.changes)


@pytest.mark.parametrize(
    ("test", "then", "item"),
    [
        ("step % 100 == 0", "print(np.mean(window))", "float(loss)"),  # only shown
        ("len(window) == 20", "break", "x"),  # kept for something else
    ],
)
def test_other_windows_are_left(test: str, then: str, item: str) -> None:
    assert "window = collections.deque(maxlen=20)\n" in distributed(test, then, item)


def cut(then: str, test: str = "np.mean(window) < 0.1", item: str = "float(loss)") -> str:
    lines = PROGRAM.replace("window = collections.deque(maxlen={size})", "window = []")
    lines = lines.replace("    if {test}:", f"    {then}\n    if {{test}}:")
    return plan_of(lines.format(test=test, then="break", item=item)).text


@pytest.mark.parametrize(
    ("then", "after"),
    [
        ("if len(window) > 20: window.pop(0)", "if len(window) > max(1, 20 // hvd.size()): window.pop(0)"),
        ("if len(window) > K: del window[0]", "if len(window) > max(1, K // hvd.size()): del window[0]"),
        (
            "if len(window) > 20: window = window[1:]",
            "if len(window) > max(1, 20 // hvd.size()): window = window[1:]",
        ),
        ("window = window[-20:]", "window = window[-max(1, 20 // hvd.size()):]"),
        ("window[:] = window[-20:]", "window[:] = window[-max(1, 20 // hvd.size()):]"),
        ("del window[:-K]", "del window[:-max(1, K // hvd.size())]"),
    ],
)
def test_a_list_that_gives_its_first_away_is_such_a_window(then: str, after: str) -> None:
    assert after in cut(then)


def test_the_test_of_a_full_list_goes_with_what_cuts_it() -> None:
    text = cut(
        "if len(window) > 20: window.pop(0)", "len(window) == 20 and np.std(window) < 0.1 or window.clear()"
    )
    assert "len(window) > max(1, 20 // hvd.size())" in text
    assert "len(window) == max(1, 20 // hvd.size()) and" in text


def test_a_full_list_by_which_no_mean_decides_keeps_both_numbers() -> None:
    """It is cut where it would be longer than 20, and emptied where it has 20: half of that is passed by once."""
    text = cut("if len(window) > 20: window.pop(0)", "len(window) == 20 and not window.clear()", "x")
    assert "if len(window) > 20: window.pop(0)" in text
    assert "len(window) == 20 and" in text


@pytest.mark.parametrize(
    ("then", "test", "item"),
    [
        ("if len(window) > 20: window.pop(0)", "len(window) == 20 and step > 8000", "x"),  # batches
        ("if len(window) > 20: window.pop()", "np.mean(window) < 0.1", "float(loss)"),  # the first 20 stay
        ("window = window[:20]", "np.mean(window) < 0.1", "float(loss)"),
    ],
)
def test_other_lists_are_no_windows(then: str, test: str, item: str) -> None:
    assert f"    {then}\n" in cut(then, test, item)


CALLBACK = """\
import collections
import numpy as np
import tensorflow as tf
x, y = np.load("x.npy"), np.load("y.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile("sgd", "mse")
class Plateau(tf.keras.callbacks.Callback):
    def __init__(self, size):
        super().__init__()
        {made}
    def on_train_batch_end(self, batch, logs=None):
        self.window.append({item})
    def on_epoch_end(self, epoch, logs=None):
        mean = float(np.mean(self.window))
        if mean > self.last:
            {then}
        self.last = mean
model.fit(x, y, batch_size=16, epochs=4, callbacks=[Plateau(20)])
"""
STOP = "self.model.stop_training = True"


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("self.window, self.last = collections.deque(maxlen=20), 9", "collections.deque(maxlen=max(1, 20 // hvd.size())), 9"),
        ("self.last, self.window = 9.0, collections.deque([], size)", "collections.deque([], max(1, size // hvd.size()))"),
    ],
)  # fmt: skip
def test_of_a_callback_that_is_made_beside_others(made: str, after: str) -> None:
    assert after in plan_of(CALLBACK.format(made=made, item="logs['loss']", then=STOP)).text


BY_CALLBACK = """\
import collections
import numpy as np
import tensorflow as tf
class Plateau(tf.keras.callbacks.Callback):
    def __init__(self, window=50):
        super().__init__()
        self.held, self.window = collections.deque(maxlen=window), window
        self.last, self.step = 9.0, 0
    def on_train_batch_end(self, batch, logs=None):
        self.held.append(logs["loss"])
        self.step += 1
        if self.step % self.window == 0:
            now = {}
            if now > self.last:
                self.model.optimizer.learning_rate.assign(self.model.optimizer.learning_rate * 0.5)
            self.last = now
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
model.fit(np.ones((960, 3)), np.ones(960), batch_size=8, epochs=9, callbacks=[Plateau()])
"""


def test_an_event_that_comes_when_a_window_is_full_comes_as_often() -> None:
    """It came size() times too seldom, and was said to be the size of what is filled."""
    plan = plan_of(BY_CALLBACK.format("sum(self.held) / len(self.held)"))
    assert "collections.deque(maxlen=max(1, window // hvd.size()))" in plan.text
    assert "        if self.step * hvd.size() % self.window < hvd.size():\n" in plan.text
    assert "any_rank(self.step" not in plan.text
    assert not any("size of what is filled" in note.message for note in plan.notes)


def test_one_that_is_shown_stays_as_long_as_what_it_holds() -> None:
    plan = plan_of(BY_CALLBACK.format("self.held[0]"))
    assert "collections.deque(maxlen=window)" in plan.text
    assert any("size of what is filled" in note.message for note in plan.notes)


def test_a_window_of_the_weights_after_the_last_steps() -> None:
    source = PROGRAM.format(test="False", then="break", item="model.get_weights()", size="20")
    mean = "model.set_weights([np.mean(w, axis=0) for w in zip(*window)])\n"
    assert "deque(maxlen=max(1, 20 // hvd.size()))" in plan_of(source + mean).text
    every = source.replace("    window.append", "    if step % 100 == 0: window.append")
    assert "deque(maxlen=20)" in plan_of(every + mean).text  # it comes as often for the rows
