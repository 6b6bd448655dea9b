"""K3: library callbacks that stop by what one rank sees stop all ranks; D2: `flow` of a class that isn't Keras'."""

from __future__ import annotations

import pytest

from ..pairs import MODEL, plan_of

HEAD = (
    MODEL
    + "from tensorflow.keras import callbacks as c\nimport tensorflow_addons as tfa\nmodel.compile('sgd')\n"
)
NAN, END = "on_train_batch_end", "on_epoch_end"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("model.fit(x, y, callbacks=[c.TerminateOnNaN()])", f"stops_together(c.TerminateOnNaN(), '{NAN}')]"),
        ("nan = c.TerminateOnNaN()\nmodel.fit(x, y, callbacks=[nan])", f"nan = stops_together(c.TerminateOnNaN(), '{NAN}')\n"),
        ("mine = []\nmine.append(c.TerminateOnNaN())\nmodel.fit(x, y, callbacks=mine)",
         f"mine.append(stops_together(c.TerminateOnNaN(), '{NAN}'))"),
        ("model.fit(x, y, callbacks=[tfa.callbacks.TimeStopping(5)])",
         f"stops_together(tfa.callbacks.TimeStopping(5), '{END}')]"),
    ],
)  # fmt: skip
def test_ranks_stop_together(before: str, after: str) -> None:
    text = plan_of(HEAD + before).text
    assert after in text
    assert text.count("stops_together(") == 2


@pytest.mark.parametrize(
    "callback", ["c.EarlyStopping('loss')", "c.History()", "c.ReduceLROnPlateau()", "c.CSVLogger('a.csv')"]
)
def test_others_stay(callback: str) -> None:
    assert "stops_together" not in plan_of(HEAD + f"model.fit(x, y, callbacks=[{callback}])").text


FLOW = """\
import tensorflow as tf
from tensorflow.keras.preprocessing.image import ImageDataGenerator
from graphs import Generator
class Own(ImageDataGenerator):
    pass
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), 'mse')
"""


def test_a_flow_of_another_library_is_asked_about_with_its_targets() -> None:
    plan = plan_of(FLOW + "feed = Generator(graph).flow(index, targets=labels)\nmodel.fit(feed)\n")
    assert ".flow(shard(index), targets=shard(labels))" in plan.text
    assert any("isn't Keras' own" in c.doubt for c in plan.changes)


@pytest.mark.parametrize("made", ["ImageDataGenerator()", "Own()", "given"])
def test_a_flow_of_keras_is_not(made: str) -> None:
    plan = plan_of(FLOW + f"feed = {made}.flow(images, labels)\nmodel.fit(feed)\n")
    assert ".flow(shard(images), shard(labels))" in plan.text
    assert not any("isn't Keras' own" in c.doubt for c in plan.changes)
