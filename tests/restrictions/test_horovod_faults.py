"""Scripts that use Horovod already: what is said of them, and where nothing is. (Each finding's page has its own examples.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.distribute import distribute
from horovodize.options import Options
from horovodize.plan import Plan, Unchanged
from horovodize.restrictions import check
from horovodize.restrictions.violation import Violation
from horovodize.source import Document
from horovodize.summary import summarize
from tests.restrictions.helpers import fixed, violations

TESTS = Path(__file__).parent.parent
EXPECTED = sorted((TESTS / "golden").glob("*/*.expected.py"))
PROGRAMS = sorted((TESTS / "programs").glob("*/*.py"))

START = """\
import tensorflow as tf
import horovod.tensorflow.keras as hvd

hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size()))
"""
KERAS = (
    START
    + 'model.compile(optimizer, "mse")\ncallbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]\n'
)


def found(text: str) -> list[Violation]:
    return check(summarize(Document(text, "train.py")), Options())


def codes(text: str) -> list[str]:
    return [v.code for v in found(text)]


# ---------------------------------------------------------------------- what must not be reported


@pytest.mark.parametrize("path", EXPECTED, ids=lambda p: f"{p.parent.name}-{p.name.split('.')[0]}")
def test_what_distributing_makes_has_no_finding(path: Path) -> None:
    reported = check(summarize(Document.from_bytes(path.read_bytes(), path.name)))
    assert _of_ranks(reported) == []


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_distributed_programs_have_no_finding(path: Path) -> None:
    plan = distribute(summarize(Document.from_bytes(path.read_bytes(), str(path))))
    assert isinstance(plan, Plan)
    assert _of_ranks(found(plan.text)) == []


def _of_ranks(reported: list[Violation]) -> list[Violation]:
    """The findings, without what a graph does on one rank already: distributing leaves that as it is."""
    return [v for v in reported if v.asks]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            KERAS
            + "stop = tf.keras.callbacks.EarlyStopping() if hvd.rank() else tf.keras.callbacks.EarlyStopping()\n"
            "first = [*callbacks, hvd.callbacks.MetricAverageCallback(), stop]\n"
            "model.fit(x, y, callbacks=first)\n",
            id="a callback that both arms of an expression give",
        ),
        pytest.param(
            KERAS + "def train(given):\n    model.fit(x, y, callbacks=given)\n\n\ntrain(callbacks)\n",
            id="callbacks that are handed over",
        ),
        pytest.param(
            KERAS
            + "epochs = 3\nif hvd.rank() == 0:\n    epochs = read()\nepochs = hvd.broadcast_object(epochs, 0)\n"
            "model.fit(x, y, epochs=epochs, callbacks=callbacks)\n",
            id="a number of epochs that rank 0 finds and sends",
        ),
        pytest.param(
            KERAS + "steps = 100 // hvd.size() + (1 if hvd.rank() < 100 % hvd.size() else 0)\n"
            "model.fit(rows.repeat(), steps_per_epoch=100 // hvd.size(), callbacks=callbacks)\n"
            "print(steps, [b for b in rows.take(hvd.rank())])\n",
            id="numbers of the rank that no training counts",
        ),
        pytest.param(KERAS + "model.fit(x, y, callbacks=callbacks)\n", id="as the guide has it"),
        pytest.param(
            KERAS + "if hvd.rank() == 0:\n    model.fit(x, y)\nelse:\n    model.fit(x, y)\n",
            id="both arms of a test of the rank train",
        ),
        pytest.param(
            KERAS.replace("hvd.local_rank()", "hvd.rank() % len(gpus)")
            + "model.fit(x, y, callbacks=callbacks)\n",
            id="the rank modulo the GPUs of a machine",
        ),
        pytest.param(
            KERAS
            + "def is_root():\n    return hvd.rank() == 0\n\n\nmodel.fit(x, y, callbacks=callbacks)\n"
            + 'if is_root():\n    model.save("model.h5")\n',
            id="a test of the rank in a function",
        ),
        pytest.param(
            KERAS
            + 'model.fit(x, y, callbacks=callbacks)\nif hvd.rank():\n    raise SystemExit\nmodel.save("model.h5")\n',
            id="the others have ended",
        ),
        pytest.param(
            KERAS
            + 'path = "model.h5" if hvd.rank() == 0 else None\nmodel.fit(x, y, callbacks=callbacks)\n'
            + "if path:\n    model.save(path)\n",
            id="only one rank has a path",
        ),
        pytest.param(
            KERAS
            + "def report(text):\n    if hvd.rank() == 0:\n        print(text)\n\n\n"
            + "model.fit(x, y, callbacks=callbacks)\nreport(hvd.allreduce(tf.constant(1.0)))\n",
            id="a collective in the argument of what one rank prints",
        ),
        pytest.param(
            START + "from ours import prepare\nmodel = prepare(model, optimizer)\nmodel.fit(x, y)\n",
            id="a module of the project may broadcast",
        ),
        pytest.param(
            START
            + 'from ours import prepare\nmodel.compile(optimizer, "mse")\nprepare(model)\nmodel.fit(x, y)\n',
            id="a module of the project may load weights into the model",
        ),
    ],
)
def test_nothing_is_said_of(text: str) -> None:
    assert codes(text) == []


def test_a_rank_test_of_another_name_is_respected() -> None:
    text = (
        KERAS
        + "from ours import is_main\nmodel.fit(x, y, callbacks=callbacks)\nif is_main:\n    model.save('m.h5')\n"
    )
    assert codes(text) == []
    assert codes(text.replace("is_main", "is_long")) == ["HVD314"]


# ---------------------------------------------------------------------- what must be


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(
            KERAS.replace("hvd.init()\n", "") + "model.fit(x, y, callbacks=callbacks)\n",
            ["HVD301"],
            id="no init",
        ),
        pytest.param(
            "import tensorflow as tf\nfrom horovod.tensorflow.keras import init as begin, size as ranks\n"
            "RATE = 0.1 * ranks()\n\n\ndef main():\n    begin()\n\n\nmain()\n",
            ["HVD301"],
            id="imported by other names, initialised in a function that is called later",
        ),
        pytest.param(
            KERAS + "def evaluate():\n    return hvd.allreduce(model.evaluate(x, y))\n\n\n"
            "model.fit(x, y, callbacks=callbacks)\nif hvd.rank() == 0:\n    print(evaluate())\n",
            ["HVD313"],
            id="a collective in a function that one rank calls",
        ),
        pytest.param(
            KERAS + "root = hvd.rank() == 0\nif root:\n    model.fit(x, y, callbacks=callbacks)\n",
            ["HVD313"],
            id="training on one rank",
        ),
        pytest.param(
            KERAS + "if not hvd.rank():\n    callbacks += [tf.keras.callbacks.ReduceLROnPlateau()]\n"
            "model.fit(x, y, callbacks=callbacks)\n",
            ["HVD311"],
            id="added to the list by one rank",
        ),
        pytest.param(
            KERAS
            + "callbacks += [tf.keras.callbacks.EarlyStopping() if hvd.rank() == 0 else tf.keras.callbacks.History()]\n"
            "model.fit(x, y, callbacks=callbacks)\n",
            ["HVD311"],
            id="chosen by the rank within the list",
        ),
        pytest.param(
            KERAS + "model.fit(x, y, epochs=3 if hvd.rank() else 4, callbacks=callbacks)\n",
            ["HVD323"],
            id="epochs by the rank",
        ),
        pytest.param(
            KERAS
            + "callbacks.append(tf.keras.callbacks.EarlyStopping())\nmodel.fit(x, y, callbacks=callbacks)\n",
            ["HVD312"],
            id="nothing averages the metrics",
        ),
        pytest.param(
            START
            + 'model.compile(optimizer, "mse")\nif hvd.rank() == 0:\n    model.load_weights("w.h5")\nmodel.fit(x, y)\n',
            ["HVD306"],
            id="one rank loads weights, and does not send them",
        ),
        pytest.param(
            KERAS.replace(", tf", ", tf").replace("compile(optimizer", "compile(optimizer.inner")
            + "class Net(tf.keras.Model):\n"
            "    def train_step(self, data):\n"
            "        x, y = data\n"
            "        with tf.GradientTape() as tape:\n"
            "            loss = tf.reduce_mean((self(x) - y) ** 2)\n"
            "        gradients = tape.gradient(loss, self.trainable_variables)\n"
            "        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))\n"
            "        return {'loss': loss}\n\n\n"
            'net = Net()\nnet.compile(optimizer, "mse")\nnet.fit(x, y, callbacks=callbacks)\n',
            ["HVD304"],
            id="a train_step of the model's own with a plain tape",
        ),
    ],
)
def test_is_reported(text: str, wanted: list[str]) -> None:
    assert codes(text) == wanted


def test_a_plain_train_op_in_a_graph_is_reported() -> None:
    text = (
        "import tensorflow.compat.v1 as tf\nimport horovod.tensorflow as hvd\n\nhvd.init()\n"
        "config = tf.ConfigProto()\nconfig.gpu_options.visible_device_list = str(hvd.local_rank())\n"
        "train = tf.train.AdamOptimizer(0.1 * hvd.size()).minimize(loss)\n"
        "with tf.Session(config=config) as session:\n"
        "    session.run(tf.global_variables_initializer())\n    session.run(hvd.broadcast_global_variables(0))\n"
        "    session.run(train)\n"
    )
    assert codes(text) == ["HVD304"]
    assert (
        codes(
            text.replace("tf.train.Adam", "hvd.DistributedOptimizer(tf.train.Adam").replace(
                ").mini", ")).mini"
            )
        )
        == []
    )


def test_the_gpu_of_the_rank_is_corrected() -> None:
    text = KERAS.replace("gpus[hvd.local_rank()]", "gpus[hvd.rank()]")
    assert fixed(text, "HVD302") == KERAS


def test_before_tensorflow_2_4_a_wrapped_optimizer_averages_what_it_applies() -> None:
    text = START.replace(".keras as hvd", " as hvd") + (
        "for x, y in batches:\n    with tf.GradientTape() as tape:\n        loss = tf.reduce_mean((model(x) - y) ** 2)\n"
        "    gradients = tape.gradient(loss, model.trainable_variables)\n"
        "    optimizer.apply_gradients(zip(gradients, model.trainable_variables))\n"
        "    if optimizer.iterations == 1:\n        hvd.broadcast_variables(model.variables, 0)\n"
    )
    assert len(violations(text, "HVD304")) == 1
    old = check(summarize(Document(text, "train.py")), Options(tensorflow="2.3"))
    assert [v.code for v in old] == []


def test_a_comment_silences_a_fault() -> None:
    text = KERAS.replace("hvd.local_rank()", "hvd.rank()").replace(
        '"GPU")\nmodel', '"GPU")  # horovodize: ignore[HVD302]\nmodel'
    )
    assert codes(text) == []


def test_a_script_that_uses_horovod_is_not_changed_whatever_is_found() -> None:
    text = KERAS + "if hvd.rank() == 0:\n    model.fit(x, y, callbacks=callbacks)\n"
    assert isinstance(distribute(summarize(Document(text, "train.py"))), Unchanged)


def test_a_script_of_torch_is_looked_at_unless_it_uses_tensorflows_module() -> None:
    text = "import torch\nimport horovod.torch as hvd\n\nprint(hvd.rank())\n"
    assert codes(text) == ["HVD301"]
    assert codes(text.replace("import torch", "import horovod.tensorflow as of_graphs\nimport torch")) == []


# ---------------------------------------------------------------------- under Keras 3

FIT = "model.fit(x, y, callbacks=[hvd.callbacks.MetricAverageCallback()])\n"
UNDER_KERAS_3 = START + 'model.compile(optimizer, "mse", jit_compile=False)\n' + FIT
OWN_STEP = """
class Model(tf.keras.Model):
    def train_step(self, data):
        x, y = data
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((self(x) - y) ** 2)
        tape = hvd.DistributedGradientTape(tape)
        gradients = tape.gradient(loss, [v.value for v in self.trainable_variables])
        self.optimizer.apply_gradients(zip(gradients, self.trainable_variables))
        return {"loss": loss}

model = Model()
"""


def codes_for(text: str, tensorflow: str) -> list[str]:
    return [v.code for v in check(summarize(Document(text, "train.py")), Options(tensorflow=tensorflow))]


@pytest.mark.parametrize("tensorflow", ["", "2.15"])
def test_horovods_own_wrapper_averages_where_keras_3_is_not_known(tensorflow: str) -> None:
    assert "HVD304" not in codes_for(UNDER_KERAS_3, tensorflow)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(
            UNDER_KERAS_3.replace("horovod.tensorflow.keras", "horovod_keras3"), id="our module averages"
        ),
        pytest.param(
            "import os\nos.environ['TF_USE_LEGACY_KERAS'] = '1'\n" + UNDER_KERAS_3, id="legacy Keras trains"
        ),
        pytest.param(
            UNDER_KERAS_3.replace("gpus =", "if hasattr(tf.keras, 'ops'):\n    raise RuntimeError\ngpus ="),
            id="it stops there",
        ),
        pytest.param(
            UNDER_KERAS_3.replace("gpus =", "assert not hasattr(tf.keras, 'ops'), 'Keras 3'\ngpus ="),
            id="it stops there by an assertion",
        ),
        pytest.param(
            START + OWN_STEP + 'model.compile(optimizer, "mse")\n' + FIT, id="a step of its own has a tape"
        ),
    ],
)
def test_under_keras_3_what_averages_by_other_means_is_right(text: str) -> None:
    assert "HVD304" not in codes_for(text, "2.17")


@pytest.mark.parametrize("method", ["fit(x, y)", "train_on_batch(x, y)"])
def test_under_keras_3_horovods_own_wrapper_averages_nothing(method: str) -> None:
    text = START + f'model.compile(optimizer, "mse")\nmodel.{method}\n'
    assert "HVD304" in codes_for(text, "2.17")
    whole = "import keras\nkeras.ops.zeros(3)\n" + text  # the script itself shows that it is Keras 3
    assert "HVD304" in codes_for(whole, "")


OURS = (
    START.replace("horovod.tensorflow.keras", "horovod_keras3")
    + 'model.compile(optimizer, "mse", jit_compile=False)\n'
)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        pytest.param(OURS + "model.fit(x, y)\n", ["HVD306"], id="nothing is sent"),
        pytest.param(
            OURS.replace("local_rank", "rank") + FIT, ["HVD302", "HVD306"], id="the GPU of all ranks"
        ),
        pytest.param(
            OURS.replace("hvd.size()", "hvd.size() * random.random()").replace(
                "import t", "import random\nimport t", 1
            )
            + "model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])\n",
            ["HVD333"],
            id="a rate of each rank's own",
        ),
        pytest.param(
            OURS.replace("hvd.size()", "hvd.size() * hvd.broadcast_object(random.random())").replace(
                "import t", "import random\nimport t", 1
            )
            + "model.fit(x, y, callbacks=[hvd.callbacks.BroadcastGlobalVariablesCallback(0)])\n",
            [],
            id="a rate that rank 0 draws for all",
        ),
    ],
)
def test_what_our_module_for_keras_3_does_is_read_as_horovod_s(text: str, wanted: list[str]) -> None:
    assert codes_for(text, "2.17") == wanted
