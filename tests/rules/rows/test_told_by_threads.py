"""K4: what deals out a sequence that workers read ahead is told of the end of an epoch by `fit` alone."""

from __future__ import annotations

import re
import threading
import types
from typing import Any

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

ROWS = """\
import numpy as np
import tensorflow as tf
class Rows(tf.keras.utils.Sequence):
    def __init__(self):
        self.order = np.arange(64)
    def __len__(self):
        return 8
    def __getitem__(self, i):
        return self.order[i * 8:(i + 1) * 8], self.order[i * 8:(i + 1) * 8]
    def on_epoch_end(self):
        np.random.shuffle(self.order)
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
"""
FLOW = """\
import tensorflow as tf
data = tf.keras.preprocessing.image.ImageDataGenerator().flow_from_directory('x')
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile('adam', 'mse')
"""
ONCE = "threading.get_ident() == self.thread"


@pytest.mark.parametrize(
    ("script", "fit"),
    [
        (ROWS, "model.fit(Rows(), epochs=3, workers=4)"),
        (ROWS, "model.fit(Rows(), epochs=3, use_multiprocessing=True)"),
        (ROWS, "import os\nmodel.fit(Rows(), epochs=3, workers=os.cpu_count())"),
        (ROWS, "model.fit_generator(Rows(), epochs=3, workers=2)"),
        (FLOW, "model.fit(data, epochs=3, workers=4)"),
    ],
)
def test_only_the_thread_of_fit_is_heard(script: str, fit: str) -> None:
    text = plan_of(f"{script}{fit}\n").text
    assert text.count(ONCE) == 1
    assert text.count("self.thread = threading.get_ident()") == text.count("\nimport threading\n") == 1


@pytest.mark.parametrize(
    "fit",
    [
        "model.fit(Rows(), epochs=3)",
        "model.fit(Rows(), epochs=3, workers=1)",
        "model.fit(Rows(), epochs=3, workers=0, use_multiprocessing=False)",
    ],
)
def test_without_a_thread_nothing_is_asked(fit: str) -> None:
    text = plan_of(f"{ROWS}{fit}\n").text
    assert "threading" not in text
    assert "class ShardedSequence" in text


@pytest.mark.parametrize(
    ("made", "asks"),
    [
        ("Rows()", False),
        ("Rows(workers=1)", False),
        ("Rows(workers=4)", True),
        ("Rows(use_multiprocessing=True)", True),
    ],
)
def test_data_sets_of_keras_3_say_themselves_how_they_are_read(made: str, asks: bool) -> None:
    """Keras 3.0 to 3.4 have such a thread."""
    script = ROWS.replace(
        "def __init__(self):", "def __init__(self, **read):\n        super().__init__(**read)"
    )
    plan = distribute(
        summarize(Document(f"{script}model.fit({made}, epochs=3)\n")), Options(tensorflow="2.17")
    )
    assert isinstance(plan, Plan)
    assert (ONCE in plan.text) is asks


def test_rows_of_each_batch_are_of_one_order_too() -> None:
    script = ROWS.replace("def __init__(self):", "def __init__(self, batch):\n        self.batch = batch")
    script = script.replace("[i * 8:(i + 1) * 8]", "[i * self.batch:(i + 1) * self.batch]")
    fit = "BATCH = 8\nmodel.fit(Rows(BATCH), epochs=3, workers=4)\n"
    plan = distribute(summarize(Document(script + fit)), Options(batch="global"))
    assert isinstance(plan, Plan)
    assert "class SharedSequence" in plan.text
    assert plan.text.count(ONCE) == 1


def test_what_another_thread_says_is_not_heard() -> None:
    text = plan_of(ROWS + "model.fit(Rows(), epochs=3, workers=4)\n").text
    found = re.search(r"^class ShardedSequence.*?\n(?=\S)", text, re.DOTALL | re.MULTILINE)
    assert found is not None
    utils = types.SimpleNamespace(Sequence=object)
    names: dict[str, Any] = {
        "tf": types.SimpleNamespace(keras=types.SimpleNamespace(utils=utils)),
        "hvd": types.SimpleNamespace(rank=lambda: 0, size=lambda: 2),
        "threading": threading,
    }
    exec(found.group(), names)
    ends: list[int] = []
    sequence = names["ShardedSequence"](types.SimpleNamespace(on_epoch_end=lambda: ends.append(1)))
    sequence.on_epoch_end()
    assert ends == [1]
    other = threading.Thread(target=sequence.on_epoch_end)
    other.start()
    other.join()
    assert ends == [1]
