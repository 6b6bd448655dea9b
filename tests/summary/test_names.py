"""Names: what is imported, however, means the same."""

from __future__ import annotations

import pytest

from .reading import module, name_of

ADAM = "tensorflow.keras.optimizers.Adam"


@pytest.mark.parametrize(
    "source",
    [
        "import tensorflow\nlook(tensorflow.keras.optimizers.Adam)",
        "import tensorflow as tf\nlook(tf.keras.optimizers.Adam)",
        "import tensorflow as tf\nlook(tf.optimizers.Adam)",
        "import tensorflow.keras\nlook(tensorflow.keras.optimizers.Adam)",
        "import tensorflow.keras.optimizers\nlook(tensorflow.keras.optimizers.Adam)",
        "import tensorflow.keras as K\nlook(K.optimizers.Adam)",
        "import tensorflow.keras.optimizers as o\nlook(o.Adam)",
        "import numpy, tensorflow as tf\nlook(tf.keras.optimizers.Adam)",
        "from tensorflow import keras\nlook(keras.optimizers.Adam)",
        "from tensorflow import keras as K\nlook(K.optimizers.Adam)",
        "from tensorflow.keras import optimizers\nlook(optimizers.Adam)",
        "from tensorflow.keras.optimizers import Adam\nlook(Adam)",
        "from tensorflow.keras.optimizers import Adam as A, SGD\nlook(A)",
        "from tensorflow.keras.optimizers import *\nlook(Adam)",
        "from tensorflow.python.keras.optimizers import Adam\nlook(Adam)",
        "import keras\nlook(keras.optimizers.Adam)",
        "from keras.optimizers import Adam\nlook(Adam)",
        "import tf_keras as keras\nlook(keras.optimizers.Adam)",
        "import tensorflow.compat.v2 as tf\nlook(tf.keras.optimizers.Adam)",
        "import tensorflow as tf\nkeras = tf.keras\nlook(keras.optimizers.Adam)",
        "import tensorflow as tf\nA = tf.keras.optimizers.Adam\nB = A\nlook(B)",
        "try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\nlook(tf.keras.optimizers.Adam)",
        "def f():\n    import tensorflow as tf\n    look(tf.keras.optimizers.Adam)",
        "if True:\n    import tensorflow as tf\nelse:\n    tf = None\ndef f():\n    look(tf.keras.optimizers.Adam)",
        "class A:\n    import tensorflow as tf\n    look(tf.keras.optimizers.Adam)",
        "def f():\n    look(tf.keras.optimizers.Adam)\nimport tensorflow as tf\nf()",
        "from tensorflow.keras.optimizers import (\n    SGD,\n    Adam,\n)\nlook(Adam)",
    ],
)
def test_every_style_of_import_means_the_same(source: str) -> None:
    assert name_of(source) == ADAM


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import tensorflow as tf\nlook(tf)", "tensorflow"),
        ("import a.b.c\nlook(a)", "a"),
        ("import a.b.c\nlook(a.b.c)", "a.b.c"),
        ("import a.b.c as d\nlook(d.e)", "a.b.c.e"),
        ("from . import model\nlook(model.build)", ".model.build"),
        ("from .model import build\nlook(build)", ".model.build"),
        ("from ..package.model import build as b\nlook(b)", "..package.model.build"),
        ("import numpy as np\nlook(np.random.rand)", "numpy.random.rand"),
        ("import os\nlook(os.environ)", "os.environ"),
    ],
)
def test_other_modules_keep_their_own_names(source: str, name: str) -> None:
    assert name_of(source) == name


@pytest.mark.parametrize(
    "source",
    [
        "look(tf.keras.optimizers.Adam)",
        "look(Adam)",
        "tf = object()\nlook(tf.keras)",
        "import tensorflow as tf\nlook(tf().keras)",
        "import tensorflow as tf\nlook(tf.keras[0].Adam)",
        "def f(tf):\n    look(tf.keras)\nf(1)",
        "from tensorflow.keras.optimizers import *\nlook(Unheard)",
        "a = b\nb = a\nlook(a.c)",
        "a = a\nlook(a)",
        "import tensorflow as tf\ndef f():\n    tf = 1\n    look(tf)",
        "import tensorflow as tf\nfor tf in range(3):\n    look(tf)",
        "import tensorflow as tf\nk = tf.keras if new else tf.compat.v1\nlook(k)",
        "import tensorflow as tf\nk = tf.compat.v1 if new else make()\nlook(k)",
        "import tensorflow as tf\nk = tf.compat.v1 and tf\nlook(k)",
    ],
)
def test_what_is_not_imported_has_no_name(source: str) -> None:
    assert name_of(source) is None


def test_a_name_bound_again_means_the_later() -> None:
    assert name_of("import a as m\nimport tensorflow as m\nlook(m)") == "tensorflow"
    assert name_of("import tensorflow as m\nimport a as m\nlook(m)") == "a"


def test_the_last_part_is_known_whatever_it_hangs_on() -> None:
    m = module("x = a.b().c(1)\ny = f(2)\nz = (lambda: 0)()\n")
    assert [m.names.last(c.func) for c in m.syntax.calls] == ["c", "b", "f", ""]


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("import tensorflow as tf", "tf"),
        ("import tensorflow", "tensorflow"),
        ("import tensorflow.compat.v1 as tf1", "tf1"),
        ("from tensorflow import keras", None),
        ("def f():\n    import tensorflow as tf", None),
        ("import tensorflow.keras as k", None),
        ("import tensorflow.keras", "tensorflow"),
    ],
)
def test_what_tensorflow_is_called(source: str, name: str | None) -> None:
    assert module(source).tensorflow_name() == name


def test_old_keras_brings_its_backend_with_a_star() -> None:
    assert name_of("from keras.layers import *\nlook(K.set_value)") == "tensorflow.keras.backend.set_value"
    assert (
        name_of("from tensorflow.keras.layers import *\nlook(K.set_value)")
        != "tensorflow.keras.backend.set_value"
    )


KEPT = (
    "import numpy as np\nclass A:\n    def __init__(self):\n        self.rng = {}\n"
    "    def f(self):\n        look(self.rng.shuffle)\n"
)


def test_a_module_that_an_object_keeps() -> None:
    assert name_of(KEPT.format("np.random")) == "numpy.random.shuffle"


@pytest.mark.parametrize("kept", ["np.random\n        self.rng = other()", "other", "self.rng.inner"])
def test_what_an_object_keeps_otherwise_is_no_module(kept: str) -> None:
    assert name_of(KEPT.format(kept)) is None
