"""C1 import, C2 pin: where Horovod comes in, which of its modules, under which names."""

from __future__ import annotations

from textwrap import indent

import pytest

from ..pairs import FIT, MODEL, STEP, TF, only, plan_of, refused

COMPILE = "model = tf.keras.Sequential([])\nmodel.compile('sgd')\n" + FIT
PIN = """\

hvd.init()
gpus = tf.config.experimental.list_physical_devices('GPU')
for gpu in gpus:
    tf.config.experimental.set_memory_growth(gpu, True)
if gpus:
    tf.config.experimental.set_visible_devices(gpus[hvd.local_rank()], 'GPU')
"""
# What it is about here is fit, and which Keras that will be is not known.
STOP = """\
assert not hasattr(tf.keras, 'ops'), 'Keras 3 would average nothing here: distribute it for TensorFlow 2.16 or later'
"""
PIN = PIN.replace("gpus =", STOP + "gpus =", 1)
PINS = PIN.replace("'", '"')


def head(source: str, **options: bool) -> str:
    """What C1 and C2 make of a program that shares no data."""
    return only(plan_of(source, split_data=False, **options), "C1", "C2")


# ---------------------------------------------------------------------- which module


@pytest.mark.parametrize(
    ("source", "imports"),
    [
        (MODEL + "model.compile('sgd')\n" + FIT, ["import horovod.tensorflow.keras as hvd"]),
        (MODEL + "opt = o.SGD(0.1)\nfor x in data:\n    " + STEP.replace("\n", "\n    ").rstrip() + "\n",
         ["import horovod.tensorflow as hvd"]),
        (MODEL + "w = tf.Variable(1.0)\nopt = o.SGD(0.1)\nfor _ in range(9):\n    opt.minimize(lambda: w * draw(), [w])\n",
         ["import horovod.tensorflow as hvd"]),
        (MODEL + "model.add(tf.keras.layers.BatchNormalization())\nmodel.compile('sgd')\n" + FIT,
         ["import horovod.tensorflow as hvd", "import horovod.tensorflow.keras as hvd_keras"]),
    ],
    ids=["fit", "tape", "minimize", "both"],
)  # fmt: skip
def test_the_module_follows_from_what_the_program_uses(source: str, imports: list[str]) -> None:
    text = plan_of(source).text
    assert [line for line in text.splitlines() if line.startswith("import horovod")] == imports


def test_callbacks_come_from_the_keras_module_and_broadcasts_from_the_other() -> None:
    text = plan_of(
        MODEL + "model.add(tf.keras.layers.BatchNormalization())\nmodel.compile('sgd')\n" + FIT
    ).text
    assert "hvd_keras.callbacks." in text
    assert "hvd.broadcast_variables(" in text
    assert "hvd.callbacks" not in text
    assert "hvd_keras.broadcast_variables" not in text


# ---------------------------------------------------------------------- where


def test_the_import_follows_tensorflows_and_init_the_import_block() -> None:
    source = (
        '"""Doc."""\nimport os\nimport tensorflow as tf\nimport numpy as np\n\nx = np.zeros(9)\ny = x\n'
        + COMPILE
    )
    after = (
        '"""Doc."""\nimport os\nimport tensorflow as tf\nimport horovod.tensorflow.keras as hvd\nimport numpy as np\n'
        + PIN
        + "\nx = np.zeros(9)\ny = x\n"
        + COMPILE
    )
    assert head(source) == after


def test_settings_of_the_process_may_stand_between_imports() -> None:
    source = (
        "import tensorflow as tf\nimport logging\nlogging.basicConfig()\nSIZE = 3\nimport numpy as np\n"
        + COMPILE
    )
    assert head(source).index("import numpy") < head(source).index("hvd.init()")


def test_init_comes_before_any_other_call_of_tensorflow() -> None:
    source = "import tensorflow as tf\ntf.random.set_seed(1)\nimport numpy as np\n" + COMPILE
    text = head(source)
    assert text.index("hvd.init()") < text.index("set_seed") < text.index("import numpy")


def test_init_comes_before_a_function_of_this_file_is_called() -> None:
    source = (
        "import tensorflow as tf\ndef setup():\n    tf.random.set_seed(1)\nsetup()\nimport numpy as np\n"
        + COMPILE
    )
    assert head(source).index("hvd.init()") < head(source).index("\nsetup()")


def test_a_try_around_the_import_counts_as_the_import() -> None:
    source = (
        "try:\n    import tensorflow.compat.v2 as tf\nexcept ImportError:\n    import tensorflow as tf\n"
        + COMPILE
    )
    text = head(source)
    assert text.index("except ImportError") < text.index("\nimport horovod") < text.index("\nhvd.init()")


def test_the_head_follows_a_docstring_and_future_imports() -> None:
    text = head('"""Doc."""\nfrom __future__ import annotations\nimport tensorflow as tf\n' + COMPILE)
    assert text.startswith(
        '"""Doc."""\nfrom __future__ import annotations\nimport tensorflow as tf\nimport horovod'
    )


def test_an_import_with_a_comment_keeps_it() -> None:
    assert "import tensorflow as tf  # 2.15\nimport horovod" in head(
        "import tensorflow as tf  # 2.15\n" + COMPILE
    )


def test_an_import_over_several_lines_is_not_split() -> None:
    source = "from tensorflow.keras import (\n    layers,\n    models,\n)\nm = models.Sequential([])\n"
    source += "m.compile('sgd')\nm.fit(x, y)\n"
    assert head(source).startswith(
        "from tensorflow.keras import (\n    layers,\n    models,\n)\nimport tensorflow as tf\nimport horovod"
    )


def test_an_import_that_shares_its_line_stays_whole() -> None:
    text = head("import numpy as np; import tensorflow as tf; import os\n" + COMPILE)
    assert text.startswith("import numpy as np; import tensorflow as tf; import os\nimport horovod")


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    import tensorflow as tf\n    m = tf.keras.Sequential([])\n    m.compile('sgd')\n    m.fit(x)\nf()\n",
        "class A:\n    import tensorflow as tf\n    m = tf.keras.Sequential([])\n    m.compile('sgd')\n    m.fit(x)\n",
    ],
)
def test_tensorflow_imported_inside_only_is_refused(source: str) -> None:
    refused(source, "HVD101", "import it at the top")


GUARD = 'if __name__ == "__main__":\n'
GUARDED = indent(TF + COMPILE, "    ")


@pytest.mark.parametrize(
    "source",
    [
        f'{GUARD}    import os\n    os.environ["CUDA_VISIBLE_DEVICES"] = "1"\n{GUARDED}',
        f"def f():\n{indent(GUARD + GUARDED, '    ')}f()\n",
        f"{GUARD}    if here:\n{indent(GUARDED, '    ')}",
    ],
)
def test_under_a_main_guard_something_may_have_to_come_before_the_import(source: str) -> None:
    refused(source, "HVD101", "import it at the top")


def test_under_a_main_guard_the_head_comes_before_that() -> None:
    text = head(f"import sys\n\nn = len(sys.argv)\n{GUARD}    n += 1\n{GUARDED}")
    start = f"import sys\n\nn = len(sys.argv)\nimport tensorflow as tf\nimport horovod.tensorflow.keras as hvd\n{PINS}\n{GUARD}"
    assert text.startswith(start)
    assert text.endswith(f"{GUARD}    n += 1\n{GUARDED}")


# ---------------------------------------------------------------------- what TensorFlow is called


@pytest.mark.parametrize(
    ("imported", "call", "name", "extra"),
    [
        ("import tensorflow as tf", "tf.keras.Sequential", "tf", False),
        ("import tensorflow", "tensorflow.keras.Sequential", "tensorflow", False),
        ("import tensorflow as T", "T.keras.Sequential", "T", False),
        ("import tensorflow.compat.v2 as tf2", "tf2.keras.Sequential", "tf2", False),
        ("from tensorflow import keras", "keras.Sequential", "tf", True),
        ("import keras", "keras.Sequential", "tf", True),
        ("from keras.models import Sequential", "Sequential", "tf", True),
    ],
)
def test_tensorflow_goes_by_the_name_that_the_file_has_for_it(
    imported: str, call: str, name: str, extra: bool
) -> None:
    text = head(f"{imported}\nm = {call}([])\nm.compile('sgd')\nm.fit(x, y)\n")
    assert f"gpus = {name}.config.experimental.list_physical_devices(" in text
    assert ("\nimport tensorflow as tf\n" in text) == extra


# ---------------------------------------------------------------------- names that are taken


@pytest.mark.parametrize(
    "taken",
    ["hvd = 1", "def hvd(): pass", "import hvd", "from tools import hvd", "class hvd: pass", "for hvd in (): pass",
     "def f(hvd): return hvd", "lambda hvd: hvd", "with open('a') as hvd: pass", "[hvd for hvd in ()]",
     "def f():\n    global hvd\n    hvd = 1", "print(hvd)", "(hvd := 2)", "try: pass\nexcept Exception as hvd: pass",
     "match 1:\n    case hvd: pass"],
)  # fmt: skip
def test_hvd_gets_another_name_where_it_is_taken(taken: str) -> None:
    text = head(TF + taken + "\n" + COMPILE)
    assert "import horovod.tensorflow.keras as hvd\n" not in text
    name = text.split("import horovod.tensorflow.keras as ")[1].split("\n")[0]
    assert f"\n{name}.init()\n" in text
    assert f"[{name}.local_rank()]" in text


def test_gpus_and_gpu_get_other_names_where_they_are_taken() -> None:
    text = head(TF + "gpus, gpu = 4, 'a'\n" + COMPILE)
    assert "hvd_gpus = tf." in text
    assert "for hvd_gpu in hvd_gpus:" in text
    assert text.count("gpus, gpu = 4, 'a'") == 1


def test_a_name_in_a_string_or_comment_is_not_taken() -> None:
    assert "import horovod.tensorflow.keras as hvd\n" in head(TF + "s = 'hvd'  # hvd\n" + COMPILE)


def test_an_attribute_of_that_name_is_not_taken() -> None:
    assert "import horovod.tensorflow.keras as hvd\n" in head(TF + "import m\nm.hvd = 1\n" + COMPILE)


# ---------------------------------------------------------------------- style


def test_comments_only_where_they_are_wanted() -> None:
    assert "\nhvd.init()  # each process is a rank, and gets one GPU\n" in head(TF + COMPILE, comments=True)
    assert "#" not in head(TF + COMPILE, comments=False)


def test_the_head_has_the_files_indent_quotes_and_line_ends() -> None:
    text = head(
        'import tensorflow as tf\r\nif __debug__:\r\n\tprint("x")\r\n'
        + COMPILE.replace("'", '"').replace("\n", "\r\n")
    )
    assert "\r\nfor gpu in gpus:\r\n\ttf.config" in text
    assert 'list_physical_devices("GPU")' in text
    assert "\n" not in text.replace("\r\n", "")


@pytest.mark.parametrize(
    "between",
    [
        "from sklearn.model_selection import train_test_split\nrows, rest = train_test_split(rows, test_size=0.3)",
        "import numpy as np\nrows = rows[np.random.permutation(len(rows))]",
        "import numpy as np\nnp.savetxt('rows.txt', rows)",
        "import os\nos.makedirs('out')",
    ],
)
def test_horovod_is_begun_before_what_ranks_must_do_alike_between_imports(between: str) -> None:
    source = (
        "import tensorflow as tf\nfrom data import rows\n"
        + between
        + "\nfrom tensorflow.keras import layers\n"
        + COMPILE
    )
    lines = plan_of(source).text.splitlines()
    begun = lines.index("hvd.init()")
    assert begun < next(
        i for i, line in enumerate(lines) if "rows" in line and "import" not in line or "makedirs" in line
    )


def test_settings_between_imports_stay_before_horovod_is_begun() -> None:
    between = "import os\nos.environ['TF_CPP_MIN_LOG_LEVEL'] = '2'\nimport warnings\nwarnings.filterwarnings('ignore')\n"
    lines = plan_of(
        "import tensorflow as tf\n" + between + "import numpy as np\n" + COMPILE
    ).text.splitlines()
    assert lines.index("import numpy as np") < lines.index("hvd.init()")


def test_a_helper_stands_as_far_from_others_as_functions_do_in_the_file() -> None:
    loop = "\nfor x in batches(8):\n    model.train_on_batch(x, x)\n"
    for gap in ("\n", "\n\n"):
        body = f"{TF}{gap}def batches(n):\n    while True:\n        yield draw(n){gap}\nmodel = tf.keras.Sequential([])\n"
        text = plan_of(body + "model.compile('sgd')\n" + loop, comments=False).text
        assert f"\n{gap}def shard_batches(batches):\n    batches = " in text
        assert f"== hvd.size())\n{gap}def batches(n):" in text
