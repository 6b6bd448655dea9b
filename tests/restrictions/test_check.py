"""`check` as a whole: order, what it costs where there is nothing to find, modes, and scripts as people write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from horovodize.options import Options
from horovodize.restrictions import RESTRICTIONS, check
from horovodize.restrictions.violation import Severity
from horovodize.source import Document
from horovodize.summary import summarize
from tests.restrictions.helpers import violations

PROGRAMS = sorted((Path(__file__).parent.parent / "programs").glob("*/*.py"))

SEVERAL = """\
import os
import tensorflow as tf

opts = {"a": tf.keras.optimizers.Adam(), **more}
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
model.compile(opts[args.a], "mse")
if os.path.getsize("x"):
    model.fit(x, y)
print(model.evaluate(x, y))
"""


def test_violations_come_in_the_order_of_the_text() -> None:
    found = check(summarize(Document(SEVERAL)), Options())
    assert [v.code for v in found] == ["HVD105", "HVD205", "HVD104"]
    assert [v.span for v in found] == sorted(v.span for v in found)
    assert all(v.name == RESTRICTIONS[v.code].name for v in found)


def test_options_may_be_left_out() -> None:
    assert check(summarize(Document(SEVERAL))) == check(summarize(Document(SEVERAL)), Options())


def test_file_without_tensorflow_is_not_even_parsed() -> None:
    document = Document("x = = 1\n")
    assert check(summarize(document), Options()) == []
    assert "_parsed" not in vars(document)


def test_file_that_does_not_parse_has_one_error() -> None:
    document = Document("import tensorflow as tf\n\ndef f(:\n    pass\n")
    (violation,) = check(summarize(document), Options())
    assert (violation.code, violation.severity) == ("HVD003", Severity.ERROR)
    assert document.problem is not None
    assert violation.span == document.problem.span
    assert violation.message == document.problem.message


def test_code_nested_too_deeply_is_said_so() -> None:
    document = Document("import tensorflow as tf\nmodel.fit(x, y, epochs=" + "-" * 3000 + "1)\n")
    assert {v.code for v in check(summarize(document), Options())} == {"HVD003"}


@pytest.mark.parametrize(
    "text", ["import tensorflow as tf\n", "# keras\n", "import tensorflow as tf\nprint(next(it))\n"]
)
def test_file_that_does_not_train_is_clean(text: str) -> None:
    assert check(summarize(Document(text)), Options()) == []


def test_file_that_uses_horovod_is_left_alone() -> None:
    assert (
        check(summarize(Document(SEVERAL + "import horovod.tensorflow.keras as hvd\n")), Options(strict=True))
        == []
    )


def test_strict_reports_more_and_nothing_less() -> None:
    text = SEVERAL + "import json\nlayers = tf.keras.layers\nif args.more:\n    model.fit(x, y)\n"
    normal, strict = (check(summarize(Document(text)), Options(strict=s)) for s in (False, True))
    extra = [v for v in strict if v not in normal]
    assert [v for v in normal if v not in strict] == []
    assert {v.code for v in extra} == {"HVD101", "HVD103", "HVD205"}
    assert {v.severity for v in extra} == {Severity.INFORMATION}


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_scripts_as_people_write_them_have_no_warning_and_a_hint(path: Path) -> None:
    found = check(summarize(Document.from_bytes(path.read_bytes(), str(path))), Options())
    assert [v for v in found if v.severity in (Severity.ERROR, Severity.WARNING)] == []
    assert any(v.code == "HVD001" for v in found)


# ---------------------------------------------------------------------- cases that public code taught

STEP = """\
import tensorflow as tf


def train_step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(x) - y) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))


"""


def test_model_made_anew_before_the_other_kind_of_loop_is_another_model() -> None:
    text = STEP + (
        "model = tf.keras.Sequential([])\nmodel.compile('sgd')\nmodel.fit(x, y)\n"
        "model = tf.keras.Sequential([])\noptimizer = tf.keras.optimizers.SGD()\nfor x, y in data:\n    train_step(x, y)\n"
    )
    assert violations(text, "HVD203") == []
    same = text.replace("model = tf.keras.Sequential([])\noptimizer", "optimizer")
    assert len(violations(same, "HVD203")) == 1


TPU = """\
import tensorflow as tf


def model_fn(features, labels, mode, params):
    loss = tf.reduce_mean(tf.layers.dense(features, 1) - labels)
    optimizer = tf.contrib.tpu.CrossShardOptimizer(tf.train.AdamOptimizer(0.001))
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.contrib.tpu.TPUEstimatorSpec(mode=mode, loss=loss, train_op=train_op)


estimator = {name}(model_fn=model_fn, use_tpu=False, train_batch_size=8, config=config)
estimator.train(input_fn=input_fn, max_steps=100)
"""


@pytest.mark.parametrize(
    "name",
    [
        "tf.contrib.tpu.TPUEstimator",
        "tf.estimator.tpu.TPUEstimator",
        "tf.compat.v1.estimator.tpu.TPUEstimator",
    ],
)
def test_a_tpu_estimator_is_named_as_what_it_is(name: str) -> None:
    (found,) = violations(TPU.replace("{name}", name), "HVD202")
    assert "TPUEstimator" in found.message


SHARED = """\
import sys
import tensorflow as tf

model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
optimizer = tf.keras.optimizers.SGD(0.1)
if "--eager" in sys.argv:
    for x, y in batches:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(x) - y) ** 2)
        gradients = tape.gradient(loss, model.trainable_variables)
        {updating}.apply_gradients(zip(gradients, model.trainable_variables))
else:
    model.compile({compiled}, "mse")
    model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("updating", "compiled"),
    [
        ("optimizer", "made()"),
        ("model.optimizer", "optimizer"),
        ("optimizer", ""),
    ],
)
def test_modes_that_exclude_each_other_must_not_share_an_optimizer(updating: str, compiled: str) -> None:
    text = SHARED.format(updating=updating, compiled=compiled)
    (found,) = violations(text.replace('(, "mse")', "(**how)"), "HVD203")
    assert "share an optimizer" in found.message


def test_modes_may_share_an_optimizer_that_is_made_before_both() -> None:
    text = SHARED.format(updating="optimizer", compiled="optimizer")
    assert violations(text, "HVD203") == []
    later = text.replace("if ", "for turn in range(2):\n  if ", 1).replace("else:", "  else:")
    assert violations(later, "HVD203")  # another turn may go the other way
    early = text.replace("if ", 'model.compile(optimizer, "mse")\nif ', 1)
    assert violations(early, "HVD203")  # there it would be wrapped for the tape, too


def test_modes_with_optimizers_of_their_own_are_no_violation() -> None:
    own = SHARED.format(updating="optimizer", compiled='"sgd"')
    assert violations(own, "HVD203") == []
    assert violations(own.replace("optimizer.apply", "tf.keras.optimizers.Adam().apply"), "HVD203") == []


def test_trainers_compile_takes_a_model_first() -> None:
    text = (
        "import tensorflow as tf\nfrom models import Net\nfrom trainers import Trainer\n\n\n"
        "class Mine(Trainer):\n    def compile(self, model, optimizer):\n        super().compile(model, optimizer)\n\n\n"
        "trainer = Mine()\ntrainer.compile(Net(), tf.keras.optimizers.Adam())\ntrainer.fit(data, epochs=2)\n"
    )
    assert violations(text, "HVD105") == []


def test_updates_by_hand_are_one_finding_a_gradient() -> None:
    text = (
        "import tensorflow as tf\nw, b = tf.Variable(1.0), tf.Variable(0.0)\nfor x, y in data:\n"
        "    with tf.GradientTape() as tape:\n        loss = (w * x + b - y) ** 2\n"
        "    dw, db = tape.gradient(loss, [w, b])\n    w.assign_sub(dw - 0.1)\n    b.assign_sub(0.1 * db)\n"
    )
    (violation,) = violations(text, "HVD202")
    assert text[violation.span.start :].startswith("w.assign_sub")
    assert [text[r.span.start : r.span.end] for r in violation.related] == [
        "tape.gradient(loss, [w, b])",
        "b.assign_sub(0.1 * db)",
    ]


def test_slice_of_arrays_is_no_container_of_datasets() -> None:
    text = (
        "import tensorflow as tf\nimport tensorflow_datasets as tfds\n"
        "data = tfds.as_numpy(tfds.load('imdb_reviews', batch_size=-1))\n"
        "model = tf.keras.Sequential([])\nmodel.compile('sgd')\nmodel.fit(data[10000:])\n"
    )
    assert violations(text, "HVD105") == []


def test_dataset_chosen_from_a_dict_is_information() -> None:
    text = (
        "import tensorflow as tf\nsets = {'a': tf.data.Dataset.range(8), 'b': tf.data.Dataset.range(9)}\n"
        "model = tf.keras.Sequential([])\nmodel.compile('sgd')\nmodel.fit(sets[args.data])\n"
    )
    (violation,) = violations(text, "HVD105")
    assert violation.severity is Severity.INFORMATION
    assert len(violation.related) == 2


def test_guard_that_returns_early_by_files_keeps_a_rank_from_training() -> None:
    text = (
        "import os\nimport tensorflow as tf\n\n\ndef main():\n    if os.path.isfile('done'):\n        return\n"
        "    model = tf.keras.Sequential([])\n    model.compile('sgd')\n    model.fit(x, y)\n\n\nmain()\n"
    )
    assert len(violations(text, "HVD205")) == 1
    assert violations(text.replace("os.path.isfile('done')", "args.dry_run"), "HVD205") == []


@pytest.mark.parametrize(
    ("start", "test", "reported"),
    [
        ("int(latest.split('-')[-1]) if latest else 0", "n % 2 == 0", 0),
        ("int(latest.split('-')[-1]) if latest else 0", "n % 2 == 0 and time.time() > 5", 1),
        ("0", "latest", 1),
    ],
)
def test_turns_that_start_at_a_restored_number_are_rank_0s(start: str, test: str, reported: int) -> None:
    text = (
        "import time\nimport tensorflow as tf\nmodel = tf.keras.Sequential([])\nmodel.compile('sgd')\n"
        f"latest = tf.train.latest_checkpoint('kept')\nstart = {start}\nfor n in range(start, 100):\n"
        f"    if {test}:\n        model.train_on_batch(*draw())\n"
    )
    assert len(violations(text, "HVD205")) == reported


@pytest.mark.parametrize(
    ("seed", "reported"), [("", 1), ("np.random.seed(1)\n", 0), ("np.random.seed(args.seed)\n", 1)]
)
def test_random_choice_is_shared_with_a_constant_seed(seed: str, reported: int) -> None:
    text = (
        f"import numpy as np\nimport tensorflow as tf\n{seed}model = tf.keras.Sequential([])\nmodel.compile('sgd')\n"
        "for x, y in data:\n    if np.random.rand() < 0.5:\n        model.train_on_batch(x, y)\n"
    )
    assert len(violations(text, "HVD205")) == reported


FUNCTION = """\
import tensorflow as tf
from tensorflow.keras import backend as K
model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
opt = tf.keras.optimizers.Adam(0.001)
run = K.function({given})
model.compile(opt, "mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("[model.input], [loss], updates=opt.get_updates(params, loss)", 1),
        ("[model.input], [tf.train.AdamOptimizer(0.1).apply_gradients(pairs)]", 1),
        ("[model.input], [model.layers[0].output]", 0),
        ("[model.input], K.gradients(model.output, model.input)", 0),
    ],
)
def test_a_function_of_keras_that_takes_steps(given: str, found: int) -> None:
    """Its gradients were averaged by nobody, at a rate for all ranks."""
    assert len(violations(FUNCTION.format(given=given), "HVD202")) == found
