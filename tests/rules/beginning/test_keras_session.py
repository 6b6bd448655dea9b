"""S3 where Keras trains in a session of TensorFlow 1: the session is told its GPU; TensorFlow 2's way does not exist there."""

from __future__ import annotations

import pytest

from horovodize.distribute import distribute
from horovodize.plan import Refusal
from horovodize.source import Document
from horovodize.summary import summarize

from ..pairs import plan_of

TF1 = "import tensorflow as tf\ntf.set_random_seed(1)\n"
OWN = "from keras.models import Sequential\nfrom keras.layers import Dense\n"
KERAS = "from keras import backend as K\n" + OWN
FIT = "model = Sequential([Dense(1)])\nmodel.compile('adam', 'mse')\nmodel.fit(x, y)\n"


def test_a_script_for_tensorflow_2_is_pinned_as_ever() -> None:
    text = plan_of("import tensorflow as tf\n" + OWN + FIT).text
    assert "set_visible_devices" in text
    assert "ConfigProto" not in text
    assert "import horovod.tensorflow.keras as hvd" in text


@pytest.mark.parametrize(
    "both",
    [
        "tf.random.set_seed(1)\n",
        "if tf.__version__ < '2':\n    tf.set_random_seed(1)\n",
        "tf.compat.v1.set_random_seed(1)\n",
    ],
)
def test_a_script_for_both_is_pinned_as_in_tensorflow_2(both: str) -> None:
    assert "set_visible_devices" in plan_of(TF1 + both + KERAS + FIT).text


def test_keras_gets_a_session_with_a_pinned_config() -> None:
    text = plan_of(TF1.splitlines(True)[0] + KERAS + TF1.splitlines(True)[1] + FIT).text
    assert "visible_device_list=str(hvd.local_rank())))\n" in text
    assert "K.set_session(tf.Session(config=config))\n" in text
    assert "tf.config" not in text
    assert "import horovod.keras as hvd\n" in text


def test_a_session_that_the_script_sets_is_pinned() -> None:
    own = "config = tf.ConfigProto()\nK.set_session(tf.Session(config=config))\n"
    text = plan_of(TF1.splitlines(True)[0] + KERAS + own + FIT).text
    assert text.count("set_session") == 1
    assert (
        "config = tf.ConfigProto()\nconfig.gpu_options.visible_device_list = str(hvd.local_rank())\n" in text
    )


def test_the_rate_is_given_by_position_as_its_name_has_changed() -> None:
    text = plan_of(TF1 + KERAS + FIT).text
    assert "keras.optimizers.Adam(0.001 * hvd.size())" in text
    made = FIT.replace("'adam'", "Adam()")
    text = plan_of(TF1 + KERAS + "from keras.optimizers import Adam\n" + made).text
    assert "Adam(0.001 * hvd.size())" in text


def test_tensorflows_own_keras_keeps_its_horovod() -> None:
    source = TF1 + FIT.replace("Sequential([Dense(1)])", "tf.keras.Sequential([tf.keras.layers.Dense(1)])")
    text = plan_of(source).text
    assert "import horovod.tensorflow.keras as hvd\n" in text
    assert "tf.keras.backend.set_session(tf.Session(config=config))\n" in text


def test_steps_by_hand_are_followed_by_keras_own_broadcast() -> None:
    source = TF1 + KERAS + FIT.replace("model.fit(x, y)", "for a, b in data:\n    model.train_on_batch(a, b)")
    text = plan_of(source).text
    assert "hvd.broadcast_global_variables(0)\n" in text
    assert "broadcast_variables(" not in text.replace("broadcast_global_variables(", "")


@pytest.mark.parametrize("off", ["disable_eager_execution", "disable_v2_behavior"])
def test_keras_without_eager_execution_is_refused(off: str) -> None:
    """Measured with TensorFlow 2.15 and Horovod 0.28: the broadcast callback ends with an AttributeError."""
    source = f"import tensorflow as tf\ntf.compat.v1.{off}()\n" + OWN + FIT
    result = distribute(summarize(Document(source)))
    assert isinstance(result, Refusal)
    assert [(r.code, "get_session" in r.message) for r in result.reasons] == [("HVD006", True)]


@pytest.mark.parametrize(
    ("mode", "off", "fit", "is_refused"),
    [
        ("'fit'", "mode == 'graph'", "mode == 'fit'", False),  # the mode that is set
        ("'graph'", "mode == 'graph'", "mode == 'fit'", False),
        ("sys.argv[1]", "mode == 'graph'", "mode == 'fit'", False),  # one of them
        ("sys.argv[1]", "mode == 'graph'", "mode != 'eager'", True),
        ("'fit'", "mode == 'fit'", "mode == 'fit'", True),
        ("sys.argv[1]", "len(sys.argv) > 2", "mode == 'fit'", True),
    ],
)
def test_only_where_keras_trains_so(mode: str, off: str, fit: str, is_refused: bool) -> None:
    source = f"import sys\nimport tensorflow as tf\nmode = {mode}\nif {off}:\n    tf.compat.v1.disable_eager_execution()\n"
    source += OWN + FIT.replace("model.fit(x, y)", f"if {fit}:\n    model.fit(x, y)")
    result = distribute(summarize(Document(source)))
    assert isinstance(result, Refusal) == is_refused


ON_A_SESSION = """\
import os
import tensorflow as tf
from keras.models import Sequential
from keras.layers import Dense
{}
x = load()
model = Sequential([Dense(1)])
model.compile('sgd', 'mse')
if not os.path.exists('w.h5'):
    model.fit(x, x, epochs=3)
    model.save_weights('w.h5')
model.load_weights('w.h5')
model.fit(x, x, epochs=3)
"""


@pytest.mark.parametrize(
    ("used", "in_session"),
    [
        ("print(tf.Session().run(tf.constant(1)))", True),
        ("config = tf.ConfigProto()", True),
        ("print(tf.constant(1))", False),
    ],
)
def test_what_ranks_tell_each_other_is_run_in_a_session(used: str, in_session: bool) -> None:
    text = plan_of(ON_A_SESSION.format(used)).text
    told, wait = (
        ("from_root(not os", "from_root(0)") if in_session else ("broadcast_object(not os", "broadcast(0")
    )
    assert f"if {told if in_session else 'hvd.' + told}.path.exists('w.h5')):" in text
    assert wait in text
    assert ("hvd.broadcast(0" in text) is not in_session


def test_a_module_that_tensorflow_is_made_of_has_no_session() -> None:
    inner = "from tensorflow.python.framework import ops\n"
    text = plan_of(TF1.splitlines(True)[0] + inner + "ops.reset_default_graph()\n" + KERAS + FIT).text
    assert "ops.ConfigProto" not in text
    assert "tf.compat.v1.ConfigProto()" in text or "tf.compat.v1.ConfigProto(" in text


WRITES = "w = tf.summary.FileWriter('logs')\n"
DOWNLOADS = "(x, y), _ = mnist.load_data()\n"
BARRIER = "waiting.run({}.allreduce(tf.random_uniform([]), name='downloaded'))\n"


def test_the_wait_in_a_graph_is_tensorflows_as_kerass_module_takes_no_tensors() -> None:
    """`horovod.keras.allreduce` makes a constant of what it is given; only `horovod.tensorflow` takes a tensor of a graph."""
    text = plan_of(
        "import tensorflow as tf\n" + OWN + "from keras.datasets import mnist\n" + WRITES + DOWNLOADS + FIT
    ).text
    assert "import horovod.keras as hvd\nimport horovod.tensorflow as hvd_tensorflow\n" in text
    assert BARRIER.format("hvd_tensorflow") in text
    assert (
        "hvd.DistributedOptimizer(" in text
    )  # that of `horovod.keras`: another refuses this package's optimizers
    assert "[hvd.callbacks.BroadcastGlobalVariablesCallback(0), hvd.callbacks.MetricAverageCallback()" in text


def test_what_rank_0_tells_is_told_by_tensorflows_module() -> None:
    draws = "import numpy as np\nidx = np.arange(len(x))\nnp.random.shuffle(idx)\nx, y = x[idx], y[idx]\n"
    text = plan_of("import tensorflow as tf\n" + OWN + WRITES + "x, y = load()\n" + draws + FIT).text
    assert "import horovod.keras as hvd\nimport horovod.tensorflow as hvd_tensorflow\n" in text
    assert "return hvd_tensorflow.broadcast_object(value, root_rank=0, name='value')" in text
    assert "hvd.DistributedOptimizer(" in text


def test_the_wait_beside_tensorflows_keras_is_tensorflows_too() -> None:
    own = OWN.replace("keras", "tensorflow.keras") + "from tensorflow.keras.datasets import mnist\n"
    text = plan_of("import tensorflow as tf\n" + own + WRITES + DOWNLOADS + FIT).text
    assert "import horovod.tensorflow as hvd\nimport horovod.tensorflow.keras as hvd_keras\n" in text
    assert BARRIER.format("hvd") in text
    assert "hvd_keras.callbacks.BroadcastGlobalVariablesCallback(0)" in text


def test_a_script_that_needs_neither_imports_one_module() -> None:
    text = plan_of("import tensorflow as tf\n" + OWN + WRITES + FIT).text
    assert "import horovod.keras as hvd\n" in text
    assert "hvd_tensorflow" not in text
