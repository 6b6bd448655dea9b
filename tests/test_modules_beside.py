"""Files beside a script: what is never called stays as it is, what only writes is guarded where the script calls it, and
Horovod is initialised once."""

from __future__ import annotations

import pytest

from tests.test_distribute_project import changed, result

HEAD = """\
import tensorflow as tf
import tools

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.SGD(0.1), "mse")
"""
FIT = "model.fit(tf.ones((64, 4)), tf.ones((64, 1)))\n"
WRITES = (
    "import json\n\n\ndef store(path, what):\n    with open(path, 'w') as f:\n        json.dump(what, f)\n"
)
METHODS = (
    "\n\nclass Now:\n    def store(self, path):\n        store(path, 1)\n"
    "\n\nclass Later(Now):\n    def store(self, path):\n        store(path, 2)\n"
)


def after(body: str, **modules: str) -> dict[str, str]:
    return {path[3:-3]: text for path, text in changed(result(HEAD + FIT + body, **modules)).items()}


# ---------------------------------------------------------------------- near misses: the module changes


@pytest.mark.parametrize(
    "use",
    [
        "kept = tools.store('a', 1)\n",  # its value is used
        "later = tools.store\nlater('a', 1)\n",  # handed on
        "for store in [tools.store]:\n    store('a', 1)\n",
        "[tools.store(n, 1) for n in 'ab']\n",
        "tools.store('a', 1) or print(2)\n",
        "tools.both('a')\n",  # called by a function that does more
    ],
)
def test_a_writer_that_is_not_only_called_in_statements_is_guarded_inside(use: str) -> None:
    more = "\n\nCOUNT = []\n\n\ndef both(path):\n    COUNT.append(1)\n    store(path, 1)\n"
    files = after(use, tools=WRITES + more)
    assert "hvd.rank() == 0" in files["tools"]


def test_a_writer_that_also_trains_is_no_mere_writer() -> None:
    module = (
        "import tensorflow as tf\n"
        + WRITES
        + "\n\ndef epoch(model, path):\n    model.fit(tf.ones((64, 4)), tf.ones((64, 1)))\n    store(path, 1)\n"
    )
    files = after("tools.epoch(model, 'a')\n", tools=module)
    assert "hvd.rank() == 0" in files["tools"]
    assert "if hvd.rank() == 0:\n    tools.epoch" not in files["train"]


def test_what_a_computed_name_may_call_is_guarded_inside() -> None:
    module = WRITES + "\n\ndef run(name):\n    globals()[name]('a', 1)\n"
    assert "hvd.rank() == 0" in after("tools.run('store')\n", tools=module)["tools"]


def test_methods_that_a_library_calls_are_guarded() -> None:
    module = "import tensorflow as tf\n\n\nclass Log(tf.keras.callbacks.Callback):\n"
    module += "    def on_epoch_end(self, epoch, logs=None):\n"
    module += "        with open('log', 'a') as f:\n            f.write(str(logs))\n"
    body = "model.fit(tf.ones((64, 4)), tf.ones((64, 1)), callbacks=[tools.Log()])\n"
    assert "hvd.rank() == 0" in after(body, tools=module)["tools"]


TRAINS = """\
import tools


class Training:
    def __init__(self, model):
        self.model = model

    def run(self):
        for epoch in range(3):
            self.model.fit([[1.0] * 4] * 64, [1.0] * 64)
            {call}
"""


def in_training(call: str, tools: str = WRITES, more: str = "") -> dict[str, str]:
    """A script whose training, with a call in it, stands in another file."""
    body = HEAD.replace("import tools", "import training") + "training.Training(model).run()\n"
    files = changed(result(body, training=TRAINS.replace("{call}", call) + more, tools=tools))
    return {path[3:-3]: text for path, text in files.items()}


@pytest.mark.parametrize(
    ("call", "tools"),
    [
        ("tools.store('a', self.model.fit([[1.0] * 4] * 64, [1.0] * 64))", WRITES),  # it trains
        ("self.last = tools.store('a', 1)", WRITES),
        ("tools.store('a', 1)", WRITES + "    if what > 2:\n        exit()\n"),  # all ranks end, or none
        ("tools.store('a', 1)", WRITES + "    LAST.append(path)\n\n\nLAST = []\n"),
        ("tools.Later().store('a')", WRITES + METHODS),  # which one runs is not sure
    ],
)
def test_a_writer_that_the_training_calls_otherwise_is_guarded_inside(call: str, tools: str) -> None:
    files = in_training(call, tools)
    assert "hvd.rank() == 0" in files["tools"]
    assert "if hvd.rank() == 0:" not in files["training"]


def test_a_writer_that_a_file_without_training_calls_is_guarded_inside() -> None:
    files = after(
        "between.call()\n",
        between="import tools\nTURN = []\n\n\ndef call():\n    TURN.append(1)\n    tools.store('a', 1)\n",
        tools=WRITES,
    )
    assert "between" not in files


def test_folders_are_made_by_all_ranks() -> None:
    make = "import os\n\n\ndef make(path):\n    if not os.path.exists(path):\n        os.makedirs(path)\n"
    files = in_training("tools.make('a')", make)
    assert "os.makedirs(path, exist_ok=True)" in files["tools"]
    assert "if hvd.rank() == 0:" not in files["training"]


# ---------------------------------------------------------------------- the module stays


def test_a_writer_is_guarded_where_the_training_calls_it() -> None:
    files = in_training("tools.store('a', 1)")
    assert set(files) == {"train", "training"}
    assert "            if hvd.rank() == 0:\n                tools.store('a', 1)\n" in files["training"]


def test_a_method_that_only_writes_is_guarded_where_it_is_called() -> None:
    method = """
    def store(self, path, what):
        print('storing')
        self.model.save(path)
        self.model.save_weights(what)
        print('stored', path)
"""
    files = in_training("if epoch % 2:\n                self.store('a', 'b')", more=method)
    assert "            if epoch % 2 and hvd.rank() == 0:\n" in files["training"]
    assert method in files["training"]


def test_a_writer_is_guarded_where_the_script_calls_it() -> None:
    files = after("tools.store('a', 1)\n", tools=WRITES)
    assert list(files) == ["train"]
    assert "if hvd.rank() == 0:\n    tools.store('a', 1)\n" in files["train"]


def test_also_through_other_writers_of_the_module() -> None:
    files = after(
        "tools.all_of('a')\n",
        tools=WRITES + "\n\ndef all_of(path):\n    store(path, 1)\n    store(path, 2)\n",
    )
    assert list(files) == ["train"]
    assert "if hvd.rank() == 0:\n    tools.all_of('a')\n" in files["train"]


def test_what_nothing_calls_stays_as_it_is() -> None:
    assert list(after("x = tools.half(2)\n", tools=WRITES + "\n\ndef half(n):\n    return n / 2\n")) == [
        "train"
    ]
    delegate = (
        WRITES
        + "\n\nclass Held:\n    def __getattr__(self, name):\n        return getattr(self.held, name)\n"
    )
    assert list(after("tools.Held()\n", tools=delegate)) == ["train"]


def test_horovod_is_initialised_once() -> None:
    module = "import tensorflow as tf\n\n\ndef optimizer():\n    return tf.keras.optimizers.Adam(0.1)\n"
    body = HEAD.replace("tf.keras.optimizers.SGD(0.1)", "tools.optimizer()") + FIT
    files = changed(result(body, tools=module))
    assert files["/p/tools.py"].count("hvd.init()") == 0
    assert "0.1 * hvd.size()" in files["/p/tools.py"]
    assert files["/p/train.py"].count("hvd.init()") == 1


MODULE = "import tensorflow as tf\n\noptimizer = tf.keras.optimizers.Adam(0.1)\n"
CALLED = "import tensorflow as tf\n\n\ndef make():\n    return tf.keras.optimizers.Adam(0.1)\n\n\noptimizer = make()\n"
DEFAULT = (
    "import tensorflow as tf\n\n\ndef make(optimizer=tf.keras.optimizers.Adam(0.1)):\n    return optimizer\n"
)


@pytest.mark.parametrize(
    ("module", "read"), [(MODULE, "tools.optimizer"), (CALLED, "tools.optimizer"), (DEFAULT, "tools.make()")]
)
def test_the_script_initialises_before_it_imports_what_asks_for_ranks(module: str, read: str) -> None:
    files = changed(result(HEAD.replace("tf.keras.optimizers.SGD(0.1)", read) + FIT, tools=module))
    script, tools = files["/p/train.py"], files["/p/tools.py"]
    assert "0.1 * hvd.size()" in tools
    assert "hvd.init()" not in tools
    assert script.index("hvd.init()") < script.index("import tools")


GRAPH = """\
import tensorflow.compat.v1 as tf

x = tf.placeholder(tf.float32, [2])
w = tf.get_variable("w", [2])
step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(w * x))
"""
RUNS = """\
import tensorflow.compat.v1 as tf
import tools

with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for row in [[1.0, 2.0]] * 64:
        sess.run(tools.step, {tools.x: row})
"""


def test_a_module_that_was_imported_before_initialises_for_itself() -> None:
    """In a graph nothing has to come before it."""
    assert changed(result(RUNS, tools=GRAPH))["/p/tools.py"].count("hvd.init()") == 1


def test_a_writer_that_reads_back_waits_for_nobody() -> None:
    """Only rank 0 is there."""
    module = "import numpy as np\n\n\ndef keep(path):\n    np.save(path, [1])\n    return np.load(path)\n"
    files = after("tools.keep('a')\n", tools=module)
    assert list(files) == ["train"]
    assert "if hvd.rank() == 0:\n    tools.keep('a')\n" in files["train"]
    assert "broadcast(0" not in files["train"]
