"""A helper that several files of a project use stands in one of them."""

from __future__ import annotations

import pytest

from tests.test_distribute_project import changed, result

FIT = "def {name}(model, x, y):\n    model.compile(tf.keras.optimizers.SGD(0.1), 'mse')\n    model.fit([x], y, epochs=1)\n"
ROWS = "x, y = np.ones((64, 4), 'float32'), np.ones((64, 1), 'float32')\n"
MODEL = "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\n"
END = "model.compile('sgd', 'mse')\nmodel.fit([x], y, epochs=3)\n"
SCRIPT = "import numpy as np\nimport tensorflow as tf\n{imports}" + ROWS + MODEL + "{calls}" + END
DEFINED = "def shard(rows):"


def module(name: str, imports: str = "", after: str = "") -> str:
    return f"import tensorflow as tf\n{imports}\n\n{FIT.format(name=name)}{after}"


def files(imports: str, calls: str, **modules: str) -> dict[str, str]:
    texts = changed(result(SCRIPT.format(imports=imports, calls=calls), **modules))
    return {path[3:-3]: text for path, text in texts.items()}


# ---------------------------------------------------------------------- near misses: more than one


def test_files_that_import_each_other_each_have_their_own() -> None:
    made = files(
        "import first\n",
        "first.early(model, x, y)\n",
        first=module("early", after="    import second\n    second.late(model, x, y)\n"),
        second=module("late", "import first\n"),
    )
    assert sum(DEFINED in text for text in made.values()) >= 2
    assert DEFINED in made["first"]
    assert DEFINED in made["second"]


def test_an_import_inside_a_function_leads_nowhere_for_sure() -> None:
    made = files(
        "", "def run():\n    import first\n    first.early(model, x, y)\nrun()\n", first=module("early")
    )
    assert [DEFINED in made[name] for name in ("first", "train")] == [True, True]


def test_one_file_keeps_its_helper() -> None:
    made = files("from nets import net\n", "", nets="def net():\n    pass\n")
    assert list(made) == ["train"]
    assert DEFINED in made["train"]


# ---------------------------------------------------------------------- one


@pytest.mark.parametrize("imports", ["import first\n", "from first import early\n", "import first as f\n"])
def test_the_script_imports_it_after_its_own_import(imports: str) -> None:
    called = {"import first\n": "first.early", "import first as f\n": "f.early"}.get(imports, "early")
    made = files(imports, f"{called}(model, x, y)\n", first=module("early"))
    assert DEFINED in made["first"]
    assert DEFINED not in made["train"]
    assert f"{imports}from first import shard\n" in made["train"]


def test_modules_beside_each_other() -> None:
    made = files(
        "import first, second\n",
        "first.early(model, x, y)\nsecond.late(model, x, y)\n",
        first=module("early"),
        second=module("late"),
    )
    assert [DEFINED in made[name] for name in ("first", "second", "train")] == [True, False, False]
    assert "from first import shard\n" in made["second"]


# ---------------------------------------------------------------------- what a module runs when it is imported

BASE = """\
import numpy as np
class Base:
    def loop(self, data):
        data = np.random.permutation(data)
        for b in range(0, len(data), 20):
            print(b, self.step(data[b : b + 20]))
"""
AUTO = """\
import keras
from base import Base
class Auto(Base):
    def __init__(self):
        self.model = keras.models.Sequential([keras.layers.Dense(4)])
        self.model.compile(loss='mse', optimizer=keras.optimizers.Adam(1e-3))
    def step(self, x):
        return self.model.train_on_batch(x, x)
"""
START = "import numpy as np\nfrom nets import Auto\nAuto().loop({})\n"
SEED = "alike.stream = type(draw.__self__)(hvd.broadcast_object(secrets.randbits(32)))"


@pytest.mark.parametrize("data", ["np.load('rows.npy')", "np.random.rand(200, 4)"])
def test_a_module_asks_rank_0_for_nothing_while_it_is_imported(data: str) -> None:
    """It is imported before Horovod is initialised."""
    texts = changed(result(START.format(data), base=BASE, nets=AUTO))
    made = {path[3:-3]: text for path, text in texts.items()}
    assert "data = alike(np.random.permutation)(data)" in made["base"]
    assert f"    if hvd.size() > 1 and not hasattr(alike, 'stream'):\n        {SEED}\n" in made[
        "base"
    ].replace('"', "'")
    assert f"\n{SEED}" not in made["base"]
    assert ("def alike" in made["train"]) is ("alike(np" in made["train"])
    compile(made["base"], "base", "exec")


def test_the_script_imports_what_it_asks_for_keras_version() -> None:
    made = files("", "", nets="pass\n")
    assert "import keras\n" not in made["train"]
    texts = changed(result(START.format("np.load('rows.npy')"), base=BASE, nets=AUTO))
    script = texts["/p/train.py"]
    assert script.index("import tensorflow as tf\n") < script.index("if hasattr(tf.keras, ")


IN_GRAPH = """\
import tensorflow.compat.v1 as tf
from rows import load
train = load()
x = tf.placeholder(tf.float32, [None, 4])
step = tf.train.AdamOptimizer(0.01).minimize(tf.reduce_mean(tf.square(tf.layers.dense(x, 1))))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for i in range(0, len(train), 8):
        sess.run(step, {x: train[i : i + 8]})
"""
LOADING = """\
import numpy as np


def load():
    rows = np.load("rows.npy")
    return np.random.permutation(rows)
"""


def test_what_only_a_helper_calls_is_defined_beside_it() -> None:
    """In a graph, the seed of `alike` comes by `from_root`, of which rules have written nothing."""
    made = {path[3:-3]: text for path, text in changed(result(IN_GRAPH, rows=LOADING)).items()}
    assert "alike(np.random.permutation)" in made["rows"]
    assert "alike.stream = type(draw.__self__)(from_root(" in made["rows"]
    assert "def from_root(" in made["rows"]
    assert "import tensorflow" in made["rows"]
    assert "from_root" not in made["train"]


def test_what_only_a_helper_calls_is_defined_in_the_script_too() -> None:
    script = IN_GRAPH.replace("train = load()", "train = load()\ntrain = np.random.permutation(train)")
    made = {
        path[3:-3]: text
        for path, text in changed(
            result(
                "import numpy as np\n" + script,
                rows="import numpy as np\n\n\ndef load():\n    print('…')\n    return np.load('rows.npy')\n",
            )
        ).items()
    }
    assert "alike(np.random.permutation)" in made["train"]
    assert "def from_root(" in made["train"]


DRAWN = (
    "import numpy as np\nimport tensorflow as tf\n"
    "def rows():\n    x = np.ones((64, 4), 'float32')\n    np.random.shuffle(x)\n    return x\n"
)


def test_what_a_helper_needs_is_imported_where_it_stands() -> None:
    """`alike` begins by a number of `secrets`, which the file that imports it from another one has no use for."""
    script = (
        "import numpy as np\nimport tensorflow as tf\nfrom first import rows\nx = rows()\n"
        "model = tf.keras.Sequential([tf.keras.layers.Dense(1)])\nmodel.compile('sgd', 'mse')\n"
        "for epoch in range(3):\n    np.random.shuffle(x)\n    model.fit(x, x[:, :1])\n"
    )
    texts = changed(result(script, first=DRAWN))
    made = {path[3:-3]: text for path, text in texts.items()}
    assert "def alike(draw):" in made["first"]
    assert "import secrets\n" in made["first"]
    assert "from first import alike, rows" in made["train"] or "from first import alike\n" in made["train"]
    assert "secrets" not in made["train"]
