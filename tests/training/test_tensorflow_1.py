"""What scripts of TensorFlow 1 find when they import it under the probe, and that nobody else finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.running import train

pytestmark = [pytest.mark.training, pytest.mark.timeout(300)]

SCRIPT = """
import horovod.tensorflow
import tensorflow as tf
import tensorflow.keras.backend as K
import tensorflow.compat.v1 as v1
from tensorflow import keras
from tensorflow.examples.tutorials.mnist import input_data
from tensorflow.keras.layers import Dense
from tensorflow.python.framework import ops
import tensorflow.examples.tutorials.mnist.input_data as again

def error(source):
    try:
        exec(source)
    except Exception as e:
        return type(e).__name__

x = tf.placeholder(tf.float32, [None])
v = tf.get_variable("v", [])
print(tf.Session is v1.Session, keras.layers.Dense is Dense, K is v1.keras.backend, again is input_data)
print(tf.executing_eagerly(), ops.get_default_graph() is x.graph, type(v).__name__)
print(hasattr(horovod.tensorflow.tf, "Session"), hasattr(horovod.tensorflow.tf, "function"))
print(error("import tensorflow.contrib"), error("from tensorflow.contrib import rnn"), error("from tensorflow import contrib"))
print(error("tf.contrib"), error("import tensorflow.nothing"), error("tf.nothing"))

mnist = input_data.read_data_sets("anywhere", one_hot=True)
images, labels = mnist.train.next_batch(30)
print(images.shape, labels.shape, labels.sum(), 0 <= images.min() < images.max() <= 1)
for _ in range(-(-mnist.train.num_examples // 30)):
    images, labels = mnist.train.next_batch(30)
print(len(images), mnist.train.epochs_completed)
print(mnist.test.images.shape, input_data.read_data_sets(".").validation.labels.shape)
"""

SAYS = """
True True True True
False True RefVariable
False True
ModuleNotFoundError ModuleNotFoundError ImportError
AttributeError ModuleNotFoundError AttributeError
(30, 784) (30, 10) 30.0 True
30 1
(100, 784) (60,)
"""


def test_a_script_of_tensorflow_1_finds_what_it_knew_and_horovod_the_real_one(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    run = train(script, tmp_path / "run", tf1=True)
    assert run.complete, run.why()
    assert run.reports[0]["stdout"].split("\n") == SAYS.lstrip().split("\n")


def test_a_script_of_tensorflow_2_finds_tensorflow_2(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import tensorflow as tf\nprint(tf.executing_eagerly(), hasattr(tf, 'Session'))\n", encoding="utf-8"
    )
    assert train(script, tmp_path / "run").reports[0]["stdout"] == "True False\n"
