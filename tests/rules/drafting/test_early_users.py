"""C1: Horovod begins before code that asks for it, also where TensorFlow is imported after that."""

from __future__ import annotations

import ast

import pytest

from ..pairs import plan_of

MODEL = """\
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(tf.keras.optimizers.Adam(1e-4), "mse")
model.fit(train, epochs=3)
"""


def order(text: str, *parts: str) -> bool:
    """Whether the parts stand in a text, in this order."""
    places = [text.index(part) for part in parts]
    return places == sorted(places)


def names_are_bound(text: str) -> bool:
    """Whether the statements at the top run: each name of Horovod or TensorFlow comes after its import."""
    bound = set[str]()
    for s in ast.parse(text).body:
        if isinstance(s, (ast.Import, ast.ImportFrom)):
            bound |= {(a.asname or a.name).partition(".")[0] for a in s.names}
        elif not isinstance(s, (ast.FunctionDef, ast.ClassDef)):
            read = {n.id for n in ast.walk(s) if isinstance(n, ast.Name)}
            if read & {"hvd", "hvd_keras", "tf"} - bound:
                return False
    return True


def test_rows_are_divided_after_horovod_has_begun() -> None:
    text = plan_of(
        "import numpy as np\nfrom datasets import load_dataset\nrows = load_dataset('x')['train']\n"
        f"train = rows.to_tf_dataset(batch_size=8)\nimport tensorflow as tf\n{MODEL}"
    ).text
    assert order(
        text,
        "import horovod",
        "hvd.init()",
        "set_visible_devices",
        "rows.select(",
        "\nimport tensorflow as tf\nmodel",
    )
    assert names_are_bound(text)


DEFINED = """\
import numpy as np
from tqdm import tqdm
def load():
    for i in tqdm(range(9)):
        pass
    return np.zeros((64, 4))
{}
import tensorflow as tf
{}
train = tf.data.Dataset.from_tensor_slices((x, x)).batch(8)
"""


def test_a_function_that_asks_runs_after_it() -> None:
    text = plan_of(DEFINED.format("x = load()", "") + MODEL).text
    assert order(
        text,
        "import numpy",
        "import horovod",
        "hvd.init()",
        "def load",
        "x = load()",
        "\nimport tensorflow as tf\n\ntrain",
    )
    assert names_are_bound(text)


@pytest.mark.parametrize("before", ["", "rows = 3"])
def test_a_function_that_is_called_later_moves_nothing(before: str) -> None:
    """Near miss: it is only defined before TensorFlow comes in."""
    text = plan_of(DEFINED.format(before, "x = load()") + MODEL).text
    assert order(text, "def load", "import tensorflow as tf", "import horovod", "hvd.init()", "x = load()")
    assert text.count("import tensorflow as tf") == 1
    assert names_are_bound(text)


KERAS_FIRST = """\
import numpy as np
from datasets import load_dataset
rows = load_dataset('x')['train']
train = rows.to_tf_dataset(batch_size=8)
from tensorflow.keras.layers import Dense
from tensorflow.keras.models import Sequential
model = Sequential([Dense(1)])
import tensorflow as tf
model.compile(tf.keras.optimizers.Adam(1e-4), "mse")
model.fit(train, epochs=3)
"""


def test_a_late_import_is_no_question_where_the_head_stands_before_it() -> None:
    plan = plan_of(KERAS_FIRST)
    assert names_are_bound(plan.text)
    assert not [c for c in plan.changes if not c.sure]


def test_nor_where_keras_is_used_after_it() -> None:
    used = KERAS_FIRST.replace(
        "rows = load", "from tensorflow.keras.layers import Layer\nLayer()\nimport os\nrows = load"
    )
    plan = plan_of(used)
    assert order(plan.text, "import Layer", "import horovod", "hvd.init()", "\nLayer()", "rows.select(")
    assert not [c for c in plan.changes if not c.sure]
