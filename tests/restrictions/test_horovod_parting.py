"""Faults by which ranks part that were put into public scripts, and missed at first: what one rank loads or sets and doesn't
send, files of which the path is made elsewhere, what other modules aren't given."""

from __future__ import annotations

import pytest

from horovodize.restrictions import check
from horovodize.restrictions.violation import Violation
from horovodize.source import Document
from horovodize.summary import summarize
from tests.restrictions.test_horovod_torch import RIGHT as TORCH

from .helpers import changed


def found(text: str) -> list[Violation]:
    return list(check(summarize(Document(text, "train.py"))))


def codes(text: str) -> set[str]:
    return {v.code for v in found(text)}


LOADED = """
if hvd.rank() == 0 and os.path.exists("last.pt"):
    model.load_state_dict(torch.load("last.pt"))
"""
WRAPS = "optimizer = hvd.DistributedOptimizer(optimizer, named_parameters=model.named_parameters())\n"
SENDS = "hvd.broadcast_parameters(model.state_dict(), root_rank=0)\n"
SEED = ("torch.manual_seed(1)\n", "")


@pytest.mark.parametrize(
    ("code", "changes"),
    [
        ("HVD333", [(WRAPS, WRAPS + LOADED)]),
        ("HVD333", [(WRAPS, WRAPS + LOADED.replace("model.load", "optimizer.load"))]),
        ("HVD333", [("        #IN\n", "        if loss.item() > 2:\n            for group in optimizer.param_groups:\n"
                     "                group['lr'] *= 0.5\n")]),
        ("HVD333", [("        #IN\n", "        if loss.item() > 2:\n            optimizer.param_groups[0]['lr'] = 0.1\n")]),
        ("HVD333", [("        #IN\n", "        slower.step(loss.item())\n"),
                    (WRAPS, WRAPS + "slower = optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n")]),
        ("HVD333", [("    if mean < 0.1:", "    if hvd.rank() == 0:\n        slower.step(mean)\n    if mean < 0.1:"),
                    (WRAPS, WRAPS + "slower = optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n")]),
        ("HVD333", [(WRAPS, WRAPS + "if hvd.rank() == 0:\n    torch.nn.init.zeros_(model.weight)\n")]),
        ("HVD306", [SEED, (SENDS, "")]),
        ("HVD306", [SEED, (SENDS, LOADED)]),
        ("HVD306", [SEED, (SENDS, "first = hvd.broadcast(torch.tensor(first), root_rank=0).item()\n")]),
        ("HVD306", [SEED, (SENDS, ""), ("import torch\n", "import torch\nimport grace\n"),
                    ("first = 0", "first = grace.Memory(hvd.size()).first")]),
        ("HVD309", [("lr=0.1 * hvd.size()", "lr=rate * hvd.size()"),
                    ("first = 0", "rate = 0.1 * hvd.size()\nfirst = 0"),
                    ("model = torch", "rate = 0.1 * (hvd.size() if os.environ.get('GROW') else 1)\nmodel = torch")]),
        ("HVD332", [('"data-%d" % hvd.rank()', '"data"'), ("download=True", "download=hvd.rank() == 0")]),
        ("HVD314", [("first = 0", "from torch.utils.tensorboard import SummaryWriter\nwriter = SummaryWriter('logs')")]),
        ("HVD331", [("        #IN\n", "        if writer is not None:\n            average(loss.item())\n"),
                    ("first = 0", "if hvd.rank() == 0:\n    writer = torch.utils.tensorboard.SummaryWriter(None)\n"
                     "else:\n    writer = None\nfirst = 0")]),
    ],
)  # fmt: skip
def test_a_fault_of_torch_is_found(code: str, changes: list[tuple[str, str]]) -> None:
    assert code in codes(changed(TORCH, *changes))


@pytest.mark.parametrize(
    "changes",
    [
        [(SENDS, LOADED + SENDS)],
        [("        #IN\n", "        slower.step(average(loss.item()))\n"),
         (WRAPS, WRAPS + "slower = optim.lr_scheduler.ReduceLROnPlateau(optimizer)\n")],
        [("    if mean < 0.1:", "    slower.step()\n    if mean < 0.1:"),
         (WRAPS, WRAPS + "slower = optim.lr_scheduler.StepLR(optimizer, 3)\n")],
        [("        #IN\n", "        for group in optimizer.param_groups:\n            group['lr'] = 0.1 * 0.9 ** epoch\n")],
        [SEED, (SENDS, ""), ("import torch\n", "import torch\nimport project\n"), (WRAPS, WRAPS + "project.send(model)\n")],
        [("        #IN\n", "        if average(loss.item()) > 2:\n            optimizer.param_groups[0]['lr'] = 0.1\n")],
        [('"data-%d" % hvd.rank()', '"data"'),
         ("rows = datasets", "if hvd.rank() == 0:\n    datasets.MNIST('data', download=True)\n"
          "hvd.allreduce(torch.tensor(0.0), name='downloaded')\nrows = datasets"), ("download=True)\ns", "download=False)\ns")],
    ],
)  # fmt: skip
def test_what_is_right_in_torch_has_no_finding(changes: list[tuple[str, str]]) -> None:
    assert codes(changed(TORCH, *changes)) == set()


FIT = """\
import argparse
import json
import numpy as np
import tensorflow as tf
import horovod.tensorflow.keras as hvd

parser = argparse.ArgumentParser()
parser.add_argument("--resume", action="store_true")
args = parser.parse_args()
hvd.init()
gpus = tf.config.list_physical_devices("GPU")
if gpus:
    tf.config.set_visible_devices(gpus[hvd.local_rank()], "GPU")
with open("settings.json") as file:
    settings = json.load(file)
x = np.array(read("rows.npy", hvd.rank(), hvd.size()))
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
model.compile(hvd.DistributedOptimizer(tf.keras.optimizers.SGD(0.01 * hvd.size())), "mse")
callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]
#LOAD
model.fit(x, x[:, :1], epochs=3, callbacks=callbacks, verbose=0)
#AFTER
"""
RESUMED = "if args.resume and hvd.rank() == 0:\n    model.load_weights('last.h5')\n"


def test_a_right_fit_has_no_finding() -> None:
    assert codes(FIT) == set()
    assert codes(changed(FIT, ("#LOAD\n", RESUMED))) == set()


def test_a_fit_that_gets_nothing_that_sends_makes_no_weights_equal() -> None:
    again = "if hvd.rank() == 0:\n    model.load_weights('best.h5')\nmodel.fit(x, x[:, :1], verbose=0)\n"
    assert "HVD333" in codes(changed(FIT, ("#AFTER\n", again)))
    sent = again.replace("verbose=0", "callbacks=callbacks, verbose=0")
    assert "HVD333" not in codes(changed(FIT, ("#AFTER\n", sent)))


def test_what_one_rank_loads_where_nothing_is_sent() -> None:
    listed = "callbacks = [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]"
    new = "callbacks = [] if args.resume else [hvd.callbacks.BroadcastGlobalVariablesCallback(0)]"
    text = changed(FIT, ("#LOAD\n", RESUMED), (listed, new))
    assert "HVD333" in codes(text)
    assert "HVD333" not in codes(changed(text, ("[] if args.resume else", "[] if not args.resume else")))


def test_a_path_of_settings_that_are_read_is_that_of_all_ranks() -> None:
    saved = "model.save_weights('{}/{}.h5'.format(settings['folder'], 'last'))\n"
    assert codes(changed(FIT, ("#AFTER\n", saved))) == {"HVD314"}
    unknown = changed(FIT, ("#AFTER\n", saved.replace("settings['folder']", "where()")), ("import json\n", "import json\n"
                      "from project import where\n"))  # fmt: skip
    assert "HVD314" not in codes(unknown)


def test_a_rate_that_each_rank_computes_from_its_own_rows() -> None:
    text = changed(
        FIT,
        ('"rows.npy", hvd.rank(), hvd.size()))', '"rows.npy")[hvd.rank() :: hvd.size()])'),
        (
            "#AFTER\n",
            "model.optimizer.learning_rate = float(np.mean(x))\nmodel.fit(x, x[:, :1], verbose=0)\n",
        ),
    )
    (drift,) = [v for v in found(text) if v.code == "HVD333"]
    assert [r.message for r in drift.related] == [
        "rank 0: changes the rate",
        "rank 1: changes it, too, by a `float(np.mean(x))` of its own",
        "rank 1: trains on with that",
    ]


GRAPH = """\
import tensorflow.compat.v1 as tf
import horovod.tensorflow as hvd

tf.disable_eager_execution()
hvd.init()
config = tf.ConfigProto()
config.gpu_options.visible_device_list = str(hvd.local_rank())
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.layers.dense(x, 1) ** 2)
train = hvd.DistributedOptimizer(tf.train.GradientDescentOptimizer(0.01 * hvd.size())).minimize(loss)
begin = tf.global_variables_initializer()
send = hvd.broadcast_global_variables(0)
saver = tf.train.Saver()
with tf.Session(config=config) as session:
    begin.run()
    #BEFORE
    send.run()
    for rows in read("rows.csv", hvd.rank(), hvd.size()):
        session.run(train, {x: rows})
"""


def test_operations_that_are_run_by_themselves() -> None:
    restored = "if hvd.rank() == 0:\n        saver.restore(session, 'last')\n"
    assert codes(changed(GRAPH, ("#BEFORE\n", restored))) == set()
    assert "HVD306" in codes(
        changed(
            GRAPH, ("    begin.run()\n    #BEFORE\n    send.run()\n", "    send.run()\n    begin.run()\n")
        )
    )
    late = changed(GRAPH, ("    #BEFORE\n    send.run()\n", "    send.run()\n    " + restored))
    assert "HVD333" in codes(late)


SHUFFLED = """\
import tensorflow as tf
import horovod.tensorflow as hvd

hvd.init()
model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(4,))])
optimizer = tf.keras.optimizers.SGD(0.01 * hvd.size())
hvd.broadcast_variables(model.variables, root_rank=0)
data = tf.data.Dataset.from_tensor_slices(load("rows.npy")).repeat().shuffle(1000).batch(8)
for step, x in enumerate(data.take(100 // hvd.size())):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(x) ** 2)
    tape = hvd.DistributedGradientTape(tape)
    optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
    if loss < 0.1:
        break
"""


def test_rows_in_an_order_that_each_rank_draws_are_its_own() -> None:
    assert "HVD331" in codes(SHUFFLED)
    assert "HVD331" not in codes(changed(SHUFFLED, ("if loss < 0.1", "if hvd.allreduce(loss) < 0.1")))
    assert "HVD331" not in codes(changed(SHUFFLED, ("shuffle(1000)", "shuffle(1000, seed=1)")))
    assert "HVD331" not in codes(changed(SHUFFLED, ("hvd.init()", "hvd.init()\ntf.random.set_seed(1)")))


def test_a_data_set_that_lies_in_a_file_of_the_rank_has_the_rows_of_all() -> None:
    own = "load_data('mnist-%d.npz' % hvd.rank())[0][0]"
    text = changed(
        SHUFFLED,
        ('load("rows.npy")', f"tf.keras.datasets.mnist.{own}"),
        ("shuffle(1000)", "shuffle(1000, seed=1)"),
    )
    assert "HVD320" in codes(text)
    assert "HVD320" not in codes(changed(text, (own, f"{own}[hvd.rank()::hvd.size()]")))


def test_a_rate_that_goes_by_the_number_of_steps_is_that_of_all_ranks() -> None:
    text = changed(
        GRAPH,
        (
            "train = hvd",
            "step = tf.train.get_or_create_global_step()\nrate = tf.train.exponential_decay(0.1, step, 9, 0.5)\ntrain = hvd",
        ),
        ("0.01 * hvd.size()", "rate * hvd.size()"),
        ("minimize(loss)", "minimize(loss + tf.reduce_mean(tf.random_normal([4])), global_step=step)"),
    )
    assert "HVD333" not in codes(text)


def test_a_value_is_no_own_one_where_only_the_decision_is() -> None:
    halved = "    if loss > 2:\n        optimizer.learning_rate.assign(optimizer.learning_rate * 0.5)\n"
    text = changed(SHUFFLED, ("    if loss < 0.1:\n        break\n", halved))
    (drift,) = [v for v in found(text) if v.code == "HVD333"]
    assert [r.message for r in drift.related] == [
        "rank 1: `loss > 2` is true",
        "rank 1: changes the rate",
        "rank 0: trains on as before",
    ]


def test_what_runs_under_a_parameter_that_no_call_passes_is_written_by_nobody() -> None:
    function = "def keep(path, again=False):\n    if again:\n        open(path, 'w').close()\n\n\n"
    text = changed(FIT, ("parser = arg", function + "parser = arg"), ("#AFTER\n", "keep('rows.txt')\n"))
    assert codes(text) == set()
    assert codes(changed(text, ("keep('rows.txt')", "keep('rows.txt', True)"))) == {"HVD314"}


def test_a_program_that_app_run_begins_is_gone_through() -> None:
    body = GRAPH[GRAPH.index("x = tf.placeholder") :].replace("#BEFORE", "pass")
    main = "def main(_):\n" + "".join(f"    {line}\n" for line in body.splitlines()) + "\n\ntf.app.run()\n"
    text = GRAPH[: GRAPH.index("x = tf.placeholder")] + main
    assert codes(text) == set()
    late = "            if time.time() > until:\n                break\n            session.run(train"
    timed = changed(
        text, ("            session.run(train", late), ("import horovod", "import time\nimport horovod")
    )
    assert "HVD331" in codes(timed.replace("def main(_):\n", "def main(_):\n    until = time.time() + 60\n"))
