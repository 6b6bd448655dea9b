"""What distributing makes is read again: a result that would train wrong or wait forever is refused, not written."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Refusal
from horovodize.rules import patterns
from horovodize.rules.loops import dealing_calls
from horovodize.source import Document
from horovodize.summary import summarize

COUNTED = """\
import itertools
import numpy as np
import tensorflow as tf

numbers = itertools.count()
rows = np.load("rows.npy")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)


def step(x):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x))
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))


def batches(seed):
    random = np.random.RandomState(seed)
    while True:
        yield rows[random.randint(0, 900, 16)]


batch = batches(3)
for i in range(1000):
    if next(numbers) > 2:
        step(next(batch))
"""


def outcome(text: str) -> Plan | Refusal:
    found = distribute(summarize(Document(text, "train.py")), Options())
    assert isinstance(found, (Plan, Refusal))
    return found


def test_a_right_result_is_written() -> None:
    assert isinstance(outcome(COUNTED), Plan)


def test_a_result_in_which_ranks_would_wait_for_ever_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule as it was once: numbers that count were dealt out like batches, and each rank went by its own."""
    monkeypatch.setattr(dealing_calls, "_NUMBERS", ())
    found = outcome(COUNTED)
    assert isinstance(found, Refusal)
    assert [r.code for r in found.reasons] == ["HVD006"]
    assert "HVD331" in found.reasons[0].message


def test_a_result_that_averages_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the rule that wraps the tape."""
    without = [r for r in patterns.rules_for(summarize(Document(COUNTED, "train.py")).kinds) if r.id != "G1"]
    monkeypatch.setattr("horovodize.distribute.rules_for", lambda kinds: without)
    found = outcome(COUNTED)
    assert isinstance(found, Refusal)
    assert "HVD304" in found.reasons[0].message


MONITORED = """\
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
rows = tf.data.Dataset.from_tensor_slices(tf.zeros((800, 5))).repeat().batch(20)
loss = tf.reduce_mean(tf.layers.dense(tf.data.make_one_shot_iterator(rows).get_next(), 1) ** 2)
step = tf.train.get_or_create_global_step()
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
hooks = [tf.train.StopAtStepHook(last_step=200), {hook}]
with tf.train.MonitoredTrainingSession(hooks=hooks) as session:
    while not session.should_stop():
        session.run(train)
"""


@pytest.mark.parametrize(
    "hook",
    [
        'tf.train.LoggingTensorHook({"loss": loss}, every_n_iter=50)',
        "tf.train.NanTensorHook(loss)",
        'tf.train.SummarySaverHook(summary_op=tf.summary.scalar("loss", loss), save_steps=50, output_dir="events")',
    ],
)
def test_hooks_that_only_look_at_a_ranks_own_loss_end_nothing(hook: str) -> None:
    source = MONITORED.replace("{hook}", hook)
    assert isinstance(distribute(summarize(Document(source)), Options()), Plan)
